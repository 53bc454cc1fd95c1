"""Cases of kernels/reduce/bincount.c."""
import numpy as np

from tests.conformance.cases.shared import IDS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, once, row

NONE = np.zeros([0])
FLAT = [
    c([0, 3, 1, 3, 9], 4, NONE), c([0, 3, 1, 3], 6, x(4)),
    c(NONE, 3, NONE), c([1, 2], 0, NONE), c([[0, 1], [1, 4]], 5, x(2, 2)),
    c(2, 3, x()), c(IDS, 40, NONE), c(IDS, 30, x(300)),
    once([i * 7 % 1000 for i in range(20000)], 1000, NONE),
    bad([0, -1], 3, NONE), bad([0, 1], -1, NONE), bad([0, 1], [3], NONE),
    bad([0, 1], 3, x(3)), c([0, 1], 3, x(2, 1))]
row("Bincount", FLAT, Data(-9, 9))
row("DenseBincount", [
    every([0, 3, 1, 3, 9], 4, NONE), c([0, 3, 1, 3], 6, x(4)),
    c(NONE, 3, NONE), c([1, 2], 0, NONE), c([[0, 1], [1, 4]], 5, NONE),
    c([[0, 1], [1, 4], [1, 1]], 3, x(3, 2)), c(2, 3, x()),
    c([[0, 1, 1], [1, 4, 1]], 5, NONE, binary_output=True),
    c([0, 1, 1], 2, NONE, binary_output=True), c(np.zeros([0, 2]), 3, NONE),
    c(np.zeros([2, 0]), 3, NONE), c(IDS, 30, x(300)),
    once([[i * j % 100 for i in range(200)] for j in range(99)], 90, NONE),
    bad([0, -1], 3, NONE), bad([[0, -1]], 3, NONE), bad([0, 1], -1, NONE),
    bad([0, 1], [3], NONE), bad([0, 1], 3, x(3)), bad([[[0]]], 3, NONE),
    bad([0, 1], 3, x(2, 1))],
    Data(-9, 9))
row("HistogramFixedWidth", [
    every([-1, 0, 3, 5, 2, 15, 9], [0, 5], 5), c(x(2, 13), [-4, 6], 7),
    c(x(), [0, 5], 3), c(NONE, [0, 5], 3), c([1, 2], [0, 5], 1),
    c([0, 5, 10], [0, 10], 10), once(x(300, 70), [-9, 9], 100),
    c([-np.inf, np.inf, 0.25], [0, 1], 4, dtypes=("float32", "float64")),
    bad([1], [5, 0], 3), bad([1], [5, 5], 3), bad([1], [0, 5], 0),
    bad([1], [0, 5], -3), bad([1], [0, 5, 6], 3), bad([1], 5, 3),
    bad([1], [0, 5], [3]), bad([np.nan], [0, 1], 4)], Data(-9, 9))
