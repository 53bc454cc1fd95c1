"""Cases of kernels/quantized/requantize.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

RANGES = [(-6, 6), (0, 1), (-0.3, 4.7), (2, 5), (-7, -3), (0, 0), (1, 1),
          (-1e5, 1e5), (3, -3)]
NEW = [(-6, 6), (0, 1), (-0.3, 4.7), (0, 0), (-9, 0), (-1e-3, 1e5)]
FAR = [-2 ** 31, 2 ** 31 - 1, 0, 1, -1, 2 ** 30, -2 ** 30, 123456789, 2 ** 24]
LOWS, HIGHS = [-6, -1, -0.3, -2, -2], [6, 1, 4.7, 0, 5]
LARGE = Data(-2 ** 31 + 9, 2 ** 31 - 9)

row("Requantize", [
    c(FAR, *limits, *new) for limits in RANGES for new in NEW] + [
    c(x(3, 5), *limits, *new) for limits in RANGES for new in NEW] + [
    c(x(), -1, 1, 0, 1), c(x(0), -1, 1, 0, 1), once(x(300, 70), -5, 5, 0, 1),
    c(x(3), 0, 1, -2, -1), bad(x(3), 0, 1, 1, 2), bad(x(3), 0, 1, 0, -1),
    bad(x(3), 0, 1, np.nan, 1), bad(x(3), 0, 1, 0, np.nan),
    bad(x(3), [0, 1], 1, 0, 1), bad(x(3), 0, [1, 2], 0, 1),
    bad(x(3), 0, 1, [0, 0], 1), bad(x(3), 0, 1, 0, [1, 1])], LARGE, tol=0)
USED = [
    c(FAR, *limits) for limits in RANGES] + [
    c(x(3, 5), *limits) for limits in RANGES] + [
    c(x(), -1, 1), c(x(0), -1, 1), once(x(300, 70), -5, 5),
    c([0], -1, 1), c([5, 5], 0, 10)]
row("QuantizeDownAndShrinkRange", USED + [
    bad(x(3), [0, 1], 1), bad(x(3), 0, [1, 2])], LARGE, tol=0)
row("RequantizationRange", USED, LARGE, tol=0)
row("RequantizationRangePerChannel", [
    c(x(*dims, 5), LOWS, HIGHS, clip_value_max=most)
    for dims in ((1, 1, 1), (2, 3, 2)) for most in (1e30, 6.0, 0.5)] + [
    # The lowest number, and what is rounded to be it, has no absolute value.
    c([[[[v] for v in FAR[2:]]]], [-1], [2], clip_value_max=1e30),
    c([[[[1], [2 ** 30]]]], [-1], [2], clip_value_max=1e30),
    bad(x(3, 5), LOWS, HIGHS, clip_value_max=1.0),
    bad(x(1, 2, 3, 5), LOWS[:3], HIGHS, clip_value_max=1.0)], LARGE, tol=0)
row("RequantizePerChannel", [
    c(x(2, 3, 2, 5), LOWS, HIGHS, low, high)
    for low, high in ((-6, 6), (-1, 3), (-0.1, 0.1))] + [
    c([[[[v] for v in FAR]]], [-1], [2], -1, 2),
    bad(x(3, 5), LOWS, HIGHS, -1, 1),
    bad(x(2, 3, 2, 5), LOWS, HIGHS[:3], -1, 1),
    bad(x(2, 3, 2, 5), LOWS, HIGHS, [-1, 1], 1)], LARGE, tol=0)
