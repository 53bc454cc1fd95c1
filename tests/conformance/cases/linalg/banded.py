"""Cases of kernels/linalg/banded.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row


def bands(*dims):
    """Bands all of which may be the main diagonal."""
    return np.random.RandomState(8).uniform(1, 2, dims)


row("BandedTriangularSolve", [
    c(bands(*a), x(*b), lower=lower, adjoint=adjoint)
    for lower in (True, False) for adjoint in (False, True)
    for a, b in [((2, 4), (4, 3)), ((1, 3), (3, 2)), ((3, 3), (3, 1)),
                 ((2, 3, 2, 3), (2, 3, 3, 2)), ((2, 2, 3), (3, 2)),
                 ((2, 3), (2, 3, 2)), ((2, 1, 2, 2), (3, 2, 1)),
                 ((1, 1), (1, 1))]] + [
    once(bands(3, 90), x(90, 5)), once(bands(3, 90), x(90, 5), lower=False),
    bad(np.zeros([2, 2]), x(2, 1)), bad([[1, 0], [1, 1]], x(2, 1)),
    bad([[1, 1], [1, 0]], x(2, 1), lower=False),
    once([[[1, 1], [1, 1]], [[0, 1], [1, 1]]], x(2, 2, 1)),
    c([[1, np.nan], [1, 1]], x(2, 1)),
    bad(x(2), x(2, 1)), bad(x(2, 2), x(2)), bad(x(2, 2), x(3, 1)),
    bad(x(0, 2), x(2, 1)), bad(x(1, 0), x(0, 1)), bad(x(1, 2), x(2, 0)),
    bad(bands(2, 2, 2), x(3, 2, 1))], tol=16)
