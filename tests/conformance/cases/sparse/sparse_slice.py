"""Cases of kernels/sparse/sparse_slice.c."""
import numpy as np

from tests.conformance.cases.shared import ANY, BACK, NONE, NOWHERE, PLACES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

S = [3, 4]
LARGEST = 2 ** 63 - 1

row("SparseSlice", [
    c(PLACES, x(4), S, [0, 1], [3, 2]), c(PLACES, x(4), S, [0, 0], [30, 20]),
    c(BACK, x(4), S, [0, 0], [3, 2]), c(PLACES, x(4), S, [5, 1], [3, 2]),
    c(PLACES, x(4), S, [-1, 1], [3, 2]), c(PLACES, x(4), S, [0, 0], [0, 0]),
    c([[9, 9]], x(1), S, [0, 1], [30, 20]),
    c([[-1, 0]], x(1), S, [-1, 0], [30, 20]), c(NOWHERE, x(0), S, [0, 1], S),
    c([[2], [5]], x(2), [9], [3], [4]),
    c([[1, 0, 2]], x(1), [2, 1, 3], [1, 0, 0], [1, 1, 3]),
    c(PLACES, x(4), S, [1, 1], [LARGEST, LARGEST]),
    c(np.zeros([1, 0]), x(1), NONE, NONE, NONE),
    once([[i // 60, i % 60] for i in range(3000)], x(3000), [50, 60], [3, 7],
         [40, 31]),
    bad(PLACES, x(4), S, [0, 1], [-1, 2]), bad([1], x(4), S, [0, 0], S),
    bad(PLACES, x(4, 1), S, [0, 0], S), bad(PLACES, x(3), S, [0, 0], S),
    bad(PLACES, x(4), [S], [0, 0], S), bad(PLACES, x(4), S, [[0, 0]], S),
    bad(PLACES, x(4), S, [0, 0], [S]), bad(PLACES, x(4), S, [0], S),
    bad(PLACES, x(4), S, [0, 0], [3]), bad(PLACES, x(4), [3, -4], [0, 0], S),
    bad([[1]], x(1), S, [0, 0], S),
    bad(PLACES, x(4), [2 ** 40, 2 ** 40], [0, 0], S)], ANY)
row("SparseSliceGrad", [
    c(x(2), PLACES, [0, 1], [[0, 0], [0, 2]]), c(x(0), PLACES, [0, 1], NOWHERE),
    c(x(4), PLACES, [0, 0], PLACES), c(x(0), NOWHERE, [0, 1], NOWHERE),
    c(x(1), PLACES, [2, 0], [[0, 0]]),
    bad(x(2), PLACES, [0, 0], [[0, 0], [1, 2]]),
    bad(x(2), PLACES, [0, 1], [[0, 2], [0, 0]]),
    bad(x(2, 1), PLACES, [0, 1], [[0, 0], [0, 2]]),
    bad(x(1), PLACES, [0, 1], [[0, 0], [0, 2]]),
    bad(x(2), [1], [0, 1], [[0, 0], [0, 2]]), bad(x(1), PLACES, [0, 1], [1]),
    bad(x(2), PLACES, [[0, 1]], [[0, 0], [0, 2]]),
    bad(x(2), PLACES, [0], [[0, 0], [0, 2]]), bad(x(1), [[1]], [0, 1], [[0, 0]]),
    bad(x(1), PLACES, [0, 1], [[0]]), bad(x(9), PLACES, [0, 0], [[0, 0]] * 9)],
    ANY)
row("SparseSplit", [
    c(1, PLACES, x(4), S, num_split=2), c(1, PLACES, x(4), S, num_split=3),
    c(0, PLACES, x(4), S, num_split=2), c(-1, PLACES, x(4), S, num_split=4),
    c(0, PLACES, x(4), S, num_split=1), c(0, BACK, x(4), S, num_split=2),
    c(1, NOWHERE, x(0), S, num_split=2), c(0, [[1], [3]], x(2), [7], num_split=3),
    once(1, [[i // 60, i % 60] for i in range(3000)], x(3000), [50, 60],
         num_split=7),
    bad(2, PLACES, x(4), S, num_split=2), bad(-3, PLACES, x(4), S, num_split=2),
    bad(0, PLACES, x(4), S, num_split=4), bad(0, [1], x(4), S, num_split=2),
    bad(0, PLACES, x(4, 1), S, num_split=2), bad(0, PLACES, x(3), S, num_split=2),
    bad(0, PLACES, x(4), [S], num_split=2), bad(0, [[9, 0]], x(1), S, num_split=2),
    bad(0, [[0, 9]], x(1), S, num_split=2), bad(0, [[-1, 0]], x(1), S, num_split=2),
    bad(0, [[1]], x(1), S, num_split=2), bad(0, NOWHERE, x(0), [0, 4], num_split=1),
    bad([0], PLACES, x(4), S, num_split=2)], ANY)
