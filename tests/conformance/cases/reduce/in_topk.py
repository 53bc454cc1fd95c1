"""Cases of kernels/reduce/in_topk.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("InTopKV2", [
    c([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [2, 2, 0], 2), c(x(9, 6), [0] * 9, 3),
    c([[1, np.inf, 3], [3, 2, np.nan]], [2, 0], 1), c(x(2, 3), [-1, 3], 9),
    c(x(0, 3), np.zeros([0]), 1), c(x(2, 3), [0, 1], 0), c(x(2, 3), [0, 1], -1),
    bad(x(2, 3), [0], 1), bad(x(3), [0, 1, 1], 1), bad(x(2, 3), [[0, 1]], 1),
    bad(x(2, 3), [0, 1], [1])])
row("InTopK", [
    c(x(9, 6), [0, 1, 2] * 3, k=3), c(x(2, 3), [5, -5], k=1),
    bad(x(2, 3), [0], k=1), bad(x(3), [0], k=1)])
