"""Sparse matrices, for the cases of this room."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import raw

TYPES = (tf.float32, tf.float64, tf.complex64, tf.complex128)
# shape, indices
MATRICES = {
    "wide": ([3, 4], [[0, 0], [0, 2], [2, 1], [2, 2], [2, 3]]),
    "square": ([3, 3], [[0, 0], [1, 1], [1, 2], [2, 0]]),
    "one": ([1, 1], [[0, 0]]), "empty": ([2, 3], []),
    "no rows": ([0, 3], []), "no columns": ([3, 0], []),
    "full": ([5, 7], np.argwhere(np.ones([5, 7])).tolist()),
}
BATCHES = {
    "two": ([2, 3, 4], [[0, 0, 0], [0, 0, 2], [0, 2, 3], [1, 0, 3], [1, 1, 0]]),
    "gaps": ([5, 2, 2], [[1, 0, 1], [1, 1, 0], [3, 0, 0]]),
    "empty batches": ([3, 2, 2], []),
}


def ranked(value):
    """Of a rank that is known, as TensorFlow has it, and no size that is; but
    how long an index is."""
    value = np.asarray(value)
    dims = [None] * value.ndim
    if value.dtype == np.int64 and value.ndim == 2:
        dims[1] = value.shape[1]
    return tf.placeholder_with_default(value, dims)


def sized(value):
    return tf.placeholder_with_default(value, value.shape)


def values(count, dtype, seed=0):
    rng = np.random.RandomState(seed)
    drawn = rng.uniform(-4, 4, count)
    if dtype.is_complex:
        drawn = drawn + 1j * rng.uniform(-4, 4, count)
    return drawn.astype(dtype.as_numpy_dtype)


def indices_of(shape, entries):
    return np.array(entries, np.int64).reshape(-1, len(shape))


def of_sparse(shape, entries, dtype, seed=0):
    return raw.SparseTensorToCSRSparseMatrix(
        indices=ranked(indices_of(shape, entries)),
        values=ranked(values(len(entries), dtype, seed)),
        dense_shape=sized(np.int64(shape)))


def of_dense(shape, entries, dtype, seed=0):
    dense = values(int(np.prod(shape)), dtype, seed).reshape(shape)
    return raw.DenseToCSRSparseMatrix(
        dense_input=ranked(dense), indices=ranked(indices_of(shape, entries)))


def to_sparse(m, dtype):
    return list(raw.CSRSparseMatrixToSparseTensor(sparse_matrix=m, type=dtype))


def parts(m, index, dtype):
    return list(raw.CSRSparseMatrixComponents(
        csr_sparse_matrix=m, index=ranked(np.int32(index)), type=dtype))
