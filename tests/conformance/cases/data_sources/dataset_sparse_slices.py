"""Cases of kernels/data_sources/dataset_sparse_slices.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, cardinalities,
                                                    elements, hidden, raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def slices(indices, values, shape, rank=None):
    indices = np.array(indices, np.int64)
    values = np.array(values)
    rank = indices.shape[-1] if rank is None else rank
    if indices.size == 0 and indices.ndim < 2:
        indices = np.zeros((0, rank), np.int64)
    return Made(raw.SparseTensorSliceDataset(
        indices=hidden(indices), values=hidden(values),
        dense_shape=hidden(np.array(shape, np.int64))), (
            tf.TensorSpec(None, tf.int64),
            tf.TensorSpec(None, tf.as_dtype(
                tf.string if values.dtype.kind in "US" else values.dtype)),
            tf.TensorSpec(None, tf.int64)))


def makers():
    return {
        "rows": lambda: slices([[0, 1], [0, 3], [2, 0]], [1., 2., 3.], [4, 5]),
        "texts": lambda: slices([[0, 0], [1, 2]], ["a", "b" * 40], [2, 3]),
        "vector": lambda: slices([[1], [3]], [5, 6], [5]),
        "of three": lambda: slices([[0, 1, 0], [0, 1, 1], [1, 0, 0]],
                                   [1, 2, 3], [2, 2, 2]),
        "nothing": lambda: slices([], np.array([], np.float32), [3, 2], 2),
        "no rows": lambda: slices([], np.array([], np.float32), [0, 2], 2),
        "twice": lambda: slices([[1, 1], [1, 1]], [1, 2], [2, 2]),
        "beyond": lambda: slices([[0, 9], [7, 0]], [1, 2], [3, 2]),
        "negative": lambda: slices([[-1, 0], [0, 1], [1, 0]], [1, 2, 3],
                                   [3, 2]),
        "bools": lambda: slices([[0, 0]], [True], [1, 1]),
    }


@scenario("SparseTensorSliceDataset")
@fresh_graph
def data_sparse_slices(side):
    found = makers()
    found.update({
        "no order": lambda: slices([[1, 0], [0, 0]], [1, 2], [2, 2]),
        "indices a vector": lambda: slices([1, 0], [1, 2], [2, 2]),
        "values a matrix": lambda: slices([[0, 0]], [[1]], [2, 2]),
        "shape a scalar": lambda: slices([[0, 0]], [1], 2),
        "fewer values": lambda: slices([[0, 0], [1, 1]], [1], [2, 2]),
        "other rank": lambda: slices([[0, 0]], [1], [2, 2, 2]),
        "no rank": lambda: slices(np.zeros((2, 0)), [1, 2], []),
        "negative shape": lambda: slices([[0, 0]], [1], [2, -2]),
    })
    return elements(side, found, passes=2)


@scenario("SparseTensorSliceDataset DatasetCardinality")
@fresh_graph
def data_sparse_slice_cardinalities(side):
    return cardinalities(side, makers())
