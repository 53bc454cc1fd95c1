"""Cases of kernels/linalg/batch_matmul.c."""
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

MATRICES = [
    c(x(2, 3), x(3, 4)), c(x(2, 2, 3), x(2, 3, 4)),
    c(x(2, 3, 2), x(2, 3, 4), adj_x=True),
    c(x(2, 2, 3), x(2, 4, 3), adj_y=True),
    c(x(2, 1, 3, 2), x(2, 1, 4, 3), adj_x=True, adj_y=True),
    c(x(0, 2, 3), x(0, 3, 4)), c(x(2, 2, 0), x(2, 0, 3)),
    c(x(2, 0, 3), x(2, 3, 2)), c(x(1, 1, 1), x(1, 1, 1)),
    once(x(3, 130, 70), x(3, 70, 90)), once(x(40, 5, 7), x(40, 7, 3)),
    once(x(3, 70, 130), x(3, 90, 70), adj_x=True, adj_y=True),
    bad(x(2, 2, 3), x(2, 2, 3)), bad(x(3), x(3)), bad(x(3), x(3, 2)),
    bad(x(2, 2, 3), x(3, 3, 2)), bad(x(), x(2, 2)),
    bad(x(2, 2, 3), x(2, 3, 2), adj_x=True),
    bad(x(2, 2, 3), x(2, 3, 2), adj_y=True)]
BROADCAST = [
    c(x(2, 2, 3), x(3, 4)), c(x(2, 3), x(2, 3, 4)),
    c(x(2, 1, 2, 3), x(3, 3, 2)), c(x(1, 2, 3), x(3, 3, 2)),
    c(x(3, 3, 2), x(1, 3, 2), adj_x=True), c(x(2, 1, 2, 3), x(1, 3, 2, 3),
                                             adj_y=True),
    c(x(0, 2, 3), x(1, 3, 3)), c(x(2, 1, 2, 3), x(0, 3, 2)),
    once(x(30, 20, 30), x(30, 40)), once(x(100, 100), x(20, 100, 100)),
    bad(x(2, 1, 2, 3), x(3, 2, 3)), bad(x(2, 2, 2, 3), x(3, 3, 2)),
    bad(x(2, 3), x(0, 2, 2)), bad(x(3, 2), x(2))]
row("BatchMatMul", MATRICES + [
    bad(x(2, 2, 3), x(3, 2)), bad(x(1, 2, 3), x(3, 3, 2)),
    bad(x(0, 2, 3), x(1, 3, 3)), bad(x(1, 2, 3), x(2, 1, 3, 2))],
    SMALL, tol=16)
row("BatchMatMulV2", MATRICES + BROADCAST, SMALL, tol=16)
row("BatchMatMulV3", MATRICES + BROADCAST + [every(x(2, 2, 300), x(300, 3))],
    SMALL, tol=64)
