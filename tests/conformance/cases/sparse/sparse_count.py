"""Cases of kernels/sparse/sparse_count.c."""
import numpy as np

from tests.conformance.cases.shared import NONE, NOWHERE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

GRID = [[1, 2, 1], [3, 3, 3]]
PLACES = [[0, 0], [0, 1], [1, 0]]
NO_GRID = np.zeros([0, 0])
PLAIN = {"binary_output": False}
BINARY = {"binary_output": True}
DATA = Data(0, 5)
LONG = [i * 37 % 91 for i in range(3000)]

row("DenseCountSparseOutput", [
    c(GRID, NO_GRID, **PLAIN), c([3, 1, 1], NONE, **PLAIN), c(GRID, x(2, 3), **PLAIN),
    c([3, 1, 1], NONE, minlength=6, **PLAIN), c([3, 1, 1], NONE, maxlength=2, **PLAIN),
    c([3, 1, 1], NONE, minlength=2, maxlength=3, **PLAIN), c([3, 1, 1], NONE, **BINARY),
    c([3, 1, 1], x(3), **BINARY), c([3, 1, 1], NONE, maxlength=0, **PLAIN),
    c(NONE, NONE, **PLAIN), c(np.zeros([2, 0]), NO_GRID, **PLAIN),
    c(NONE, NONE, minlength=4, **PLAIN), once(np.reshape(LONG, [50, 60]), NO_GRID, **PLAIN),
    bad([3, 1, 1], x(2), **PLAIN), bad(GRID, x(3, 2), **PLAIN),
    bad([3, -1, 1], NONE, **PLAIN), bad([[[1]]], NONE, **PLAIN), bad(3, NONE, **PLAIN),
    bad(np.zeros([0, 2]), NO_GRID, **PLAIN)], DATA)
row("SparseCountSparseOutput", [
    c(PLACES, [1, 2, 1], [2, 2], NONE, **PLAIN), c(PLACES, [1, 2, 1], [2, 2], x(3), **PLAIN),
    c([[0], [3]], [1, 1], [4], NONE, **PLAIN), c([[0], [3]], [1, 1], [4], x(2), **PLAIN),
    c(PLACES, [1, 2, 1], [2, 2], NONE, maxlength=2, **PLAIN),
    c(PLACES, [1, 2, 1], [2, 2], NONE, minlength=5, **PLAIN),
    c(PLACES, [1, 1, 1], [2, 2], x(3), **BINARY), c([[0, 0, 0]], [1], [2, 2, 2], NONE, **PLAIN),
    c(PLACES[::-1], [1, 2, 3], [2, 2], NONE, **PLAIN), c(NOWHERE, NONE, [2, 2], NONE, **PLAIN),
    once([[i // 60, i % 60] for i in range(3000)], LONG, [50, 60], NONE, **PLAIN),
    bad(PLACES, [1, 2, 1], [2, 2], x(2), **PLAIN), bad(PLACES, [1, 2, 1], [2, 2], x(1, 3), **PLAIN),
    bad(PLACES, [1, -2, 1], [2, 2], NONE, **PLAIN), bad([[5, 0]], [1], [2, 2], NONE, **PLAIN),
    bad([[-1, 0]], [1], [2, 2], NONE, **PLAIN), bad([[0, 5]], [1], [2, 2], NONE, **PLAIN),
    bad(np.zeros([1, 0]), [1], NONE, NONE, **PLAIN), bad(PLACES, [1, 2], [2, 2], NONE, **PLAIN),
    bad([0], [1], [2, 2], NONE, **PLAIN), bad(PLACES, [[1, 2, 1]], [2, 2], NONE, **PLAIN),
    bad(PLACES, [1, 2, 1], [[2, 2]], NONE, **PLAIN), bad([[0]], [1], [2, 2], NONE, **PLAIN),
    bad(NOWHERE, NONE, [0, 2], NONE, **PLAIN), bad(PLACES, [1, 2, 1], [-2, 2], NONE, **PLAIN),
    bad([[0, 0, 0, 9]], [1], [2, 2, 2, 2], NONE, **PLAIN), bad([[9]], [1], [4], NONE, **PLAIN)],
    DATA)
row("RaggedCountSparseOutput", [
    c([0, 2, 2, 3], [1, 2, 1], NONE, **PLAIN), c([0, 2, 3], [1, 2, 1], x(3), **PLAIN),
    c([0, 2, 3], [1, 2, 1], NONE, maxlength=2, **PLAIN), c([0, 0, 0], NONE, NONE, **PLAIN),
    c([0, 2, 1, 3], [1, 1, 2], NONE, **PLAIN), c([[0, 3]], [1, 1, 2], NONE, **PLAIN),
    c([0, -1, 3], [1, 1, 2], NONE, **PLAIN), c([0, 3], [1, 1, 2], x(3), **BINARY),
    once([0, 700, 700, 3000], LONG, NONE, **PLAIN),
    bad([0, 2, 3], [1, 2, 1], x(2), **PLAIN), bad([0, 2, 3], [1, 2, 1], x(1, 3), **PLAIN),
    bad([0, 3], [1, -1, 2], NONE, **PLAIN), bad([1, 3], [1, 1, 2], NONE, **PLAIN),
    bad([0, 2], [1, 1, 2], NONE, **PLAIN), bad([0, 9], [1, 1, 2], NONE, **PLAIN),
    bad(NONE, NONE, NONE, **PLAIN), bad([0], NONE, NONE, **PLAIN),
    bad([0, 1], [[1, 1, 2]], NONE, **PLAIN), bad(0, [1], NONE, **PLAIN)], DATA)
