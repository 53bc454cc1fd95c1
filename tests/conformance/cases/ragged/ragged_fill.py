"""Cases of kernels/ragged/ragged_fill.c."""
from tests.conformance.cases.shared import ANY, NONE, SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("RaggedFillEmptyRows", [
    c([0, 0, 2], x(3), 4, x()), c([0, 1], x(2), 2, x()), c([2, 0, 0], x(3), 4, x()),
    c(NONE, x(0), 2, x()), c(NONE, x(0), 0, x()),
    once([i * 37 % 400 for i in range(300)], x(300), 400, x()),
    bad([0], x(1), 0, x()), bad([5], x(1), 2, x()), bad([-1], x(1), 2, x()),
    bad([[0]], x(1), 2, x()), bad([0], x(1, 1), 2, x()), bad([0, 1], x(1), 2, x()),
    bad([0], x(1), 2, x(1)), bad([0], x(1), [2], x()), bad([0], x(1), -2, x()),
    bad(NONE, x(0), -2, x())], ANY)
row("RaggedFillEmptyRowsGrad", [
    c([0, 2, 3], x(5)), c([1, 0], x(2)), c(NONE, x(3)), c(NONE, x(0)), c([2, 2], x(4)),
    bad([0, 5], [1, 2, 3, 4, 0]), bad([-1], [3, 0]), bad([[0]], x(2)), bad([0], x(2, 1))], SMALL)
