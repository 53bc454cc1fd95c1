"""Cases of kernels/sparse/sparse_cwise.c."""
import numpy as np

from tests.conformance.cases.shared import BACK, DIVISOR, NONE, NOWHERE, PLACES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

S = [3, 4]

row("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv", [
    c(PLACES, x(4), S, x(3, 4)), c(PLACES, x(4), S, x(4)), c(PLACES, x(4), S, x(3, 1)),
    c(PLACES, x(4), S, x()), c(PLACES, x(4), S, x(1)), c(PLACES, x(4), S, x(1, 1)),
    c(BACK, x(4), S, x(3, 4)), c(NOWHERE, x(0), S, x(3, 4)),
    c([[0, 0], [0, 0]], x(2), S, x(3, 4)), c([[1], [3]], x(2), [5], x(5)),
    c([[1, 0, 2]], x(1), [2, 1, 3], x(2, 1, 1)),
    c([[0] * 5], x(1), [1] * 5, x(1, 1, 1, 1, 1)),
    once([[i // 60, i % 60] for i in range(3000)], x(3000), [50, 60], x(50, 60)),
    bad(PLACES, x(4), S, x(1, 3, 4)), bad(PLACES, x(4), S, x(2, 4)),
    bad(PLACES, x(4), [1, 4], x(3, 4)), bad([1], x(4), S, x(3, 4)),
    bad(PLACES, x(4, 1), S, x(3, 4)), bad(PLACES, x(3), S, x(3, 4)),
    bad(PLACES, x(4), [S], x(3, 4)), bad([[1]], x(1), S, x(3, 4)),
    bad([[9, 0]], x(1), S, x(3, 4)), bad([[9, 0]], x(1), S, x()),
    bad([[9, 0]], x(1), S, x(4)), bad([[-1, 0]], x(1), S, x(3, 4)),
    bad([[0, 4]], x(1), S, x(3, 4)), bad(PLACES, x(4), [3, -4], x(3, 4)),
    bad(PLACES, x(4), [2 ** 40, 2 ** 40], x()),
    bad([[0] * 6], x(1), [1] * 6, x(1)), bad(np.zeros([1, 0]), x(1), NONE, x())],
    DIVISOR)
