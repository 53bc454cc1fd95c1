"""Cases of kernels/image/resize_area.c."""
from tests.conformance.image_sizes import ALIGN, FINE, sizes
from tests.conformance.table import row

row("ResizeArea", sizes({}, ALIGN), FINE, tol=0)
