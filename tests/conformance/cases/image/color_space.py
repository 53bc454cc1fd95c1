"""Cases of kernels/image/color_space.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

EDGES = [[0, 0, 0], [1, 1, 1], [.5, .5, .5], [1, 0, 0], [0, 1, 0], [0, 0, 1],
         [1, 1, 0], [0, 1, 1], [1, 0, 1], [.2, .1, .2], [1, .5, .5]]
# About as many pixels as vectors and blocks have, and what is no colour.
LENGTHS = [x(1, pixels, 3) for pixels in (1, 7, 8, 9, 15, 16, 17, 127, 128, 129, 300)]
NO_COLORS = [[np.nan, 0, 1], [1, np.nan, 0], [0, 1, np.nan], [np.inf, 1, 0],
             [0, -np.inf, 1], [-1, -2, -3], [-0.0, 0, -0.0], [2, 300, 7],
             [1e-38, 2e-38, 0], [3e38, -3e38, 0]] * 3
NO_NANS = [pixel for pixel in NO_COLORS if not np.isnan(pixel).any()]
row("RGBToHSV HSVToRGB", [
    c(x(3)), c(x(0, 3)), c(x(2, 5, 7, 3)), c(x(1, 2, 3, 4, 5, 3)), c(EDGES),
    c(NO_NANS), *(c(image) for image in LENGTHS),
    once(x(2, 100, 90, 3)), bad(x(2)), bad(x(2, 4)), bad(0.5), bad(x(3, 0))],
    Data(0, 1))
