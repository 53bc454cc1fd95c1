"""Cases of kernels/image/draw_boxes.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

BOXES = [[[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [-0.5, -0.25, 1.5, 0.75],
          [0.9, 0.8, 0.2, 0.1], [2, 2, 3, 3], [0.5, 0.5, 0.5, 0.5]],
         [[0.3, 0.1, 2, 0.4], [-1, 0.2, 0.4, 3], [0, 0, 0, 1], [0.2, 1, 1, 1],
          [-2, -2, -1, -1], [-0.01, -0.01, 0.6, 0.6]]]
MANY = np.random.RandomState(3).uniform(-0.2, 1.2, (1, 23, 4))
COLORS = [[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6], [1.5, -1, 0, 2]]
CASES = [(x(2, 9, 11, 3), BOXES), (x(2, 8, 5, 1), BOXES), (x(2, 7, 7, 4), BOXES),
         (x(1, 30, 20, 3), MANY), (x(0, 3, 3, 3), np.zeros([0, 2, 4])),
         (x(2, 1, 1, 3), BOXES), (x(2, 3, 3, 3), np.zeros([2, 0, 4])),
         (x(2, 0, 3, 3), BOXES),
         (x(1, 4, 4, 3), [[[np.nan, 0, 1, 1], [0, 0, np.inf, 1], [0, -1e30, 1, 1]]])]
BAD = [(x(3, 3, 3), BOXES), (x(2, 3, 3, 3), BOXES[0]), (x(1, 3, 3, 3), BOXES),
       (x(2, 3, 3, 2), BOXES), (x(2, 3, 3, 3), np.zeros([2, 1, 5]))]

row("DrawBoundingBoxes", [c(*case) for case in CASES] + [
    once(x(2, 100, 90, 3), BOXES)] + [bad(*case) for case in BAD], Data(0, 1), tol=0)
row("DrawBoundingBoxesV2", [c(*case, colors) for case in CASES
                            for colors in (COLORS, np.zeros([0, 4]))] + [
    c(x(2, 9, 11, 3), BOXES, [[1, 2, 3]]), c(x(2, 9, 11, 1), BOXES, [[5], [6]])] + [
    bad(*case, COLORS) for case in BAD] + [
    bad(x(2, 3, 3, 3), BOXES, [[1, 2]]), bad(x(2, 3, 3, 3), BOXES, [1, 2, 3])],
    Data(0, 1), tol=0)
