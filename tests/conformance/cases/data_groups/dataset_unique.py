"""Cases of kernels/data_groups/dataset_unique.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def unique(n, op="UniqueDataset", types=(tf.int64,)):
    return made(op, variant(n), types=types, shapes=[None] * len(types))


def slices(values):
    return data.from_tensor_slices(hidden(np.array(values)))


@scenario("UniqueDataset ExperimentalUniqueDataset DatasetCardinality")
@fresh_graph
def data_unique(side):
    out = elements(side, {
        "numbers": lambda: unique(slices([1, 2, 1, 3, 2, 1])),
        "int32": lambda: unique(slices(np.int32([5, 5, 4])),
                                types=(tf.int32,)),
        "strings": lambda: unique(
            slices(["a", "", "a" * 40, "", "a" * 40, "b"]),
            types=(tf.string,)),
        "rows": lambda: unique(
            slices([["a", "b"], ["a", "b"], ["ab", ""], ["b", "a"]]),
            types=(tf.string,)),
        "shapes": lambda: unique(numbers(6).map(
            lambda x: tf.zeros([x % 3], tf.int64))),
        "none": lambda: unique(numbers(0), "ExperimentalUniqueDataset"),
        "all": lambda: unique(numbers(5)),
        "floats": lambda: unique(slices([1.0, 2.0]), types=(tf.float64,)),
        "pairs": lambda: unique(data.zip((numbers(2), numbers(2))),
                                types=(tf.int64, tf.int64)),
        "input fails": lambda: unique(numbers(6).map(failing(1)).map(
            lambda x: x % 20)),
    }, passes=2)
    out.update(cardinalities(side, {"length": lambda: unique(numbers(4))}))
    return out
