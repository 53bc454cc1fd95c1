"""Cases of kernels/data_groups/dataset_unbatch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, made,
                                                    numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def rows(n, op="UnbatchDataset", types=(tf.int64,)):
    return made(op, variant(n), types=types, shapes=[None] * len(types))


def uneven():
    return numbers(5).map(lambda x: tf.range(x))


def batches():
    return {
        "of two": lambda: rows(numbers(7).batch(2)),
        "dropping": lambda: rows(numbers(7).batch(2, drop_remainder=True)),
        "matrices": lambda: rows(data.from_tensors(
            np.arange(12, dtype=np.int64).reshape(3, 2, 2))),
        "uneven": lambda: rows(uneven()),
        "none": lambda: rows(numbers(0).batch(2)),
        "no rows": lambda: rows(data.from_tensors(
            np.zeros([0, 3], np.int64)).repeat(2)),
        "pairs": lambda: rows(
            data.zip((numbers(5), numbers(5).map(tf.as_string))).batch(3),
            types=(tf.int64, tf.string)),
        "for ever": lambda: rows(numbers(3).batch(2).repeat()),
    }


@scenario("UnbatchDataset ExperimentalUnbatchDataset")
@fresh_graph
def data_unbatched(side):
    found = batches()
    found["another"] = lambda: rows(numbers(5).batch(2),
                                    "ExperimentalUnbatchDataset")
    found["scalars"] = lambda: rows(numbers(3))
    found["unlike"] = lambda: rows(data.from_tensors(
        (np.int64([1, 2]), np.int64([1, 2, 3]))).repeat(2),
                                   types=(tf.int64, tf.int64))
    found["input fails"] = lambda: rows(numbers(6).map(failing(1)).batch(2))
    return elements(side, found, limit=14, passes=2)


@scenario("UnbatchDataset DatasetCardinality")
@fresh_graph
def data_unbatched_cardinalities(side):
    return cardinalities(side, batches())
