"""Cases of kernels/linalg/matmul.c."""
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("MatMul", [
    c(x(2, 3), x(3, 4)), c(x(3, 2), x(3, 4), transpose_a=True),
    c(x(2, 3), x(4, 3), transpose_b=True), c(x(1, 1), x(1, 1)),
    c(x(3, 2), x(4, 3), transpose_a=True, transpose_b=True),
    c(x(0, 3), x(3, 2)), c(x(2, 0), x(0, 3)), c(x(2, 3), x(3, 0)),
    c(x(1, 7), x(7, 5)), c(x(5, 7), x(7, 1)), once(x(130, 70), x(70, 90)),
    bad(x(2, 3), x(2, 3)), bad(x(3), x(3)), bad(x(2, 2, 2), x(2, 2)),
    bad(x(2, 3), x(3, 2), transpose_a=True)], SMALL, tol=16)
