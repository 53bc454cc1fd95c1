"""Cases of kernels/reduce/arg.c."""
import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("ArgMax ArgMin", [
    c(x(2, 3, 4), 1), c(x(2, 3, 4), 0), c(x(2, 3, 4), -1), c(x(7), 0),
    c(x(3, 0), 0), c([[1, 1], [0, 1]], 1), once(x(300, 70), 1),
    c(x(3, 5, 16), 1), c(x(5, 32), 0), c(x(5, 32), 1), c([[1, 0] * 8] * 3, 1),
    c([[0] * 16, [1] * 16, [0] * 16], 0),
    # Blocks of 64, of which the first that has the best counts.
    *(c([[0] * n + [5] + [1] * 70 + [5] * 9], 1) for n in (0, 62, 63, 64, 130)),
    c([[1] * 150, [0] * 150], 1),
    *(c([[np.nan, 2] + [3] * 14, [1, np.nan] + [0] * 14], axis, dtypes=REALS)
      for axis in (0, 1)), c([np.nan] * 3, 0, dtypes=REALS),
    c([np.nan, -np.inf, np.inf, 1, 1], 0, dtypes=REALS),
    bad(x(2, 16), 2),
    bad(x(2, 3), 2), bad(x(2, 3), -3), bad(x(0, 3), 0), bad(x(2), [0, 1])],
    without=("Tidx", "int16"))
