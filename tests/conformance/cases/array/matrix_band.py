"""Cases of kernels/array/matrix_band.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, once, row, scenario

row("MatrixBandPart", [
    *(c(x(3, 4), lower, upper) for lower, upper in [
        (0, 0), (1, 0), (-1, 0), (0, -1), (-1, -1), (2, 3), (3, 4), (3, 0),
        (0, 4), (-2, 1), (1, 1)]),
    c(x(2, 4, 3), 1, 1), c(x(0, 3), 0, 0), c(x(2, 0), 0, 0),
    *(c(x(20, 32), lower, upper) for lower, upper in [
        (0, 0), (-1, 0), (0, -1), (7, 9), (3, 2), (-1, 5), (20, 32)]),
    c(x(2, 3, 16), 1, 2), bad(x(16, 32), 17, 0), bad(x(16, 32), 0, 33),
    once(x(70, 60), 3, 9), bad(x(3, 4), 4, 0), bad(x(3, 4), 0, 5),
    bad(x(3), 0, 0), bad(x(3, 4), [1], 0), bad(x(3, 4), 0, [1, 1]),
    bad(x(0, 3), 1, 0)], ANY)
row("Diag", [c(x(3)), c(x(2, 3)), c(x(16)), c(x(2, 24)), c(x(0)),
             c(x(2, 1, 2)), once(x(70)), c(x(2, 0)), c(x(1, 1, 2, 1)),
             bad(x())], ANY)
row("DiagPart", [
    c(x(3, 3)), c(x(2, 3, 2, 3)), c(x(0, 0)), c(x(2, 1, 2, 2, 1, 2)),
    once(x(70, 70)), bad(x(3)), bad(x(2, 3)), bad(x(2, 3, 3, 2)),
    bad(x(2, 2, 2))], ANY)


@scenario("BatchMatrixBandPart")
@fresh_graph
def band_by_its_old_name(side):
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    with side.session() as session:
        return {"band": session.run(old_op(
            "BatchMatrixBandPart", 1, value, np.int64(1), np.int64(-1)))[0]}
