"""Cases of kernels/sparse/sparse_reshape.c."""
import numpy as np

from tests.conformance.cases.shared import NOWHERE, PLACES
from tests.conformance.table import bad, c, row

row("SparseReshape", [
    c(PLACES, [3, 4], [12]), c(PLACES, [3, 4], [2, 3, 2]),
    c(PLACES, [3, 4], [3, 4]), c(PLACES, [3, 4], [-1, 6]),
    c([[2]], [4], [2, 2]),
    c(NOWHERE, [3, 4], [12]), c(NOWHERE, [2, 0], [-1, 3]),
    c(NOWHERE, [2, 0], [0]),
    c(np.zeros([1, 0]), np.zeros([0]), [1]), c([[0]], [1], np.zeros([0])),
    c([[0, 5], [-1, 0]], [2, 3], [6]), c([[9, 5]], [2, 3], [3, 2]),
    c([[9, 5]], [2, 3], [2, 3]),
    bad(PLACES, [3, 4], [13]), bad(PLACES, [3, 4], [-1, 5]),
    bad(PLACES, [3, 4], [-1, -1]), bad(PLACES, [3, 4], [-2, 6]),
    bad(PLACES, [3, -4], [12]), bad(PLACES, [3, 4, 1], [12]),
    bad(PLACES, [3, 0], [0]), bad(NOWHERE, [2, 0], [-1, 0]),
    bad(PLACES, [2 ** 40, 2 ** 40], [-1]), bad(PLACES, [3, 4], [2 ** 62, 8]),
    bad([1, 2], [3, 4], [12]), bad(PLACES, [[3, 4]], [12]),
    bad(PLACES, [3, 4], [[12]]), bad(PLACES, [3, 4], np.zeros([0])),
    bad(PLACES, [3, 4], [2, -1, 5]), bad(PLACES, [3, 4], 12),
    bad(PLACES, [3, 0], [5])])
