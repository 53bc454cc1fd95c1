"""Cases of kernels/text/summary_histogram.c."""
import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("HistogramSummary", [
    c(b"h", x(30)), c(b"h", x()), c(b"h", x(2, 3)), c(b"h", x(0)),
    c(b"h", [0, 0, 1]), once(b"h", x(300, 70)),
    c(b"h", [1e-12, -1e-12, 1.1e-12, 1e20, 1e19, -1.7e308, 1e-300],
      dtypes=["float64"]),
    bad(b"h", [1, np.nan], dtypes=REALS), bad(b"h", [1, np.inf]),
    bad([b"h"], [1, 2]), bad([b"h", b"i"], [1, 2])])
