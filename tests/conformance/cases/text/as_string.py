"""Cases of kernels/text/as_string.c."""
import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

STYLES = [dict(precision=2), dict(scientific=True), dict(shortest=True),
          dict(precision=3, shortest=True, width=3, fill="#"),
          dict(precision=0, fill=" "), dict(precision=12, scientific=True)]
WIDTHS = [dict(width=12, fill=fill) for fill in ("", " ", "0", "-", "+")] + [
    dict(fill="+"), dict(width=-2), dict(width=300), dict(precision=-2)]
NO_STYLE = ("int32", "int64", "bool", "uint8")
row("AsString", [c(x(3, 4)), c(x()), c(x(0, 2))] +
    [c(x(3, 4), **style) for style in WIDTHS] +
    [c(x(3, 4), dtypes=REALS + ("complex64", "complex128", "string"), **style)
     for style in STYLES] +
    [bad([1], dtypes=[dtype], **style) for dtype in NO_STYLE
     for style in STYLES[:3]] + [
        c([np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-30],
          dtypes=("float32", "float64")),
        c([2.0 ** -7, 3 * 2.0 ** -7, -5e-7, 5e-7, 0.9999995, 2.0 ** 43,
           2.0 ** 63, 1e-310], dtypes=["float64"]),
        c(np.arange(-3000, 3000) / 128, dtypes=["float32", "float64"]),
        c([np.nan, np.inf, 1], width=8, fill="0", dtypes=["float32"]),
        bad([1], scientific=True, shortest=True, dtypes=["float32"]),
        bad([1], fill="ab", dtypes=["float32"]),
        bad([1], fill="x", dtypes=["float32"])],
    tol=0)
