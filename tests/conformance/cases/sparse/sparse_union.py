"""Cases of kernels/sparse/sparse_union.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import (ANY, BACK, NONE, NOWHERE, PLACES, SMALL,
                                            TWICE_THERE)
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario

S = [3, 4]
OTHER = [[0, 1], [1, 1], [2, 0], [2, 3]]
ROWS = [[i // 50, i % 50] for i in range(0, 2000, 2)]
MORE = [[i // 50, i % 50] for i in range(0, 2000, 3)]
NO_RANK = np.zeros([1, 0])
LIMITS = {"float32": "float32", "float64": "float64", "complex64": "float32",
          "complex128": "float64", "int32": "int32", "int64": "int64",
          "int16": "int16", "int8": "int8"}

row("SparseSparseMaximum SparseSparseMinimum", [
    c(PLACES, x(4), S, OTHER, x(4), S), c(PLACES, x(4), S, PLACES, x(4), S),
    c(NOWHERE, x(0), S, PLACES, x(4), S), c(NOWHERE, x(0), S, NOWHERE, x(0), S),
    c(BACK, x(4), S, PLACES, x(4), S), c(TWICE_THERE, x(3), S, PLACES, x(4), S),
    c([[1], [2]], x(2), [4], [[2]], x(1), [4]),
    c([[0, 1, 2]], x(1), [2, 2, 3], [[0, 1, 1]], x(1), [2, 2, 3]),
    once(ROWS, x(1000), [40, 50], MORE, x(667), [40, 50]),
    bad([1], x(4), S, PLACES, x(4), S), bad(PLACES, x(4, 1), S, PLACES, x(4), S),
    bad(PLACES, x(3), S, PLACES, x(4), S), bad(PLACES, x(4), [S], PLACES, x(4), S),
    bad(PLACES, x(4), S, PLACES, x(4), [3, 5]), bad([[1]], x(1), S, PLACES, x(4), S),
    bad(PLACES, x(4), S, [[1]], x(1), S), bad([[9, 9]], x(1), S, PLACES, x(4), S),
    bad(PLACES, x(4), S, [[0, -1]], x(1), S),
    bad(PLACES, x(4), S, [[0, 0, 1]], x(1), [3, 4, 2]),
    bad(NO_RANK, x(1), NONE, NO_RANK, x(1), NONE)], SMALL)
row("SparseAddGrad", [
    c(x(4), PLACES, PLACES, PLACES), c(x(4), PLACES[:2], PLACES[1:], PLACES),
    c(x(4), [[0, 2]], [[0, 3]], PLACES), c(x(0), NOWHERE, NOWHERE, NOWHERE),
    c(x(0), PLACES, PLACES, NOWHERE), c(x(4), NOWHERE, PLACES, PLACES),
    once(x(1000), ROWS, MORE, ROWS),
    bad(x(3), PLACES, PLACES, PLACES), bad(x(4, 1), PLACES, PLACES, PLACES),
    bad(x(4), [1], PLACES, PLACES), bad(x(4), PLACES, PLACES, [1]),
    bad(x(4), [[1]], PLACES, PLACES), bad(x(1), PLACES, PLACES, [[1]])], ANY)


def added(a, a_values, b, b_values, limit=0, shape=S, other=None, dtype="float32"):
    return list(tf.raw_ops.SparseAdd(
        a_indices=hidden(np.array(a, np.int64)),
        a_values=hidden(np.array(a_values, dtype)),
        a_shape=hidden(np.array(shape, np.int64)),
        b_indices=hidden(np.array(b, np.int64)),
        b_values=hidden(np.array(b_values, dtype)),
        b_shape=hidden(np.array(shape if other is None else other, np.int64)),
        thresh=hidden(np.array(limit, LIMITS[dtype]))))


FOUR, LESS = [1, -2, 3, 4], [2, -3, -4, 1]
GOOD = {
    "apart": (PLACES, FOUR, OTHER, LESS), "same": (PLACES, FOUR, PLACES, LESS),
    "limited": (PLACES, FOUR, PLACES, LESS, 3), "nothing": (PLACES, FOUR, PLACES, LESS, 99),
    "none": (NOWHERE, [], PLACES, FOUR), "neither": (NOWHERE, [], NOWHERE, []),
    "alone is kept": (PLACES, FOUR, OTHER, LESS, 99), "back": (BACK, FOUR, PLACES, LESS),
    "twice": (TWICE_THERE, FOUR[:3], PLACES, LESS),
    "outside": ([[9, 9]], [1], PLACES, FOUR), "negative": ([[-9, 9]], [1], PLACES, FOUR),
    "negative shape": (PLACES, FOUR, PLACES, FOUR, 0, [-3, 4]),
    "vectors": ([[1]], [1], [[1]], [2], 0, [4]), "long": (ROWS, range(1000), MORE, range(667))}
WRONG = {
    "vector": ([1], FOUR, PLACES, FOUR), "values": (PLACES, [FOUR], PLACES, FOUR),
    "few": (PLACES, FOUR[:3], PLACES, FOUR), "shape": (PLACES, FOUR, PLACES, FOUR, 0, [S]),
    "scalar": (PLACES, FOUR, PLACES, FOUR, 0, 3),
    "rank": (PLACES, FOUR, PLACES, FOUR, 0, S, [3, 4, 5]),
    "dims": (PLACES, FOUR, PLACES, FOUR, 0, S, [3, 5]),
    "limit": (PLACES, FOUR, PLACES, FOUR, [1]), "columns": (PLACES, FOUR, PLACES, FOUR, 0, [3]),
    "second": (PLACES, FOUR, [[1]], [1]), "no rank": (NO_RANK, [1], NO_RANK, [1], 0, [])}


@scenario("SparseAdd")
@fresh_graph
def sums_of_sparse(side):
    found = {"%s %s" % (name, dtype): added(*case, dtype=dtype)
             for name, case in GOOD.items() for dtype in LIMITS if name != "long" or "8" not in dtype}
    found["wraps"] = added(PLACES, [127, -128, 100, -100], PLACES, [1, -1, 100, 100], 3,
                           dtype="int8")
    found["not a number"] = added([[0, 0], [0, 1]], [np.nan, 1], [[0, 0]], [1])
    wrong = {name: added(*case) for name, case in WRONG.items()}
    with side.session() as session:
        answers = {"%s %d" % (name, i): told(session, part)
                   for name, y in found.items() for i, part in enumerate(y)}
        answers.update((name, told(session, y)) for name, y in wrong.items())
    return answers
