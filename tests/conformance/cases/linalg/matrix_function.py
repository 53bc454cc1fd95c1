"""Cases of kernels/linalg/matrix_function.c."""
import numpy as np

from tests.conformance.cases.linalg.linalg import (
    EMPTY, NO_SQUARE, positive_definite, regular)
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import c, once, row, scenario

TURNING = [[1, -3], [3, 1]]  # its values are no real numbers
TRIANGLE = [[4, 1, 2], [0, 9, 3], [0, 0, 1]]
GOOD = [c(positive_definite(3, 3)), c(regular(2, 3, 4, 4)), c(TURNING),
        c(TRIANGLE), c([[5]]), c([[1, 0], [0, 1]]), once(regular(20, 20))]
row("MatrixSquareRoot", GOOD + [
    c([[-1]]), c([[-1, 0], [0, 4]]), c([[0]]), c([[np.nan, 0], [0, 1]])] +
    EMPTY + NO_SQUARE, tol=64)
row("MatrixLogarithm", GOOD + [
    c([[1000, 1], [0, 1e-3]]), c([[-1]])] + EMPTY + NO_SQUARE, tol=200)


@scenario("MatrixExponential", tol=64)
@fresh_graph
def exponentials_of_matrices(side):
    out = {}
    values = {
        "small": 1e-3 * regular(3, 3), "batch": regular(2, 3, 4, 4),
        "large": 9 * regular(3, 3), "zero": np.zeros([2, 2]), "one": [[2]],
        "nothing": np.zeros([0, 0]), "none": np.zeros([0, 2, 2]),
        "turning": TURNING, "nilpotent": [[0, 1e6], [0, 0]],
        "nan": [[np.nan, 0], [0, 1]], "wide": regular(3, 3)[:2],
        "vector": [1, 2], "scalar": 3}
    with side.session() as session:
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            for name, value in values.items():
                try:
                    op = old_op("MatrixExponential", 1,
                                np.asarray(value).astype(dtype))
                except ValueError:
                    continue  # refused while building
                found = attempt(session, op)
                out["%s %s" % (name, dtype.__name__)] = (
                    found if isinstance(found, str) else found[0])
    return out
