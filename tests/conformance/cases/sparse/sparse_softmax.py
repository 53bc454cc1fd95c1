"""Cases of kernels/sparse/sparse_softmax.c."""
from tests.conformance.cases.shared import BACK, NOWHERE, PLACES, SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

S = [3, 4]

row("SparseSoftmax", [
    c(PLACES, x(4), S), c(BACK, x(4), S), c(NOWHERE, x(0), S),
    c([[0, 0], [0, 0]], x(2), [1, 1]), c([[9, 0]], x(1), S), c([[-1, 0]], x(1), S),
    c([[0, 0, 1], [0, 1, 0], [0, 1, 1]], x(3), [1, 2, 2]),
    once([[i // 60, i % 60] for i in range(3000)], x(3000), [50, 60]),
    bad([1], x(4), S), bad(PLACES, x(4, 1), S), bad(PLACES, x(3), S),
    bad(PLACES, x(4), [S]), bad([[1]], x(1), S), bad(PLACES, x(4), [3, -4]),
    bad([[0], [1]], x(2), [4]), bad(PLACES, x(4), [2 ** 40, 2 ** 40])], SMALL)
