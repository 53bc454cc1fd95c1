"""Cases of kernels/csr/csr_product.c.  With no batches or rows TensorFlow
divides by zero."""
import itertools

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import (
    BATCHES, MATRICES, TYPES, of_sparse, parts, to_sparse)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

WAYS = ("", "transpose", "adjoint")


def product(first, second, dtype, a="", b="", of=None):
    flags = {"%s_%s" % (way, name): True
             for name, way in (("a", a), ("b", b)) if way}
    m = raw.SparseMatrixSparseMatMul(
        a=of_sparse(*first, dtype), b=of_sparse(*second, dtype, 1),
        type=of or dtype, **flags)
    return to_sparse(m, of or dtype) + parts(m, 0, of or dtype)


def turned(given):
    """The other way round, in order."""
    shape, entries = given
    flip = sorted(e[:-2] + [e[-1], e[-2]] for e in entries)
    return shape[:-2] + [shape[-1], shape[-2]], flip


@scenario("SparseMatrixSparseMatMul", tol=4)
@fresh_graph
def products_of_sparse_matrices(side):
    found = {}
    for dtype, (name, given) in itertools.product(
            TYPES, {**MATRICES, **BATCHES}.items()):
        if 0 in given[0]:
            continue
        for a, b in (itertools.product(WAYS, WAYS) if dtype in TYPES[1:3]
                     else (("", ""), ("adjoint", "transpose"))):
            other = given if bool(a) != bool(b) else turned(given)
            found["%s %s %s %s" % (dtype.name, name, a, b)] = product(
                given, other, dtype, a, b)
    two = BATCHES["two"]
    one = ([1, 4, 2], [[0, 0, 1], [0, 2, 0], [0, 3, 1]])
    found["one for all"] = product(two, one, tf.float32)
    found["one for all, first"] = product(one, two, tf.float32, "adjoint",
                                          "transpose")
    return answers(side, found)


def scattered(rows, columns, each, step):
    """Rows that have columns far apart, other ones each."""
    return [rows, columns], [[r, r + c * step] for r in range(rows)
                             for c in range(each)]


@scenario("SparseMatrixSparseMatMul", tol=4)
@fresh_graph
def rows_of_many_columns(side):
    rows = 3
    all_rows = [1, rows], [[0, r] for r in range(rows)]
    return answers(side, {
        name: product(all_rows, scattered(rows, columns, each, step), tf.float32)
        for name, columns, each, step in (
            ("far apart", 1 << 23, 70000, 100), ("close", 1 << 18, 70000, 3))})


@scenario("SparseMatrixSparseMatMul")
@fresh_graph
def bad_products_of_two_sparse_matrices(side):
    wide, two, gaps = MATRICES["wide"], BATCHES["two"], BATCHES["gaps"]
    return answers(side, {
        "type": product(wide, turned(wide), tf.float32, of=tf.float64),
        "inner": product(wide, wide, tf.float32),
        "inner transposed": product(wide, turned(wide), tf.float32, "transpose"),
        "batches": product(two, gaps, tf.float32)})
