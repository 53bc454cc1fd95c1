"""Cases of kernels/csr/csr_cholesky.c.  With no rows TensorFlow divides by
zero, and numbers that are no permutation let it write beside its memory."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.csr_order import PATTERNS
from tests.conformance.cases.csr.matrices import (
    BATCHES, TYPES, indices_of, of_sparse, parts, ranked, sized, to_sparse)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

OWN = PATTERNS["drawn 30 2"]
WAYS = {"as it is": np.arange, "backwards": lambda n: np.arange(n)[::-1],
        "drawn": lambda n: np.random.RandomState(n).permutation(n)}


def values_of(entries, dtype, seed):
    """Positive definite: a diagonal that is larger than its row and column."""
    rng = np.random.RandomState(seed)
    drawn = rng.uniform(-1, 1, len(entries))
    if dtype.is_complex:
        drawn = drawn + 1j * rng.uniform(-1, 1, len(entries))
    for i, entry in enumerate(entries):
        if entry[-1] == entry[-2]:
            drawn[i] = 3 * len(entries) ** 0.5 + rng.uniform()
    return drawn.astype(dtype.as_numpy_dtype)


def matrix(shape, entries, dtype, values=None):
    if values is None:
        values = values_of(entries, dtype, len(entries))
    return raw.SparseTensorToCSRSparseMatrix(
        indices=ranked(indices_of(shape, entries)),
        values=ranked(np.asarray(values, dtype.as_numpy_dtype)),
        dense_shape=sized(np.int64(shape)))


def factor(m, permutation, dtype, count=1):
    y = raw.SparseMatrixSparseCholesky(
        input=m, permutation=ranked(np.int32(permutation)), type=dtype)
    return to_sparse(y, dtype) + [p for b in range(count)
                                  for p in parts(y, b, dtype)]


@scenario("SparseMatrixSparseCholesky", tol=16)
@fresh_graph
def factors_of_sparse_matrices(side):
    found = {}
    for name, (shape, entries) in PATTERNS.items():
        if name in ("none", "off the diagonal", "upper alone", "square") or (
                "no diagonal" in name):
            continue
        for dtype in TYPES if shape[0] <= 30 else TYPES[1:3]:
            for way, of in WAYS.items():
                found["%s %s %s" % (name, dtype.name, way)] = factor(
                    matrix(shape, entries, dtype), of(shape[0]), dtype)
            m = matrix(shape, entries, dtype)
            y = raw.SparseMatrixSparseCholesky(
                input=m, permutation=raw.SparseMatrixOrderingAMD(input=m),
                type=dtype)
            found["%s %s thin" % (name, dtype.name)] = to_sparse(y, dtype)
    return answers(side, found)


@scenario("SparseMatrixSparseCholesky", tol=16)
@fresh_graph
def factors_of_batches(side):
    found = {}
    rng = np.random.RandomState(5)
    kinds = ("drawn 30 1", "drawn 30 2", "drawn 30 5")
    entries = [[b, *e] for b, name in enumerate(kinds)
               for e in PATTERNS[name][1]]
    for dtype in TYPES:
        found[dtype.name] = factor(
            matrix([3, 30, 30], entries, dtype),
            [rng.permutation(30) for _ in kinds], dtype, 3)
    return answers(side, found)


@scenario("SparseMatrixSparseCholesky", tol=16)
@fresh_graph
def factors_of_odd_matrices(side):
    """What the upper triangle and the diagonal's imaginary parts have does not
    count, nor whether the whole is a number."""
    entries = [[0, 0], [0, 1], [1, 0], [1, 1]]

    def given(values, dtype=tf.float32, order=(0, 1)):
        return factor(matrix([2, 2], entries, dtype, values), order, dtype)
    return answers(side, {
        "upper": given([4, 9, 1, 5]), "upper turned": given([4, 9, 1, 5],
                                                            order=(1, 0)),
        "nan": given([np.nan, 1, 1, 5]), "inf": given([np.inf, 1, 1, 5]),
        "imaginary": given([4 + 2j, 1 + 1j, 1 - 1j, 5 - 3j], tf.complex64),
        "zeros stay": factor(matrix(
            [3, 3], [[0, 0], [1, 0], [1, 1], [2, 0], [2, 2]], tf.float64,
            [4, 0, 4, 0, 4]), [0, 1, 2], tf.float64)})


@scenario("SparseMatrixSparseCholesky")
@fresh_graph
def bad_factors_of_sparse_matrices(side):
    f = tf.float32
    own = matrix(*OWN, f)
    order = np.arange(30)
    diagonal = PATTERNS["diagonal"]
    three = [[b, i, i] for b in range(3) for i in range(2)]

    def from_order(m, permutation):
        y = raw.SparseMatrixSparseCholesky(
            input=m, permutation=ranked(np.int32(permutation)), type=f)
        return to_sparse(y, f)
    return answers(side, {
        "type": factor(own, order, tf.float64),
        "rank": from_order(own, [order]), "batch rank": from_order(
            matrix([3, 2, 2], three, f), [0, 1]),
        "batch": from_order(matrix([3, 2, 2], three, f), [[0, 1]]),
        "short": from_order(own, order[:-1]), "long": from_order(own, [0] * 31),
        "wide": from_order(of_sparse([2, 3], [[0, 0]], f), [0, 1]),
        "batch of wide ones": from_order(of_sparse(*BATCHES["two"], f),
                                       [[0, 1, 2]] * 2),
        "negative": from_order(matrix(*diagonal, f, [1, 2, -1, 4, 5]), range(5)),
        "zero": from_order(matrix(*diagonal, f, [1, 2, 3, 0, 5]), range(5)),
        "empty": from_order(of_sparse(*PATTERNS["none"], f), range(4)),
        "indefinite": from_order(matrix([2, 2], [[0, 0], [1, 0], [1, 1]],
                                      f, [1, 3, 2]), [0, 1]),
        "second of three": from_order(matrix([3, 2, 2], three, f,
                                           [1, 1, -1, 1, 1, 1]),
                                    [[0, 1]] * 3)})
