"""Cases of kernels/linalg/least_squares.c."""
import numpy as np

from tests.conformance.cases.linalg.linalg import regular
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, once, row, scenario


def tall(*dims):
    """Matrices of full rank that are far from losing it."""
    return regular(*dims[:-2], dims[-2], dims[-2])[..., :dims[-1]]


def flat(*dims):
    return np.swapaxes(tall(*dims[:-2], dims[-1], dims[-2]), -1, -2).copy()


DEFICIENT = [[1, 2], [2, 4], [3, 6]]
row("MatrixSolveLs", [
    c(a, x(*b), r, fast=fast) for fast in (True, False) for a, b, r in [
        (tall(4, 2), (4, 3), 0), (flat(2, 4), (2, 3), 0),
        (regular(3, 3), (3, 2), 0), (tall(2, 3, 4, 3), (2, 3, 4, 2), 0.5),
        (flat(2, 3, 5), (2, 3, 1), 0.25), ([[2]], (1, 1), 1)]] + [
    c(DEFICIENT, x(3, 2), 0, fast=False), c(DEFICIENT, x(3, 2), 0.5),
    once(tall(60, 20), x(60, 3), 0.1), once(tall(60, 20), x(60, 3), 0, fast=False),
    c(x(0, 3, 2), x(0, 3, 1), 0), c(x(3, 2), x(3, 0), 0),
    bad([[0, 0], [0, 0]], x(2, 1), 0), bad([[0, 0, 0]], x(1, 1), 0),
    bad(x(3, 2), x(3, 1), [0]), bad(x(3, 2), x(3, 1), -1),
    bad(x(3, 2), x(2, 1), 0), bad(x(2), x(2, 1), 0), bad(x(2, 2), x(2), 0),
    bad(x(1, 2, 2), x(2, 2, 2), 0)], tol=200)


@scenario("BatchMatrixSolveLs", tol=200)
@fresh_graph
def least_squares_by_the_old_name_of_the_op(side):
    out = {}
    with side.session() as session:
        for dtype in (np.float32, np.float64):
            found = session.run(old_op(
                "BatchMatrixSolveLs", 1, tall(2, 4, 3).astype(dtype),
                tall(2, 4, 2).astype(dtype), np.float64(0.5)))
            out[dtype.__name__] = found[0]
    return out
