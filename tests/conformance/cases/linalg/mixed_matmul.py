"""Cases of kernels/linalg/mixed_matmul.c."""
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

row("SparseMatMul", [
    c(x(3, 4), x(4, 2)), every(x(4, 3), x(4, 2), transpose_a=True),
    c(x(3, 4), x(2, 4), transpose_b=True, b_is_sparse=True),
    c(x(4, 3), x(2, 4), transpose_a=True, transpose_b=True, a_is_sparse=True),
    c(x(0, 4), x(4, 2)), c(x(2, 0), x(0, 2)), c(x(2, 3), x(3, 0)),
    once(x(70, 130), x(130, 90), a_is_sparse=True),
    bad(x(2, 2), x(3, 3)), bad(x(2), x(3, 3)), bad(x(2, 2), x(2)),
    bad(x(2, 3), x(3, 2), transpose_a=True)], SMALL, tol=16)
