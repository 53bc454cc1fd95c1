"""Cases of kernels/linalg/factors.c."""
import numpy as np

from tests.conformance.cases.linalg.linalg import (
    EMPTY, NO_SQUARE, SINGULAR, positive_definite, regular)
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import bad, c, every, once, row, scenario

PERMUTED = [[0, 2, 1], [3, 1, 0], [1, 5, 4]]
row("Lu", [
    every(regular(3, 3)), every(regular(3, 3), output_idx_type=np.int64),
    c(PERMUTED), c(PERMUTED, output_idx_type=np.int64),
    c(regular(2, 3, 4, 4)), c([[-3]]), once(regular(70, 70)),
    once(x(40, 40)), bad(SINGULAR), bad([[0]]), bad([[np.nan, 0], [0, 1]]),
    bad([[[1, 0], [0, 1]], [[0, 0], [0, 0]]])] + EMPTY + NO_SQUARE, tol=32)


def factor(*dims):
    return np.linalg.cholesky(positive_definite(*dims))


row("CholeskyGrad", [
    c(factor(3, 3), x(3, 3)), c(factor(2, 3, 4, 4), x(2, 3, 4, 4)),
    c([[2]], [[3]]), c([[2, 99], [1, 3]], [[1, 99], [2, 4]]),
    once(factor(70, 70), x(70, 70)), c(x(0, 0), x(0, 0)),
    # Around whole vectors, and as many as are computed without LAPACK.
    *[once(factor(2, n, n), x(2, n, n)) for n in (7, 8, 9, 16, 31, 32, 33)],
    c(x(0, 2, 2), x(0, 2, 2)), c(x(2, 0, 0), x(2, 0, 0)),
    bad(x(2), x(2)), bad(x(2, 2), x(2)), bad(x(2, 3), x(2, 3)),
    bad(x(2, 2), x(3, 3)), bad(x(1, 2, 2), x(2, 2, 2)),
    bad(x(1, 2, 2), x(2, 2))], tol=64)


@scenario("BatchCholeskyGrad SelfAdjointEig BatchSelfAdjointEig", tol=64)
@fresh_graph
def factors_by_the_old_names_of_ops(side):
    out = {}
    with side.session() as session:
        for dtype in (np.float32, np.float64):
            square = positive_definite(2, 3, 3).astype(dtype)
            flow = regular(2, 3, 3).astype(dtype)
            found = session.run(old_op(
                "BatchCholeskyGrad", 1, factor(2, 3, 3).astype(dtype), flow))
            out["grad %s" % dtype.__name__] = found[0]
            for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
                for i, value in enumerate([
                        square[0] if op[0] == "S" else square,
                        np.zeros([0, 0], dtype), np.array([[-2]], dtype),
                        np.zeros([0, 2, 2], dtype)]):
                    found = attempt(session, old_op(op, 1, value))
                    out["%s %s %d" % (op, dtype.__name__, i)] = (
                        found if isinstance(found, str) else np.abs(found[0]))
    return out
