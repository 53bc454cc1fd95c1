"""Cases of kernels/reduce/reduce.c."""
from tests.conformance.cases.shared import REALS, SHAPES
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("L2Loss", SHAPES[:-1] + [c(x(3, 16)), once(x(300, 70))], tol=8)
AXES = [
    c(x(2, 3, 4), [1]), c(x(2, 3, 4), [0]), c(x(2, 3, 4), [2]),
    c(x(2, 3, 4), [0, 1]), c(x(2, 3, 4), [0, 2]), c(x(2, 3, 4), [2, 1]),
    c(x(2, 3, 4), [0, 1, 2]), c(x(2, 3, 4), []), c(x(2, 3, 4), -1),
    c(x(2, 3, 4), [-2], keep_dims=True), c(x(2, 3, 4), [0, 2], keep_dims=True),
    c(x(), []), c(x(5), 0), c(x(3, 0), [0]), c(x(1, 1), [0, 1]),
    c(x(2, 3, 2, 3, 2), [1, 3]), c(x(2, 3, 2, 3, 2), [0, 2, 4]),
    once(x(300, 70), [0]), once(x(300, 70), [1]), once(x(300, 70), [0, 1]),
    bad(x(2, 3), [2]), bad(x(2, 3), [-3]), bad(x(2, 3), [0, 0])]
# Packs of 16 bytes and what is left of them, pieces of rows and of columns.
WIDE = [
    c(x(3, 16), [0]), c(x(3, 16), [1]), c(x(5, 37), [1]), c(x(2, 5, 16), [1]),
    c(x(3, 4, 16), [0, 2]), c(x(7, 1), [0]), once(x(9, 1025), [1]),
    once(x(1, 20003), [1]), once(x(40000), [0]), once(x(3, 9001), [1]),
    once(x(5000, 8), [0]), once(x(5000, 3), [0]), once(x(2, 1300, 4), [1]),
    once(x(2, 2100), [0]), once(x(3, 2, 9000), [0, 2])]
NOTHING = [c(x(0, 3), [0]), c(x(3, 0), [1]), c(x(0), [0], keep_dims=True)]
row("Sum", AXES + WIDE + NOTHING, tol=8)
row("Mean", AXES + WIDE + [c(x(0, 3), [0], dtypes=REALS),
                    c(x(0), [0], dtypes=REALS)], tol=8)
row("Prod", AXES[:-6] + AXES[-3:] + NOTHING, Data(-1.6, 1.6), tol=8)
row("Max Min", AXES + WIDE + NOTHING, Data(special=True))
row("All Any", AXES + WIDE + NOTHING)
row("EuclideanNorm", AXES + WIDE + NOTHING, Data(-3, 3), tol=8)
