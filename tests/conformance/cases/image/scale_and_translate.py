"""Cases of kernels/image/scale_and_translate.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

CURVES = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle",
          "keyscubic", "mitchellcubic")
WAYS = [dict(kernel_type=curve, antialias=smooth) for curve in CURVES
        for smooth in (True, False)]
# Shapes, new sizes, scales, translations.
CALLS = [
    (x(2, 6, 7, 3), [9, 11], [1.5, 1.6], [0.0, 0.0]),
    (x(1, 12, 9, 1), [5, 4], [0.4, 0.45], [0.3, -0.2]),
    (x(1, 5, 5, 2), [5, 5], [1.0, 1.0], [2.0, -1.5]),
    (x(1, 4, 4, 4), [3, 6], [0.5, 2.0], [-30.0, 40.0]),  # none of the image
    (x(1, 1, 1, 1), [3, 3], [3.0, 3.0], [0.0, 0.0]),
    (x(1, 20, 3, 1), [2, 2], [0.01, 0.02], [0.0, 0.0]),
    (x(0, 3, 3, 1), [2, 2], [1.0, 1.0], [0.0, 0.0]),
    (x(1, 3, 2, 1), [40, 1], [200.0, 1e-3], [-7.0, 0.25])]
EDGES = [
    (x(1, 3, 3, 1), [2, 2], [1e-30, 1.0], [0.0, 0.0]),
    (x(1, 3, 3, 1), [2, 2], [1.0, np.inf], [0.0, 0.0]),
    (x(1, 3, 3, 1), [2, 2], [1.0, 1.0], [np.nan, np.inf]),
    ([[[[np.inf], [1], [2]], [[np.nan], [3], [4]], [[5], [6], [7]]]], [3, 3],
     [1.0, 1.0], [0.0, 0.5])]
GOOD = CALLS[0]


def wrong(call, at, value):
    return call[:at] + (value,) + call[at + 1:]


row("ScaleAndTranslate", [
    c(*CALLS[i]) for i in range(4)] + [
    c(*call, dtypes=["float32", "uint8"], **way) for call in CALLS for way in WAYS] + [
    c(*call, dtypes=["float32"], **way) for call in EDGES for way in WAYS] + [
    once(x(2, 61, 47, 3), [90, 30], [1.3, 0.7], [1.0, -2.0], **way) for way in WAYS] + [
    bad(*call, kernel_type="box") for call in (
        wrong(GOOD, 0, x(6, 7, 3)), wrong(GOOD, 0, x(1, 6, 7, 0)),
        wrong(GOOD, 0, x(1, 0, 7, 3)), wrong(GOOD, 1, 4), wrong(GOOD, 1, [4]),
        wrong(GOOD, 1, [0, 4]), wrong(GOOD, 1, [4, -1]), wrong(GOOD, 2, 1.0),
        wrong(GOOD, 2, [1.0]), wrong(GOOD, 2, [0.0, 1.0]), wrong(GOOD, 2, [1.0, -1.0]),
        wrong(GOOD, 2, [np.nan, 1.0]), wrong(GOOD, 3, 1.0), wrong(GOOD, 3, [1.0] * 3))] + [
    c(*GOOD, kernel_type="Box"), c(*GOOD, kernel_type="LANCZOS5")] + [
    bad(*GOOD, kernel_type=name) for name in ("", "lanczos2", "boxes", "lanczos")], Data(0, 100), tol=0)

# A gradient of this size, the image.
GRADS = [(x(shape.dims[0], *size, shape.dims[3]), shape, scale, move)
         for shape, size, scale, move in CALLS + EDGES[:3]] + [
    (x(2, 4, 5, 3), x(1, 3, 6, 1), [1.3, 0.8], [0.0, 0.0]),
    (x(1, 0, 5, 2), x(1, 3, 6, 2), [1.3, 0.8], [0.0, 0.0]),
    (x(1, 4, 5, 0), x(1, 3, 6, 2), [1.3, 0.8], [0.0, 0.0]),
    (x(1, 4, 5, 2), x(1, 0, 6, 2), [1.3, 0.8], [0.5, 0.0]),
    (x(1, 4, 5, 2), x(1, 3, 0, 2), [1.3, 0.8], [0.0, 3.0])]
GRAD = GRADS[0]
row("ScaleAndTranslateGrad", [c(*call, **way) for call in GRADS for way in WAYS] + [
    once(x(2, 90, 30, 3), x(2, 61, 47, 3), [1.3, 0.7], [1.0, -2.0], **way)
    for way in WAYS] + [bad(*call, kernel_type="box") for call in (
        wrong(GRAD, 0, x(6, 7, 3)), wrong(GRAD, 1, x(6, 7, 3)),
        wrong(GRAD, 2, 1.0), wrong(GRAD, 2, [1.0]), wrong(GRAD, 2, [0.0, 1.0]),
        wrong(GRAD, 2, [1.0, -1.0]), wrong(GRAD, 3, 1.0), wrong(GRAD, 3, [1.0] * 3))] + [
    bad(*GRAD, kernel_type="none")], Data(-2, 2), tol=0)
