"""Cases of kernels/text/summary_histogram.c."""
import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row



def around(values):
    """Those and their neighbours, of both signs."""
    values = np.concatenate([values, np.nextafter(values, np.inf),
                             np.nextafter(values, 0)])
    return np.concatenate([values, -values]).tolist()


# Each limit is the one before it times 1.1, rounded.
LIMITS = np.multiply.accumulate(np.array([1e-12] + [1.1] * 775))
LARGEST = np.finfo(np.float64).max

row("HistogramSummary", [
    c(b"h", x(30)), c(b"h", x()), c(b"h", x(2, 3)), c(b"h", x(0)),
    c(b"h", [0, 0, 1]), once(b"h", x(300, 70)),
    c(b"h", [1e-12, -1e-12, 1.1e-12, 1e20, 1e19, -1.7e308, 1e-300],
      dtypes=["float64"]),
    c(b"h", around(LIMITS[:1]), dtypes=["float64"]),
    c(b"h", around(LIMITS[1::31]), dtypes=["float64"]),
    c(b"h", around(LIMITS[-8:]), dtypes=["float64"]),
    c(b"h", around(np.ldexp(1.0, np.arange(-60, 90))), dtypes=["float64"]),
    # The largest one itself has no bucket, which TensorFlow ends by.
    c(b"h", [1.7e308, -LARGEST, 5e-324, -5e-324, 0.0, -0.0],
      dtypes=["float64"]),
    bad(b"h", [1, np.nan], dtypes=REALS), bad(b"h", [1, np.inf]),
    bad([b"h"], [1, 2]), bad([b"h", b"i"], [1, 2])])
