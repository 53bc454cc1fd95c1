"""Cases of kernels/csr/csr_transpose.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import (
    BATCHES, MATRICES, TYPES, of_sparse, parts, to_sparse)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def transposed(m, dtype, conjugate=False):
    return raw.SparseMatrixTranspose(input=m, type=dtype, conjugate=conjugate)


@scenario("SparseMatrixTranspose", tol=0)
@fresh_graph
def transposed_sparse_matrices(side):
    found = {}
    for dtype in TYPES:
        for name, (shape, entries) in {**MATRICES, **BATCHES}.items():
            for conjugate in (False, True):
                m = transposed(of_sparse(shape, entries, dtype), dtype,
                               conjugate)
                key = "%s %s %s" % (dtype.name, name, conjugate)
                found[key] = to_sparse(m, dtype) + parts(m, 0, dtype)
    m = of_sparse(*MATRICES["wide"], tf.float32)
    found["type"] = to_sparse(transposed(m, tf.float64), tf.float64)
    return answers(side, found)


@scenario("SparseMatrixTranspose")
@fresh_graph
def gradients_of_transposed_sparse_matrices(side):
    v = tf.constant([1.0, 2.0])
    m = raw.SparseTensorToCSRSparseMatrix(
        indices=np.int64([[0, 1], [1, 2]]), values=v,
        dense_shape=np.int64([2, 3]))
    values = to_sparse(transposed(m, tf.float32), tf.float32)[1]
    return answers(side, {"values": tf.gradients(values * values, v)})
