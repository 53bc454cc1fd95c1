"""Cases of kernels/array/tile.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("Tile", [c(x(2, 3), [2, 2]), c(x(2, 3), [1, 3]), c(x(), []),
             c(x(2, 16), [3, 2]), c(x(2, 1), [1, 16]), c(x(2, 1), [3, 5]),
             c(x(2, 3, 4), [2, 1, 1]), c(x(2, 3, 6), [1, 2, 3]),
             c(x(2, 3, 2, 5), [3, 1, 2, 2]), c(x(70), [3]), c(x(2, 33), [2, 3]),
             c(x(3, 1, 1), [2, 4, 8]), c(x(1, 1, 10), [2, 3, 1]),
             bad(x(2, 16), [2]), bad(x(2, 16), [2, -1]),
             c(x(3), [0]), c(x(0), [3]), c(x(2, 1, 2), [1, 2, 1]),
             bad(x(2), [1, 1]), bad(x(2), [-1]), bad(x(2), [[1]]),
             bad(x(), [2]), bad(x(), 2), bad(x(2), 2),
             bad(x(4), [2 ** 31 - 1])], may_fail=True)
