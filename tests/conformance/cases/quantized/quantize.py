"""Cases of kernels/quantized/quantize.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

MODES = [{"mode": "MIN_COMBINED"}, {"mode": "MIN_FIRST"}, {"mode": "SCALED"},
         {"mode": "SCALED", "narrow_range": True},
         {"mode": "SCALED", "round_mode": "HALF_TO_EVEN"}]
RANGES = [(-6, 6), (0, 1), (-0.3, 4.7), (2, 5), (-7, -3), (0, 0), (1, 1),
          (-1e-6, 1e-6), (-1e5, 1e5), (np.nan, 1), (-1, np.nan), (-128, 127)]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 0.5, 1.5, 2.5, -0.5,
           -1.5, 5.9, -5.9]
LOWS, HIGHS = [-6, 0, -0.3, -2, 2], [6, 1, 4.7, 0, 5]


row("QuantizeV2", [
    c(x(3, 5), *limits, **mode) for limits in RANGES for mode in MODES] + [
    c(SPECIAL, *limits, **mode) for limits in ((-6, 6), (-128, 127))
    for mode in MODES] + [
    c(x(3, 5), -6, 6, ensure_minimum_range=least, **mode)
    for least in (0.0, 5.0) for mode in MODES] + [
    c(shape, LOWS, HIGHS, axis=axis, **mode) for shape, axis in (
        (x(5), 0), (x(2, 5), 1), (x(2, 5, 3), 1), (x(5, 2, 2), 0))
    for mode in MODES if mode["mode"] != "MIN_FIRST"] + [
    c(x(1, 3), [-1], [2], axis=0, **mode) for mode in MODES] + [
    c(x(), 0, 1), c(x(0), 0, 1), c(x(0, 5), LOWS, HIGHS, axis=1),
    c(x(3, 0), x(0), x(0), axis=1)] + [
    once(x(300, 70), -4, 5, **mode) for mode in MODES] + [
    bad(x(3), 2, 1), bad(x(2, 5), HIGHS, LOWS, axis=1),
    bad(x(3), 0, 1, round_mode="HALF_TO_EVEN"),
    bad(x(3), 0, 1, mode="MIN_FIRST", round_mode="HALF_TO_EVEN"),
    bad(x(2, 5), LOWS, HIGHS, axis=1, mode="MIN_FIRST"),
    bad(x(2, 5), LOWS, HIGHS[:3], axis=1), bad(x(2, 5), LOWS[:3], HIGHS, axis=1),
    bad(x(3), [1, 2], 3), bad(x(3), 1, [2, 3]),
    bad(x(2), 1, 2, axis=1), bad(x(2), [1, 2], [2, 3], axis=1)], Data(-9, 9), tol=0)
