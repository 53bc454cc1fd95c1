"""Cases of kernels/data_sources/dataset_source.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, hidden, made,
                                                    raw)
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario

BIG = 2 ** 63 - 1
RANGES = {"to 5": (0, 5, 1), "none": (3, 3, 1), "none down": (0, 5, -1),
          "down": (10, -3, -4), "uneven": (1, 12, 5), "large": (BIG - 2, BIG, 1),
          "step 0": (0, 5, 0)}


def ranges():
    return {name: lambda b=bounds: data.range(
        *[hidden(np.int64(x)) for x in b]) for name, bounds in RANGES.items()}


@scenario("RangeDataset IteratorV2 MakeIterator IteratorGetNext")
@fresh_graph
def data_ranges(side):
    makers = ranges()
    makers["int32"] = lambda: data.range(2, 9, 3, output_type=tf.int32)
    return elements(side, makers)


@scenario("RangeDataset DatasetCardinality")
@fresh_graph
def data_range_cardinalities(side):
    return cardinalities(side, ranges())


TYPES = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8,
         tf.int64, tf.bool, tf.string, tf.float16, tf.bfloat16, tf.complex64,
         tf.complex128, tf.uint16, tf.uint32, tf.uint64]


@scenario("TensorDataset TensorSliceDataset")
@fresh_graph
def data_tensors_of_all_types(side):
    makers = {}
    for t in TYPES:
        makers["whole " + t.name] = lambda t=t: data.from_tensors(
            hidden(sample(t)))
        makers["slices " + t.name] = lambda t=t: data.from_tensor_slices(
            sample(t))
    return elements(side, makers)


def slices(*parts, shapes=None):
    """Of tensors whose shapes the client does not know."""
    parts = [hidden(tf.convert_to_tensor(p)) for p in parts]
    return data.from_tensor_slices(tuple(parts))


@scenario("TensorSliceDataset TensorDataset")
@fresh_graph
def data_slices(side):
    x = np.arange(24, dtype=np.float32)
    return elements(side, {
        "of a cube": lambda: slices(x.reshape(4, 3, 2)),
        "two": lambda: slices(x.reshape(12, 2), np.arange(12)),
        "long rows": lambda: slices(np.arange(6144.).reshape(2, 3072)),
        "empty rows": lambda: slices(x[:0].reshape(3, 0)),
        "no rows": lambda: slices(x[:0].reshape(0, 3)),
        "strings": lambda: slices(np.array(["", "a", "b" * 40])),
        "nested": lambda: data.from_tensor_slices(
            {"a": [1, 2], "b": ([3, 4], [[5], [6]])}),
        "a scalar": lambda: slices(np.float32(3)),
        "different": lambda: slices(x, x[:3]),
        "whole": lambda: data.from_tensors((x, {"n": 3, "s": "x"})),
    })


@scenario("TensorSliceDataset DatasetCardinality TensorDataset")
@fresh_graph
def data_slices_cardinalities(side):
    return cardinalities(side, {
        "7": lambda: slices(np.arange(7)), "0": lambda: slices(np.zeros((0, 3))),
        "1": lambda: data.from_tensors(4)})


def listed(*values, types=(tf.int32,)):
    return made("ListDataset", [hidden(v) for v in values], types=types,
                shapes=[None] * len(types))


@scenario("ListDataset DatasetCardinality")
@fresh_graph
def data_lists(side):
    found = {
        "three": lambda: listed(1, 2, 3), "one": lambda: listed(1),
        "shapes": lambda: listed(1, [2, 3], [[4]]),
        "pairs": lambda: listed(1, "a", 2, "b", types=(tf.int32, tf.string)),
        "one and a half": lambda: listed(1, "a", 2,
                                         types=(tf.int32, tf.string)),
        "wrong types": lambda: listed("b", "a"),
    }
    out = elements(side, found, passes=2)
    for name, value in cardinalities(side, found).items():
        out[name + " length"] = value
    return out
