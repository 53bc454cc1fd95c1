"""Cases of kernels/array/range.c."""
from tests.conformance.cases.shared import REALS
from tests.conformance.table import bad, c, row

row("Range", [c(0, 5, 1), c(3, 0, -1), c(0, 0, 1), c(1, 10, 3), c(5, 5, -1),
              c(0.25, 2, 0.5, dtypes=REALS), c(100, -100, -3), c(-5, 300, 7),
              c(0, 33, 1), c(-3.5, 40, 0.75, dtypes=REALS), bad(0, 5, 0),
              c(2, -90, -1.25, dtypes=REALS), c(0, 70000, 1, dtypes=("int32",)),
              bad(0, 5, -1),
              bad(7, 5, 1),
              bad(5, 0, 1), bad([0, 1], 5, 1), bad(0, [[5]], 1),
             bad(0, 5, [1, 1])])
