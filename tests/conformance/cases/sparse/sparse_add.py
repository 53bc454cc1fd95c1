"""Cases of kernels/sparse/sparse_add.c."""
import numpy as np

from tests.conformance.cases.shared import NOWHERE, PLACES, TWICE_THERE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

MANY = [[i // 90, i % 90] for i in range(9000)]

row("SparseTensorDenseAdd", [
    c(PLACES, x(4), [3, 4], x(3, 4)), c(TWICE_THERE, x(3), [2, 2], x(2, 2)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(3, 4)), c([[1]], x(1), [3], x(3)),
    c([[0, 1, 2]], x(1), [2, 2, 3], x(2, 2, 3)),
    c(np.zeros([0, 1]), np.zeros([0]), [0], x(0)),
    once(MANY, x(9000), [100, 90], x(100, 90)),
    once([[i % 7, 0] for i in range(9000)], x(9000), [7, 1], x(7, 1)),
    bad(MANY[:8000] + [[100, 0]] + MANY[8001:], x(9000), [100, 90], x(100, 90)),
    bad(MANY[:8999] + [[0, -1]], x(9000), [100, 90], x(100, 90)),
    bad([1, 2], x(2), [3, 4], x(3, 4)), bad(PLACES, x(4, 1), [3, 4], x(3, 4)),
    bad(PLACES, x(4), [[3, 4]], x(3, 4)), bad(PLACES, x(4), [3, 4], x(3, 5)),
    bad(PLACES, x(3), [3, 4], x(3, 4)), bad(PLACES, x(4), [3], x(3)),
    bad([[0, 9]], x(1), [3, 4], x(3, 4)),
    bad([[0, -1]], x(1), [3, 4], x(3, 4)),
    bad(np.zeros([0, 0]), np.zeros([0]), np.zeros([0]), x()),
    bad(np.zeros([0, 6]), np.zeros([0]), [1] * 6, x(1, 1, 1, 1, 1, 1))])
