"""Cases of kernels/csr/csr.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import (
    BATCHES, MATRICES, TYPES, of_dense, of_sparse, parts, ranked, sized,
    to_sparse)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

L = np.int64
NAMES = ("SparseTensorToCSRSparseMatrix CSRSparseMatrixToSparseTensor "
         "DenseToCSRSparseMatrix CSRSparseMatrixToDense "
         "CSRSparseMatrixComponents SparseMatrixNNZ")


def looks(m, dtype, batch):
    return [raw.CSRSparseMatrixToDense(sparse_input=m, type=dtype),
            raw.SparseMatrixNNZ(sparse_matrix=m), *to_sparse(m, dtype),
            *[p for b in range(batch) for p in parts(m, b, dtype)]]


@scenario(NAMES, tol=0)
@fresh_graph
def sparse_matrices_and_back(side):
    found = {}
    for dtype in TYPES:
        for name, (shape, entries) in {**MATRICES, **BATCHES}.items():
            key = "%s %s" % (dtype.name, name)
            batch = shape[0] if len(shape) == 3 else 1
            found[key] = looks(of_sparse(shape, entries, dtype), dtype, batch)
            found[key + " of dense"] = looks(
                of_dense(shape, entries, dtype), dtype, batch)
    return answers(side, found)


@scenario(NAMES, tol=0)
@fresh_graph
def sparse_matrices_out_of_order(side):
    given = ([[1, 0], [0, 2], [0, 1]], np.float32([1, 2, 3]))
    twice = ([[0, 1], [0, 1]], np.float32([1, 2]))
    return answers(side, {
        str(i): looks(raw.SparseTensorToCSRSparseMatrix(
            indices=ranked(L(indices)), values=ranked(values),
            dense_shape=sized(L([2, 3]))), tf.float32, 1)
        for i, (indices, values) in enumerate((given, twice))})


@scenario(NAMES)
@fresh_graph
def bad_sparse_matrices(side):
    def given(indices, values, shape):
        return to_sparse(raw.SparseTensorToCSRSparseMatrix(
            indices=ranked(L(indices)), values=ranked(np.float32(values)),
            dense_shape=sized(L(shape))), tf.float32)

    def dense(shape, indices):
        return to_sparse(raw.DenseToCSRSparseMatrix(
            dense_input=ranked(np.ones(shape, np.float32)),
            indices=ranked(L(indices))), tf.float32)
    m = of_sparse(*MATRICES["wide"], tf.float32)
    batch = of_sparse(*BATCHES["two"], tf.float32)
    none = raw.TensorListReserve(element_shape=np.int32([]), num_elements=2,
                                 element_dtype=tf.int32)
    found = {
        "row": given([[2, 0]], [1], [2, 3]), "column": given([[0, 3]], [1], [2, 3]),
        "negative": given([[-1, 0]], [1], [2, 3]),
        "batch": given([[2, 0, 0]], [1], [2, 2, 3]),
        "values": given([[0, 0]], [1, 2], [2, 3]),
        "many rows": given([[0, 0]], [1], [1 << 31, 1]),
        "many batches": given([[0, 0, 0]], [1], [1 << 31, 1, 1]),
        "many of both": given([[0, 0, 0]], [1], [1 << 20, 1 << 20, 1]),
        "dense row": dense([2, 3], [[2, 0]]), "dense column": dense([2, 3], [[0, 3]]),
        "dense batch": dense([2, 2, 3], [[2, 0, 0]]),
        "dense negative": dense([2, 3], [[-1, 0]]),
        "no matrix": to_sparse(none, tf.float32),
        "type": to_sparse(m, tf.float64),
        "dense type": raw.CSRSparseMatrixToDense(sparse_input=m, type=tf.float64),
        "part type": parts(m, 0, tf.float64),
        "part": parts(m, 1, tf.float32), "part below": parts(m, -1, tf.float32),
        "batch part": parts(batch, 2, tf.float32),
    }
    return answers(side, found)


@scenario(NAMES)
@fresh_graph
def gradients_of_sparse_matrices(side):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v = tf.constant([1.0, 2.0])
    at = L([[0, 1], [1, 2]])
    of_x = raw.DenseToCSRSparseMatrix(dense_input=x, indices=at)
    of_v = raw.SparseTensorToCSRSparseMatrix(indices=at, values=v,
                                             dense_shape=L([2, 3]))
    found = {}
    for name, m, of in (("dense", of_x, x), ("sparse", of_v, v)):
        values = to_sparse(m, tf.float32)[1]
        dense = raw.CSRSparseMatrixToDense(sparse_input=m, type=tf.float32)
        dense = tf.ensure_shape(dense, [2, 3])
        found[name + " values"] = tf.gradients(values * values, of)
        found[name + " whole"] = tf.gradients(dense * dense * x, of)
    return answers(side, found)
