"""Cases of kernels/sparse/sparse_bincount.c."""
import numpy as np

from tests.conformance.cases.shared import NONE, NOWHERE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

PLACES = [[0, 0], [0, 1], [1, 0]]
DATA = Data(0, 5)
LONG = [i * 37 % 91 for i in range(3000)]

row("SparseBincount", [
    c(PLACES, [1, 1, 3], [2, 2], 4, NONE), c([[0], [2]], [1, 3], [4], 5, NONE),
    c(PLACES, [1, 1, 3], [2, 2], 4, x(3)), c([[0], [2]], [1, 3], [4], 5, x(2)),
    c(PLACES, [1, 1, 3], [2, 2], 4, NONE, binary_output=True),
    c(PLACES, [1, 9, 3], [2, 2], 4, NONE), c(PLACES, [1, 1, 3], [2, 2], 4, x(1, 3)),
    c([[0, 0, 0]], [1], [2, 2, 2], 4, NONE), c(NOWHERE, NONE, [2, 2], 3, NONE),
    c(PLACES[::-1], [1, 2, 3], [2, 2], 4, NONE), c(PLACES, [1, 1, 3], [2, 2], 0, NONE),
    c(PLACES, [1, 1, 3], [2, 2], 4, np.zeros([0, 2])),
    once([[i // 60, i % 60] for i in range(3000)], LONG, [50, 60], 80, NONE),
    bad(PLACES, [1, 1, 3], [2, 2], -4, NONE), bad(PLACES, [1, 1, 3], [2, 2], [4], NONE),
    bad(PLACES, [1, 1, 3], [2, 2], NONE, NONE), bad([[5, 0]], [1], [2, 2], 4, NONE),
    bad([[-5, 0]], [1], [2, 2], 4, NONE), bad(PLACES, [1, 1], [2, 2], 4, NONE),
    bad(PLACES, [[1, 1, 1]], [2, 2], 4, NONE), bad([0], [1], [2, 2], 4, NONE),
    bad([[0]], [1], [2, 2], 4, NONE), bad(PLACES, [1, 1, 1], [[2, 2]], 4, NONE),
    bad([[9]], [1], [4], 5, NONE), bad([[0], [2]], [1, -3], [4], 5, NONE)], DATA)
row("RaggedBincount", [
    c([0, 2, 2, 3], [1, 1, 3], 4, NONE), c([0, 2, 2, 3], [1, 1, 3], 4, x(3)),
    c([0, 2, 2, 3], [1, 1, 3], 4, NONE, binary_output=True), c([0, 2, 3], [1, 9, 3], 4, NONE),
    c([0, 2, 1, 3], [1, 1, 3], 4, NONE), c([[0, 3]], [1, 1, 3], 4, NONE), c([0], NONE, 4, NONE),
    c([0, -1, 3], [1, 1, 3], 4, NONE), c([0, 2, 3], [1, 1, 3], 0, NONE),
    once([0, 700, 700, 3000], LONG, 80, NONE),
    bad([0, 3], [1, -1, 3], 4, NONE), bad([0, 3], [1, 1, 3], -4, NONE),
    bad([0, 3], [1, 1, 3], [4], NONE), bad([1, 3], [1, 1, 3], 4, NONE),
    bad([0, 2], [1, 1, 3], 4, NONE), bad([0, 9], [1, 1, 3], 4, NONE), bad(NONE, NONE, 4, NONE),
    bad([0, 1], [[1, 1, 3]], 4, NONE), bad(0, [1, 1, 3], 4, NONE)], DATA)
