"""Cases of kernels/linalg/tridiagonal.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row


def dominant(*dims):
    """Three diagonals of matrices that are easily inverted."""
    flat = np.random.RandomState(7).uniform(-1, 1, dims)
    flat[..., 1, :] += 4
    return flat


# Rows change places: what is below the diagonal is larger.
PIVOTED = [[1, 2, 3, 0], [0.5, 1, -1, 2], [0, 4, 5, 6]]
SINGULAR = [[2, 1, 0], [1, 2, 5], [0, 1, 0]]
LOST = [[1, 1, 0], [0, 0, 1], [0, 0, 1]]  # a pivot is zero whatever is done
row("TridiagonalMatMul", [
    c(x(1, 4), x(1, 4), x(1, 4), x(4, 3)), c(x(1, 1), x(1, 1), x(1, 1), x(1, 2)),
    c(x(2, 3, 1, 2), x(2, 3, 1, 2), x(2, 3, 1, 2), x(2, 3, 2, 2)),
    c(x(0, 1, 2), x(0, 1, 2), x(0, 1, 2), x(0, 2, 2)),
    c(x(1, 3), x(1, 3), x(1, 3), x(3, 0)),
    c([[1, np.inf]], [[1, 2]], [[np.nan, 1]], [[1], [2]]),
    once(x(1, 300), x(1, 300), x(1, 300), x(300, 20)),
    bad(x(2), x(1, 2), x(1, 2), x(2, 2)), bad(x(1, 2), x(1, 2), x(2), x(2, 2)),
    bad(x(2, 2), x(1, 2), x(1, 2), x(2, 2)),
    bad(x(1, 2), x(1, 3), x(1, 2), x(2, 2)),
    bad(x(1, 2), x(1, 2), x(1, 3), x(2, 2)),
    bad(x(1, 2), x(1, 2), x(1, 2), x(3, 2)),
    bad(x(1, 1, 2), x(2, 1, 2), x(1, 1, 2), x(1, 2, 2))], tol=4)
row("TridiagonalSolve", [
    case(diagonals, right, **attrs)
    for attrs in ({}, {"partial_pivoting": False}, {"perturb_singular": True})
    for case, diagonals, right in [
        (c, dominant(3, 4), x(4, 2)), (c, dominant(2, 3, 3, 3), x(2, 3, 3, 1)),
        (c, dominant(3, 1), x(1, 2)), (c, dominant(3, 2), x(2, 2)),
        (c, dominant(0, 3, 2), x(0, 2, 1)), (c, dominant(3, 0), x(0, 1)),
        (c, dominant(3, 2), x(2, 0)), (once, dominant(3, 200), x(200, 3)),
        (bad, x(3), x(2, 2)), (bad, x(2, 3), x(3, 1)), (bad, x(3, 3), x(2, 1)),
        (bad, x(2, 3, 3), x(1, 3, 1)), (bad, x(3, 3), x(1, 3, 1))]] + [
    c(PIVOTED, x(4, 2)), c(PIVOTED, x(4, 2), perturb_singular=True),
    c([[0], [0], [0]], [[1, 2]]),
    c([[0], [0], [0]], [[1, 2]], partial_pivoting=False),
    c(LOST, x(3, 2)), c(LOST, x(3, 2), partial_pivoting=False),
    c(SINGULAR, x(3, 2), partial_pivoting=False),
    once(LOST, [[1], [2], [3]], perturb_singular=True),
    once([[0], [0], [0]], [[1, 2]], perturb_singular=True),
    once([[0], [1e-40], [0]], [[1e-3, 2]], perturb_singular=True),
    once([[1, 0], [1, 1], [0, 1]], [[1], [3]], perturb_singular=True),
    bad(dominant(3, 4), x(4, 2), partial_pivoting=False,
        perturb_singular=True)], tol=32)
