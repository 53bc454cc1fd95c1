"""Cases of kernels/quantized/uniform_quantize.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

EIGHT = {"quantization_min_val": -128, "quantization_max_val": 127}
NARROW = {"quantization_min_val": -7, "quantization_max_val": 5}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 0.5, 1.5, 2.5, -0.5, -1.5]
SCALES, ZEROS = [0.1, 1, 3, 0.02, 7], [0, -3, 5, 100, -128]
AXES = ((x(5), 0), (x(2, 5), 1), (x(2, 5, 3), 1), (x(5, 2, 2), 0))

BAD = [((0.1, [0]), {}), (([0.1], [0]), {}), ((SCALES, ZEROS), {}),
       ((SCALES[:2], ZEROS[:2]), {"quantization_axis": 1}),
       ((0.1, 0), {"quantization_axis": 1}),
       ((SCALES, ZEROS), {"quantization_axis": 2})]
FEW = [case for case in BAD if "quantization_axis" not in case[1] or
       case[1]["quantization_axis"] < 2]


def pairs(attrs):
    return [c(x(3, 5), 0.1, 0, **attrs), c(x(3, 5), 0.37, -3, **attrs),
            c(x(3, 5), 1e-9, 100, **attrs), c(x(), 0.5, 1, **attrs),
            c(x(0), 0.5, 1, **attrs)] + [
        c(shape, SCALES, ZEROS, quantization_axis=axis, **attrs)
        for shape, axis in AXES] + [
        once(x(300, 70), 0.1, 3, **attrs),
        c(x(3, 0), x(0), np.zeros([0]), quantization_axis=1, **attrs)]


row("UniformQuantize", pairs(EIGHT) + pairs(NARROW) + [
    c(SPECIAL, 0.5, 2, **EIGHT), c(SPECIAL, 1, 2 ** 31 - 1, **EIGHT)] + [
    bad(x(2, 5), *inputs, **attrs, **EIGHT) for inputs, attrs in FEW],
    Data(-9, 9), tol=0)
row("UniformDequantize", pairs(EIGHT) + [
    bad(x(2, 5), *inputs, **attrs, **EIGHT) for inputs, attrs in FEW] + [
    bad(x(3), 0, 0, **EIGHT), bad(x(3), -1, 0, **EIGHT),
    bad(x(3), np.nan, 0, **EIGHT)], Data(-128, 127, special=True), tol=0)

BOTH = {"input_quantization_min_val": -128, "input_quantization_max_val": 127,
        "output_quantization_min_val": -100, "output_quantization_max_val": 90}
row("UniformRequantize", [
    c(x(3, 5), a, 3, b, -5, **BOTH) for a in (0.1, 1.0, 37.0, 1e-12)
    for b in (0.1, 0.9, 1e-3, 1e12)] + [
    c(x(), 0.1, 0, 0.2, 0, **BOTH), c(x(0), 0.1, 0, 0.2, 0, **BOTH)] + [
    c(shape, SCALES, ZEROS, 0.7, 3, input_quantization_axis=axis, **BOTH)
    for shape, axis in AXES] + [
    c(shape, 0.7, 3, SCALES, ZEROS, output_quantization_axis=axis, **BOTH)
    for shape, axis in AXES] + [
    c(shape, SCALES, ZEROS, SCALES[::-1], ZEROS[::-1],
      input_quantization_axis=axis, output_quantization_axis=axis, **BOTH)
    for shape, axis in AXES] + [
    once(x(300, 70), 0.1, 3, 0.3, -4, **BOTH),
    bad(x(3), 0, 0, 1, 0, **BOTH), bad(x(3), 1, 0, -1, 0, **BOTH),
    bad(x(3), np.inf, 0, 1, 0, **BOTH),
    bad(x(3), 1, [0], 1, 0, **BOTH), bad(x(2, 5), SCALES, ZEROS, 1, 0, **BOTH),
    bad(x(2, 5), SCALES, ZEROS, SCALES, ZEROS, input_quantization_axis=1,
        output_quantization_axis=0, **BOTH)],
    # At the ends of an int32 TensorFlow's differences overflow.
    Data(-128, 127), tol=0)
row("UniformQuantizedClipByValue", [
    c(x(3, 5), -20, 30, 0.1, 0, **EIGHT), c(x(3, 5), 30, -20, 0.1, 0, **EIGHT),
    c(x(0), 0, 1, 0.1, 0, **EIGHT), once(x(300, 70), -20, 30, 0.1, 0, **EIGHT),
    ] + [
    c(shape, [-1, -20, 5, -100, 3], [1, 20, 9, -50, 3], SCALES, ZEROS,
      quantization_axis=axis, **EIGHT) for shape, axis in AXES] + [
    bad(x(3), [0], 1, 0.1, 0, **EIGHT), bad(x(3), 0, [1], 0.1, 0, **EIGHT),
    bad(x(3), 0, 1, 0.1, [0], **EIGHT)], Data(-128, 127), tol=0)
