"""Cases of kernels/reduce/topk.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("TopKV2", [
    c(x(5), 3), c(x(4, 9), 4), c(x(4, 9), 9), c(x(4, 9), 0), c(x(4, 9), 1),
    c([1, 5, 3, 5, 5, 2], 3), c(x(2, 3, 4), 2), c(x(0, 4), 2), c(x(2, 0), 0),
    c(x(3, 200), 20), once(x(300, 70), 5), once(x(2, 20000), 300),
    once(x(2, 5000), 3000),
    c([[0, 0, 0, 0]], 3), c(x(7), 7, sorted=False), c(x(7), 1, sorted=False),
    bad(x(5), 6), bad(x(5), -1), bad(x(), 1), bad(x(5), [1]),
    bad(x(5), [1, 2])], Data(-100, 100))
