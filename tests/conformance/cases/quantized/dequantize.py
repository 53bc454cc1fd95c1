"""Cases of kernels/quantized/dequantize.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, once, row

MODES = [{"mode": "MIN_FIRST"}, {"mode": "SCALED"},
         {"mode": "SCALED", "narrow_range": True}]
RANGES = [(-6, 6), (0, 1), (-0.3, 4.7), (2, 5), (-7, -3), (0, 0), (1, 1),
          (3, -3), (np.nan, 1), (-1, np.inf)]
LOWS, HIGHS = [-6, 0, -0.3, -2, 2], [6, 1, 4.7, 0, 5]
AXES = ((x(5), 0), (x(2, 5), 1), (x(2, 5, 3), 1), (x(5, 2, 2), 0))

row("Dequantize", [
    every(x(3, 5), *limits) for limits in RANGES] + [
    c(x(3, 5), *limits, dtype="float32", **mode) for limits in RANGES
    for mode in MODES] + [
    every(x(30), -6, 6), every(x(2, 5), LOWS, HIGHS, axis=1)] + [
    c(shape, LOWS, HIGHS, axis=axis, dtype="float32", **mode)
    for shape, axis in AXES for mode in [{}] + MODES[1:]] + [
    c(x(1, 3), [-1], [2], axis=0, dtype="float32", **mode) for mode in MODES
    ] + [
    c(x(), 0, 1), c(x(0), 0, 1), c(x(0, 5), LOWS, HIGHS, axis=1),
    once(x(300, 70), -4, 5),
    bad(x(2, 5), LOWS, HIGHS[:3], axis=1), bad(x(2, 5), LOWS[:3], HIGHS, axis=1),
    bad(x(2, 5), LOWS, HIGHS, axis=1, mode="MIN_FIRST", dtype="float32"),
    bad(x(2), 0, 1, mode="SCALED", dtype="bfloat16")],
    Data(-300, 300, special=True), tol=0, known=True)
