"""Cases of kernels/sparse/sparse_reduce.c."""
import numpy as np

from tests.conformance.cases.shared import BACK, NONE, NOWHERE, PLACES, SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

S = [3, 4]
CUBE = [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 0, 2], [1, 1, 0]]
CASES = [
    c(PLACES, x(4), S, [0]), c(PLACES, x(4), S, 1), c(PLACES, x(4), S, [0, 1]),
    c(PLACES, x(4), S, NONE), c(PLACES, x(4), S, [1, -1]),
    c(PLACES, x(4), S, [1], keep_dims=True), c(PLACES, x(4), S, [-2], keep_dims=True),
    c(PLACES, x(4), S, [0, 1], keep_dims=True), c(BACK, x(4), S, [1]),
    c([[0, 9]], x(1), S, [1]), c([[9, 0]], x(1), S, [0]), c(NOWHERE, x(0), S, [1]),
    c(NOWHERE, x(0), [0, 4], [1]), c(np.zeros([1, 0]), x(1), NONE, NONE),
    c(PLACES, x(4), [2 ** 30, 2 ** 30], [0, 1]), c([[1], [3]], x(2), [5], [0]),
    *[c(CUBE, x(5), [2, 2, 3], axes, keep_dims=kept)
      for axes in ([0], [1], [0, 2], [1, 2]) for kept in (False, True)],
    once([[i % 60, i // 60] for i in range(3000)], x(3000), [60, 50], [1]),
    bad(PLACES, x(4), S, [2]), bad(PLACES, x(4), S, [-3]), bad(PLACES, x(4), S, [[0]]),
    bad([1], x(4), S, [0]), bad([1, 3], x(2), [5], [0]), bad(PLACES, x(4, 1), S, [0]), bad(PLACES, x(3), S, [0]),
    bad(PLACES, x(4), [S], [0]), bad([[1]], x(1), S, [0]), bad(PLACES, x(4), [3, -4], [0]),
    bad(PLACES, x(4), [2 ** 40, 2 ** 40], [0])]
row("SparseReduceSum SparseReduceMax", CASES + [
    bad([[9, 0]], x(1), S, [1]), bad([[-1, 0]], x(1), S, [1])], SMALL)
row("SparseReduceSumSparse SparseReduceMaxSparse", CASES + [
    c([[9, 0]], x(1), S, [1]), c([[-1, 0]], x(1), S, [1]),
    c(PLACES, x(4), [2 ** 30, 2 ** 30], [1])], SMALL)
