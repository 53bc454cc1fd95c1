"""Cases of kernels/sparse/sparse_matmul.c."""
import numpy as np

from tests.conformance.cases.shared import BACK, NOWHERE, PLACES, TWICE_THERE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

row("SparseTensorDenseMatMul", [
    every(PLACES, x(4), [3, 4], x(4, 2)), c(PLACES, x(4), [3, 4], x(4, 1)),
    c(PLACES, x(4), [3, 4], x(3, 2), adjoint_a=True),
    c(PLACES, x(4), [3, 4], x(2, 4), adjoint_b=True),
    c(PLACES, x(4), [3, 4], x(2, 3), adjoint_a=True, adjoint_b=True),
    c(TWICE_THERE, x(3), [2, 2], x(2, 5)), c(BACK, x(4), [3, 4], x(4, 3)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2)),
    c(NOWHERE, np.zeros([0]), [3, 0], x(0, 2)),
    c(NOWHERE, np.zeros([0]), [0, 4], x(4, 2)),
    c(PLACES, x(4), [3, 4], x(4, 0)), c(PLACES, x(4), [3, 4], x(4, 16)),
    c(PLACES, x(4), [3, 4], x(3, 12), adjoint_a=True),
    c(PLACES, x(4), [3, 4], x(8, 4), adjoint_b=True),
    once([[i * 37 % 300, i * 11 % 70] for i in range(2100)], x(2100),
         [300, 70], x(70, 130)),
    bad(PLACES, x(4), [3, 4], x(3, 2)), bad(PLACES, x(3), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4)), bad(PLACES, x(4), [3, 4, 5], x(4, 2)),
    bad(PLACES, x(4), [[3, 4]], x(4, 2)), bad([1, 2], x(2), [3, 4], x(4, 2)),
    bad(PLACES, x(4, 1), [3, 4], x(4, 2)),
    bad([[0, 4]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[3, 0]], x(1), [3, 4], x(4, 2),
        gpu=c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2))),
    bad([[0, -1]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[0, 1, 2]], x(1), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4, 2), adjoint_a=True)], tol=16)
