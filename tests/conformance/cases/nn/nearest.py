"""Cases of kernels/nn/nearest.c."""
import numpy as np

from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

GRID = np.float32([[a, b] for a in range(5) for b in range(4)])
MANY = np.float32([[i * 7919 % 61, i * 104729 % 67] for i in range(2500)])  # exact squares

# A k below 0 ends the process in TensorFlow.
row("NearestNeighbors", [
    *(c(x(6, 3), x(9, 3), k) for k in (0, 1, 2, 8, 9, 30)),
    *(c(GRID, GRID, k) for k in (1, 3, 20)), *(c(MANY[:40], MANY, k) for k in (1, 5)),
    c(np.ones([3, 2], np.float32), np.ones([20, 2], np.float32), 1),
    c(np.ones([3, 2], np.float32), np.ones([1200, 2], np.float32), 4),
    c(x(3, 2), x(0, 2), 2), c(np.zeros([3, 0], np.float32), np.zeros([2, 0], np.float32), 2),
    once(x(300, 17), x(50, 17), 4), once(MANY, MANY[:1500], 1),
    bad(x(0, 2), x(3, 2), 1), bad(x(3, 2), x(3, 3), 1), bad(x(3), x(3, 3), 1),
    bad(x(3, 3), x(3), 1), bad(x(3, 3), x(3, 3), [1])],
    SMALL, tol=64)
