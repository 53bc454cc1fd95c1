"""Cases of kernels/quantized/quantized_resize.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

SIZES = [(4, 3), (1, 1), (9, 2), (5, 7), (2, 20), (13, 13)]
WAYS = [{}, {"align_corners": True}, {"half_pixel_centers": True},
        {"align_corners": True, "half_pixel_centers": True}]

row("QuantizedResizeBilinear", [
    c(x(2, 5, 7, channels), list(size), 0, 100, **way) for size in SIZES
    for way in WAYS for channels in (1, 3, 2)] + [
    c(x(1, 1, 1, 4), [3, 2], 0, 1), once(x(2, 60, 50, 3), [97, 31], 0, 1),
    bad(x(1, 2, 2), [4, 3], 0, 1), bad(x(1, 2, 2, 1), [4], 0, 1),
    bad(x(1, 2, 2, 1), 4, 0, 1), bad(x(1, 2, 2, 1), [0, 3], 0, 1),
    bad(x(1, 2, 2, 1), [3, -1], 0, 1), bad(x(1, 2, 2, 1), [4, 3], [0], 1),
    bad(x(1, 2, 2, 1), [4, 3], 0, [0, 1]), bad(x(1, 0, 2, 1), [4, 3], 0, 1),
    bad(x(1, 2, 2, 0), [4, 3], 0, 1)], Data(-1000, 1000), tol=1)
