"""Cases of kernels/image/color_space.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

EDGES = [[0, 0, 0], [1, 1, 1], [.5, .5, .5], [1, 0, 0], [0, 1, 0], [0, 0, 1],
         [1, 1, 0], [0, 1, 1], [1, 0, 1], [.2, .1, .2], [1, .5, .5]]
row("RGBToHSV HSVToRGB", [
    c(x(3)), c(x(0, 3)), c(x(2, 5, 7, 3)), c(x(1, 2, 3, 4, 5, 3)), c(EDGES),
    once(x(2, 100, 90, 3)), bad(x(2)), bad(x(2, 4)), bad(0.5), bad(x(3, 0))],
    Data(0, 1))
