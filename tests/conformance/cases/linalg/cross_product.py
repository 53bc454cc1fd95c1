"""Cases of kernels/linalg/cross_product.c."""
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("Cross", [
    c(x(2, 3), x(2, 3)), c(x(3), x(3)), c(x(2, 0, 3), x(2, 0, 3)),
    c(x(0, 3), x(0, 3)), c(x(2, 5, 3), x(2, 5, 3)), c([1, 0, 0], [0, 1, 0]),
    once(x(5000, 3), x(5000, 3)), bad(x(2, 3), x(3)), bad(x(), x()),
    bad(x(2, 2), x(2, 2)), bad(x(2, 4), x(2, 4)), bad(x(0), x(0))], SMALL)
