"""Cases of kernels/quantized/quantized_norm.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

GIVEN = {"output_range_given": True, "given_y_min": -1.0, "given_y_max": 1.5}
BACKWARD = {**GIVEN, "given_y_max": -2.0}

row("QuantizedInstanceNorm", [
    c(x(2, 3, 4, 5), -1, 2), c(x(1, 7, 3, 16), 0, 255), c(x(3, 1, 1, 2), -1, 2),
    c(x(2, 3, 4, 5), -1, 2, **GIVEN), c(x(0, 2, 2, 1), -1, 2),
    c(x(1, 0, 2, 3), -1, 2), c(x(1, 2, 2, 3), -1, 2, variance_epsilon=0.5),
    c(x(1, 2, 2, 3), -1e-6, 1e-6, min_separation=0.25),
    c(np.full([1, 2, 2, 1], 7), -1, 2), once(x(2, 40, 50, 3), -1, 2),
    bad(x(1, 2, 2, 1), 2, 1), bad(x(1, 2, 2, 1), 1, 1),
    bad(x(1, 2, 2, 1), [1], 2), bad(x(1, 2, 2, 1), 1, []),
    bad(x(1, 2, 2, 1), np.nan, 1), bad(x(1, 2, 2, 1), 1, 2, **BACKWARD)],
    Data(0, 255), tol=1)


def norm(*shapes, ranges=((-1, 1), (-1, 1), (0, 1), (-1, 1), (-1, 1))):
    return [part for shape, limits in zip(shapes, ranges)
            for part in (shape, *limits)]


IMAGE, TWO = x(1, 2, 3, 2), x(2)
AFTER = {"variance_epsilon": 1e-3, "scale_after_normalization": True}
BEFORE = {"variance_epsilon": 1e-3, "scale_after_normalization": False}


def but(index, value):
    """The usual inputs but for one."""
    inputs = norm(IMAGE, TWO, TWO, TWO, TWO)
    inputs[index] = value
    return inputs


row("QuantizedBatchNormWithGlobalNormalization", [
    c(*norm(x(2, 3, 4, 5), x(5), x(5), x(5), x(5)), **way)
    for way in (AFTER, BEFORE)] + [
    c(*norm(IMAGE, TWO, TWO, TWO, TWO, ranges=(
        (-300, 700), (2, 9), (-1, 3), (-5, 5), (-90, 10))), **AFTER),
    c(*norm(x(0, 2, 3, 2), TWO, TWO, TWO, TWO), **AFTER),
    c(*but(1, [-1]), **AFTER), once(
        *norm(x(2, 40, 30, 3), x(3), x(3), x(3), x(3)), **AFTER)] + [
    bad(*but(index, value), **AFTER) for index, value in [
        (0, x(2, 3, 2)), (0, x(1, 2, 3, 4)), (3, x(1, 2)), (3, x(3)),
        (6, x(3)), (6, x()), (9, x(1)), (9, x(2, 1)), (12, x(3)), (12, x(2, 2)),
        (1, []), (2, [0, 1]), (4, []), (5, [1, 2]), (7, []), (8, []), (10, []),
        (11, [1, 2]), (13, []), (14, [[1], [2]])]] + [
    bad(*norm(x(1, 2, 3, 0), x(0), x(0), x(0), x(0)), **AFTER)],
    Data(0, 255), tol=0)
