"""Cases of kernels/image/crop_and_resize.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

NEAREST = {"method": "nearest"}
# Inside, out on two sides, turned round, all out, a point.
BOXES = [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [-0.5, -0.25, 1.5, 0.75],
         [0.9, 0.8, 0.2, 0.1], [2, 2, 3, 3], [0.5, 0.5, 0.5, 0.5]]
OF = [0, 1, 1, 0, 1, 0]
ONE = [[0, 0, 1, 1]]
NO_BOX = np.zeros([0, 4])
IMAGE = x(2, 5, 6, 3)

row("CropAndResize", [
    c(IMAGE, BOXES, OF, [4, 7]), c(IMAGE, BOXES, OF, [4, 7], **NEAREST),
    c(IMAGE, BOXES, OF, [1, 3], extrapolation_value=-7.5),
    c(IMAGE, BOXES, OF, [3, 1]), c(IMAGE, BOXES, OF, [1, 1], **NEAREST),
    c(x(1, 1, 1, 2), ONE, [0], [2, 2]), c(IMAGE, NO_BOX, [], [2, 2]),
    c(x(1, 2, 2, 0), ONE, [0], [2, 2]), c(x(0, 2, 2, 1), NO_BOX, [], [2, 2]),
    once(x(2, 61, 47, 3), BOXES, OF, [70, 30]),
    bad(x(2, 3), ONE, [0], [1, 1]), bad(IMAGE, ONE, [2], [2, 2]),
    bad(IMAGE, ONE, [-1], [2, 2]), bad(IMAGE, ONE, [0, 0], [2, 2]),
    bad(IMAGE, [[1, 2]], [0], [2, 2]), bad(IMAGE, [1, 2], [0], [2, 2]),
    bad(IMAGE, ONE, [0], [2]), bad(IMAGE, ONE, [0], [[2, 2]]),
    bad(IMAGE, ONE, [0], [0, 2]), bad(IMAGE, ONE, [0], [2, -1]),
    bad(x(1, 0, 2, 1), ONE, [0], [2, 2]), bad(IMAGE, ONE, [[0]], [2, 2]),
    bad(IMAGE, ONE, 0, [2, 2]), bad(IMAGE, [[np.nan, 0, 1, 1]], [0], [2, 2]),
    bad(IMAGE, [[0, 0, np.inf, 1]], [0], [2, 2])], tol=0)

GRADS = x(6, 4, 7, 3)
SIZE = [2, 5, 6, 3]
ONE_GRAD = x(1, 2, 2, 1)
row("CropAndResizeGradImage", [
    c(GRADS, BOXES, OF, SIZE), c(GRADS, BOXES, OF, SIZE, **NEAREST),
    c(x(6, 1, 1, 3), BOXES, OF, SIZE), c(x(0, 2, 2, 3), NO_BOX, [], SIZE),
    c(x(1, 2, 2, 0), ONE, [0], [1, 3, 3, 0]),
    # TensorFlow's threads lose what two boxes of an image add at once.
    once(x(2, 70, 30, 3), [[0.1, 0.2, 0.7, 0.9], [-0.5, 0, 1.5, 1]], [0, 1],
         [2, 61, 47, 3]),
    bad(x(1, 2), ONE, [0], [1, 3, 3, 1]), bad(ONE_GRAD, ONE, [1], [1, 3, 3, 1]),
    bad(ONE_GRAD, ONE, [-1], [1, 3, 3, 1]), bad(ONE_GRAD, ONE, [0], [1, 3, 3]),
    bad(ONE_GRAD, ONE, [0], [[1, 3, 3, 1]]),
    bad(ONE_GRAD, ONE, [0], [1, 3, 3, 2]), bad(ONE_GRAD, ONE, [0], [1, 0, 3, 1]),
    bad(ONE_GRAD, ONE, [0], [1, 3, -1, 1]),
    bad(ONE_GRAD, ONE, [0], [-1, 3, 3, 1]),
    bad(ONE_GRAD, ONE * 2, [0, 0], [1, 3, 3, 1]),
    bad(ONE_GRAD, ONE, [0, 0], [1, 3, 3, 1]),
    bad(x(1, 0, 2, 1), ONE, [0], [1, 3, 3, 1]),
    bad(ONE_GRAD, ONE, [0], [0, 3, 3, 1])], tol=0)

row("CropAndResizeGradBoxes", [
    c(GRADS, IMAGE, BOXES, OF), c(x(6, 1, 3, 3), IMAGE, BOXES, OF),
    c(x(6, 2, 1, 3), IMAGE, BOXES, OF), c(x(0, 2, 2, 3), IMAGE, NO_BOX, []),
    c(x(1, 2, 2, 0), x(1, 3, 3, 0), ONE, [0]),
    once(x(6, 70, 30, 3), x(2, 61, 47, 3), BOXES, OF),
    bad(x(1, 2), x(1, 3, 3, 1), ONE, [0]), bad(ONE_GRAD, x(1, 3), ONE, [0]),
    bad(ONE_GRAD, x(1, 3, 3, 2), ONE, [0]), bad(ONE_GRAD, x(1, 0, 3, 1), ONE, [0]),
    bad(ONE_GRAD, x(1, 3, 3, 1), ONE, [1]),
    bad(ONE_GRAD, x(1, 3, 3, 1), ONE * 2, [0, 0]),
    bad(ONE_GRAD, x(1, 3, 3, 1), ONE, [0, 0]),
    bad(x(1, 0, 2, 1), x(1, 3, 3, 1), ONE, [0]),
    bad(ONE_GRAD, x(0, 3, 3, 1), ONE, [0])])
