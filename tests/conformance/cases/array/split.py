"""Cases of kernels/array/split.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("Split", [c(0, x(4, 3), num_split=2), c(1, x(2, 6), num_split=3),
              c(-1, x(2, 6), num_split=2), c(0, x(4), num_split=1),
              c(0, x(0, 2), num_split=2), bad(0, x(3), num_split=2),
              bad(1, x(4), num_split=2), bad([0, 1], x(4), num_split=2),
              bad([0], x(4), num_split=2),
              bad(0, x(), num_split=1)])
row("SplitV", [
    c(x(5, 2), [2, 3], 0, num_split=2), c(x(2, 6), [1, 2, 3], 1, num_split=3),
    c(x(2, 6), [1, -1, 3], -1, num_split=3), c(x(4), [4], 0, num_split=1),
    c(x(3), [0, 3], 0, num_split=2), bad(x(5), [2, 2], 0, num_split=2),
    bad(x(5), [-1, -1], 0, num_split=2), bad(x(5), [6, -1], 0, num_split=2),
    bad(x(5), [2, 3], 1, num_split=2), bad(x(5), [2, 3, 0], 0, num_split=2),
    bad(x(5), [-2, 7], 0, num_split=2), bad(x(5), [-1, -2], 0, num_split=2),
    bad(x(5), [4, 4], 0, num_split=2), bad(x(5), [4], 0, num_split=1),
    bad(x(5), [-1], 0, num_split=1), bad(x(5), [[2, 3]], 0, num_split=2),
    bad(x(5), [2, 3], [0, 0], num_split=2), bad(x(), [1, 1], 0, num_split=2)])
