"""Cases of kernels/sparse/sparse_concat.c."""
import numpy as np

from tests.conformance.cases.shared import ANY, BACK, NONE, NOWHERE, PLACES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, once, row

S = [3, 4]
GRID = [[i // 50, i % 50] for i in range(2000)]


def two(indices, values, shapes, dim, make=c):
    return make(many(*indices), many(*values), many(*shapes), concat_dim=dim)


def wrong(*parts):
    return two(*parts, make=bad)


FOUR = [x(4), x(4)]
row("SparseConcat", [
    two([PLACES, PLACES], FOUR, [S, [3, 2]], 1), two([PLACES] * 2, FOUR, [S] * 2, -2),
    two([BACK, PLACES], FOUR, [S] * 2, 0), two([BACK, PLACES], FOUR, [S] * 2, 1),
    two([[[7, 9]], PLACES], [x(1), x(4)], [S] * 2, 0),
    two([NOWHERE, PLACES], [x(0), x(4)], [S] * 2, 1),
    two([NOWHERE] * 2, [x(0)] * 2, [S, [3, 0]], 1),
    two([[[0, 1], [0, 1]], PLACES], [x(2), x(4)], [S] * 2, 0),
    two([PLACES] * 3, [x(4)] * 3, [S] * 3, 1),
    two([[[1], [2]], [[0]]], [x(2), x(1)], [[4], [2]], 0),
    two([[[0, 1, 2]], [[1, 0, 0]]], [x(1)] * 2, [[2, 2, 3], [2, 5, 3]], 1),
    two([GRID, GRID], [x(2000)] * 2, [[40, 50]] * 2, 1, once),
    wrong([PLACES] * 2, FOUR, [S] * 2, 2), wrong([PLACES] * 2, FOUR, [S] * 2, -3),
    wrong([PLACES] * 2, FOUR, [S, [3, 4, 1]], 0), wrong([PLACES] * 2, FOUR, [S, [2, 4]], 1),
    wrong([[1], PLACES], FOUR, [S] * 2, 1), wrong([PLACES] * 2, [x(4), x(4, 1)], [S] * 2, 1),
    wrong([PLACES] * 2, FOUR, [S, [S]], 1), wrong([PLACES] * 2, [x(4), x(3)], [S] * 2, 1),
    wrong([[[1]], PLACES], [x(1), x(4)], [S] * 2, 1),
    wrong([PLACES] * 2, FOUR, [[3, -4], S], 1),
    wrong([PLACES] * 2, FOUR, [[3, 2 ** 62]] * 2, 0),
    wrong([np.zeros([1, 0])] * 2, [x(1)] * 2, [NONE] * 2, 0)], ANY)
