"""Cases of kernels/image/resize.c."""
import numpy as np

from tests.conformance.image_sizes import ALIGN, BOTH, FINE, HALF, sizes
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("ResizeBilinear ResizeBicubic", sizes({}, ALIGN, HALF) + [
    c([[[[np.inf], [1.0]], [[2.0], [np.nan]]]], [2, 2], dtypes=["float32"]),
    c([[[[-128, 127, -1], [5, -7, 90], [0, 1, -90], [127, -128, 3]]]], [2, 7],
      dtypes=["int8"]),
    bad(x(1, 2, 2, 1), [2, 2], **BOTH)], FINE, tol=0)
