"""Cases of kernels/csr/csr_order.c: permutations equal TensorFlow's to the
number.  With no batches TensorFlow divides by zero."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import (
    BATCHES, MATRICES, of_sparse, ranked, sized)
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def drawn(n, each, seed, diagonal=True):
    """Entries of a lower triangle, about so many a row."""
    rng = np.random.RandomState(seed)
    entries = {(int(max(p)), int(min(p)))
               for p in rng.randint(0, n, [n * each, 2])}
    if diagonal:
        entries |= {(i, i) for i in range(n)}
    return [n, n], sorted(map(list, entries))


def grid(side):
    """Neighbours on a square, both halves."""
    found = []
    for i in range(side * side):
        row, column = divmod(i, side)
        near = [i]
        near += [i - side] if row else []
        near += [i + side] if row < side - 1 else []
        near += [i - 1] if column else []
        near += [i + 1] if column < side - 1 else []
        found += [[i, j] for j in sorted(near)]
    return [side * side] * 2, found


def arrow(n, at):
    """A row that touches all others."""
    entries = {(i, i) for i in range(n)}
    entries |= {(max(i, at), min(i, at)) for i in range(n)}
    return [n, n], sorted(map(list, entries))


def bands(n, widths):
    return [n, n], [[i, j] for i in range(n) for j in range(i + 1)
                    if i - j in widths or i == j]


PATTERNS = {
    "one": ([1, 1], [[0, 0]]), "two": ([2, 2], [[0, 0], [1, 0], [1, 1]]),
    "none": ([4, 4], []), "diagonal": ([5, 5], [[i, i] for i in range(5)]),
    "off the diagonal": ([5, 5], [[1, 0], [3, 2], [4, 1]]),
    "upper alone": ([5, 5], [[0, 0], [0, 3], [1, 4], [4, 4]]),
    "full": ([9, 9], np.argwhere(np.ones([9, 9])).tolist()),
    "square": MATRICES["square"],
    "twice": ([6, 6], [[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [2, 1], [2, 2],
                       [3, 3], [4, 0], [4, 4], [5, 4], [5, 5], [5, 5]]),
    "out of order": ([5, 5], [[0, 0], [1, 1], [1, 0], [2, 2], [3, 2], [3, 0],
                              [3, 3], [4, 3], [4, 4], [4, 1]]),
    "arrow first": arrow(200, 0), "arrow last": arrow(200, 199),
    "grid 8": grid(8), "grid 31": grid(31), "bands": bands(300, (1, 2, 17)),
    "cliques": bands(120, tuple(range(1, 12))),
    **{"drawn %d %d" % (n, each): drawn(n, each, n + each)
       for n in (3, 7, 30, 150, 700) for each in (1, 2, 5)},
    **{"no diagonal %d" % n: drawn(n, 2, n, False) for n in (4, 40, 400)},
}


def order(shape, entries):
    return raw.SparseMatrixOrderingAMD(input=of_sparse(shape, entries,
                                                       tf.float32))


@scenario("SparseMatrixOrderingAMD", tol=0)
@fresh_graph
def orders_of_sparse_matrices(side):
    found = {name: order(*given) for name, given in PATTERNS.items()}
    batch = [[b, *e] for b, name in enumerate(("drawn 30 1", "drawn 30 2",
                                               "drawn 30 5"))
             for e in PATTERNS[name][1]]
    found["batch"] = order([3, 30, 30], batch)
    found["gaps"] = order(*BATCHES["gaps"])
    found["empty batches"] = order(*BATCHES["empty batches"])
    found["no rows"] = order([0, 0], [])
    found["complex"] = raw.SparseMatrixOrderingAMD(
        input=of_sparse(*PATTERNS["grid 8"], tf.complex64))
    return answers(side, found)


@scenario("SparseMatrixOrderingAMD")
@fresh_graph
def bad_orders_of_sparse_matrices(side):
    wide = raw.SparseTensorToCSRSparseMatrix(
        indices=ranked(np.int64([[0, 0]])), values=ranked(np.float32([1])),
        dense_shape=sized(np.int64([2, 3])))
    return answers(side, {
        "wide": raw.SparseMatrixOrderingAMD(input=wide),
        "tall": order([3, 2], [[2, 1]]),
        "batch": order(*BATCHES["two"])})
