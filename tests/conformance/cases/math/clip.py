"""Cases of kernels/math/clip.c."""
import numpy as np

from tests.conformance.cases.shared import ANY, REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("ClipByValue", [
    c(x(2, 13), 1, 2), c(x(), 1, 2), c(x(0, 3), 1, 2), c(x(5), 2, 1),
    c(x(2, 13), x(2, 13), 2), c(x(2, 13), 1, x(2, 13)),
    c(x(7), x(7), x(7)), c(x(0), x(0), x(0)), c(x(1, 1), [[1]], 2),
    c([np.nan, 1, 2, -5, 0.0, -0.0, np.inf, -np.inf], -0.0, 1.5, dtypes=REALS),
    c([np.nan, 1, -5], np.nan, 0.5, dtypes=REALS),
    c([np.nan, 1, -5], [-1, -1, -1], [np.nan] * 3, dtypes=REALS),
    c([0.0, -0.0, 1, -1], [0.0] * 4, [-0.0] * 4, dtypes=REALS),
    *(c(x(n), x(n), 3) for n in (1, 3, 15, 17, 31, 33, 65, 1001)),
    once(x(300, 70), 0.5, 1.5), once(x(300, 70), x(300, 70), x(300, 70)),
    bad(x(2), [1], 2), bad(x(2), 1, [2]), bad(x(), [1], 2),
    bad(x(0, 3), x(0), 2), bad(x(2, 3), x(3), x(3)), bad(x(2), [[1]], 2)], ANY)
