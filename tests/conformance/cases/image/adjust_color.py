"""Cases of kernels/image/adjust_color.c."""
from tests.conformance.cases.image.color_space import EDGES
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

IMAGES = [x(4, 5, 3), x(2, 3, 4, 3), x(0, 2, 2, 3), x(2, 0, 3), x(2, 1, 1, 5, 3),
          [EDGES]]
BAD = [bad(x(2, 3), 0.5), bad(x(2, 2, 3), [0.5]), bad(x(3), 1.0)]
DEEP = [bad(x(2, 2, 4), 0.5), bad(x(2, 2, 1), 0.5)]

row("AdjustContrastv2", [c(image, by) for image in IMAGES + [x(5, 4, 1), x(3, 3, 4), x(1, 1, 2)]
                         for by in (0.0, 0.5, 1.0, 2.5, -1.0)] + [
    once(x(2, 100, 90, 3), 1.7)] + BAD, Data(0, 1))
row("AdjustHue", [c(image, by) for image in IMAGES
                  for by in (0.0, 0.1, 0.5, 1.0, -0.25, -1.0, 3.3)] + [
    once(x(2, 100, 90, 3), 0.3)] + BAD + DEEP, Data(0, 1))
row("AdjustSaturation", [c(image, by) for image in IMAGES
                         for by in (0.0, 0.5, 1.0, 2.5, -1.0)] + [
    once(x(2, 100, 90, 3), 1.7)] + BAD + DEEP, Data(0, 1))
