"""Cases of kernels/image/resize_area.c."""
from tests.conformance.image_sizes import ALIGN, FINE, sizes
from tests.conformance.inputs import x
from tests.conformance.table import c, row

# Three channels: rows and columns of few pixels and of many, whole and not.
THREE = [c(x(2, 37, 41, 3), size) for size in (
    [18, 20], [37, 41], [74, 90], [5, 3], [4, 41], [1, 2], [36, 1], [13, 14])]

row("ResizeArea", sizes({}, ALIGN) + THREE, FINE, tol=0)
