"""Cases of kernels/data_groups/dataset_sparse_batch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, raw,
                                                    variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def batches(source, size, shape, op="DenseToSparseBatchDataset"):
    return made(op, variant(source), hidden(size), hidden(shape),
                types=(tf.variant,), shapes=([None, None],))


def sparse(source, size, shape, op="DenseToSparseBatchDataset"):
    """Its variants as what they hold."""
    dtype = tf.nest.flatten(source.element_spec)[0].dtype
    return batches(source, np.int64(size), np.array(shape, np.int64), op).map(
        lambda v: raw.DeserializeSparse(serialized_sparse=v, dtype=dtype))


def vectors(n=5):
    return numbers(n).map(lambda x: tf.fill([x], x))


def makers():
    matrix = lambda x: tf.fill([x, 2], tf.as_string(x))
    return {
        "of two": lambda: sparse(vectors(), 2, [10]),
        "any length": lambda: sparse(vectors(), 2, [-1]),
        "all": lambda: sparse(vectors(), 100, [-1]),
        "matrices": lambda: sparse(numbers(4).map(matrix), 3, [-1, 4]),
        "scalars": lambda: sparse(numbers(4), 3, []),
        "none": lambda: sparse(vectors(0), 2, [3]),
        "repeated": lambda: sparse(vectors(3), 2, [4]).repeat(2),
    }


@scenario("DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset")
@fresh_graph
def data_sparse_batches(side):
    found = makers()
    found.update({
        "another": lambda: sparse(vectors(), 2, [10],
                                  "ExperimentalDenseToSparseBatchDataset"),
        "too long": lambda: sparse(vectors(6), 2, [2]),
        "other rank": lambda: sparse(vectors(), 2, [10, 2]),
        "other ranks": lambda: sparse(data.from_tensor_slices([2, 1, 2, 3])
                                      .map(lambda n: tf.zeros(
                                          tf.fill([n], 2))), 2, [2, 2]),
        "size 0": lambda: sparse(vectors(), 0, [10]),
        "shape is a scalar": lambda: batches(vectors(), np.int64(2),
                                             np.int64(3)),
        "sizes": lambda: batches(vectors(), np.array([2], np.int64),
                                 np.array([3], np.int64)),
        "negative": lambda: sparse(vectors(), 2, [-2]),
        "pairs": lambda: batches(data.zip((numbers(3), numbers(3))),
                                 np.int64(2), np.array([], np.int64)),
        "input fails": lambda: sparse(numbers(7).map(failing(2)), 2, []),
    })
    return elements(side, found, passes=2)


@scenario("DenseToSparseBatchDataset DatasetCardinality")
@fresh_graph
def data_sparse_batch_cardinalities(side):
    return cardinalities(side, makers())
