"""Sizes that every op of kernels/image/resize*.c is tried with."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once

ALIGN = {"align_corners": True}
HALF = {"half_pixel_centers": True}
BOTH = {**ALIGN, **HALF}
FINE = Data(0, 100)

# What every op that resizes answers: (image, sizes), attributes.
SIZES = [
    (x(1, 4, 5, 3), [8, 7]), (x(2, 5, 4, 1), [3, 9]), (x(1, 9, 7, 2), [2, 3]),
    (x(1, 3, 3, 4), [3, 3]), (x(1, 3, 5, 2), [3, 8]), (x(1, 1, 1, 3), [4, 5]),
    (x(1, 5, 6, 2), [1, 1]), (x(0, 2, 2, 3), [4, 4]), (x(1, 2, 3, 17), [5, 5])]
LARGE = [(x(2, 61, 47, 3), [100, 31]), (x(3, 40, 50, 5), [17, 90]),
         (x(2, 6, 300, 3), [9, 7]), (x(1, 2, 7, 3), [5, 1400])]
REFUSED = [
    (x(2, 3), [1, 1]), (x(1, 2, 2, 1), [1]), (x(1, 2, 2, 1), [[1, 1]]),
    (x(1, 2, 2, 1), [0, 1]), (x(1, 2, 2, 1), [2, -1]),
    (x(1, 0, 2, 1), [1, 1]), (x(1, 2, 2, 0), [1, 1]),
    (x(1, 2, 2, 1), [1, 1, 1])]


def sizes(*attrs):
    """All sizes with each of these, and what is refused."""
    return [c(*size, **attr) for attr in attrs for size in SIZES] + [
        once(*size, **attr) for attr in attrs for size in LARGE] + [
        bad(*size) for size in REFUSED]
