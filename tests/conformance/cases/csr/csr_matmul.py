"""Cases of kernels/csr/csr_matmul.c.  With no rows TensorFlow crashes."""
import itertools

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import (
    BATCHES, MATRICES, TYPES, of_sparse, ranked, values)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

WAYS = ("", "transpose", "adjoint")


def product(shape, entries, dtype, a="", b="", width=3, b_dtype=None, **more):
    """With as many rows of b as there are to be."""
    inner = shape[-2] if a else shape[-1]
    dims = list(shape[:-2]) + ([width, inner] if b else [inner, width])
    flags = {"%s_%s" % (way, name): True
             for name, way in (("a", a), ("b", b)) if way}
    dense = values(int(np.prod(dims)), b_dtype or dtype, 1).reshape(dims)
    return raw.SparseMatrixMatMul(a=of_sparse(shape, entries, dtype),
                                  b=ranked(dense), **flags, **more)


@scenario("SparseMatrixMatMul", tol=4)
@fresh_graph
def sparse_matrices_times_dense_ones(side):
    found = {}
    for dtype, (name, (shape, entries)) in itertools.product(
            TYPES, {**MATRICES, **BATCHES}.items()):
        if 0 in shape:
            continue
        for a, b in itertools.product(WAYS, WAYS):
            found["%s %s %s %s" % (dtype.name, name, a, b)] = product(
                shape, entries, dtype, a, b)
    for dtype, (a, b) in itertools.product(TYPES[::2], (("", ""), (
            "adjoint", "transpose"))):
        for flip, conjugate in itertools.product((False, True), repeat=2):
            found["%s %s out %d %d" % (dtype.name, a, flip, conjugate)] = product(
                *BATCHES["two"], dtype, a, b, transpose_output=flip,
                conjugate_output=conjugate)
    found["narrow"] = product(*MATRICES["wide"], tf.float32, width=0)
    return answers(side, found)


@scenario("SparseMatrixMatMul")
@fresh_graph
def bad_products_of_sparse_matrices(side):
    def given(shape, entries, dims, dtype=tf.float32):
        return raw.SparseMatrixMatMul(
            a=of_sparse(shape, entries, tf.float32),
            b=tf.placeholder_with_default(
                np.ones(dims, dtype.as_numpy_dtype), None))
    wide, two = MATRICES["wide"], BATCHES["two"]
    return answers(side, {
        "inner": given(*wide, [3, 2]), "type": given(*wide, [4, 2], tf.float64),
        "batch": given(*two, [3, 4, 2]), "inner of batches": given(*two, [2, 3, 2])})
