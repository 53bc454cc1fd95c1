"""Cases of kernels/quantized/quantize_dequantize.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

GIVEN = {"range_given": True}
FORMS = [{}, {"signed_input": False}, {"num_bits": 4, "narrow_range": True},
         {"num_bits": 16}, {"num_bits": 40}, {"num_bits": 1}]
RANGES = [(-6, 6), (0, 1), (-3, 4), (-1e-3, 9), (2, 5), (-7, -3), (0, 0)]
HALVES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.49, 127.5, -128.5]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 0.5]
LOWS, HIGHS = [-6, 0, -0.3, -2, 2], [6, 1, 4.7, 0, 5]


def cases(*more, up=True, bits=True, axes=True):
    """V2's, with more inputs at the end; V3's first attributes differ.  axes:
    ranges by axis can be given."""
    modes = [{}, {"round_mode": "HALF_UP"}] if up else [{}]
    works = c if axes else bad
    forms = [f for f in FORMS if bits or "num_bits" not in f]
    return [
        c(x(3, 5), *limits, *more, **GIVEN, **form, **mode)
        for limits in RANGES for form in forms for mode in modes] + [
        c(x(3, 5), 0, 0, *more, range_given=False, **form, **mode)
        for form in forms for mode in modes] + [
        c(HALVES, -128, 127, *more, **GIVEN, **mode) for mode in modes] + [
        c(SPECIAL, -6, 6, *more, **GIVEN, **mode) for mode in modes] + [
        works(x(2, 5, 3), LOWS, HIGHS, *more, axis=1, **GIVEN),
        works(x(5, 2), LOWS, HIGHS, *more, axis=0, **GIVEN),
        works(x(2, 3, 5), LOWS, HIGHS, *more, axis=2, **GIVEN),
        c(x(2, 5, 3), x(5), x(5), *more, axis=1, range_given=False),
        c(x(3, 70), x(3), x(3), *more, axis=0, range_given=False),
        c(x(0), -1, 1, *more, **GIVEN),
        works(x(0, 5), LOWS, HIGHS, *more, axis=1, **GIVEN),
        once(x(300, 70), 0, 0, *more, range_given=False),
        once(x(300, 70), -4, 5, *more, **GIVEN),
        works(x(300, 70), x(70), x(70), *more, axis=1, **GIVEN),
        bad(x(3), 2, 1, *more, **GIVEN),
        bad(x(3), np.nan, 1, *more, **GIVEN)]


BAD_BITS = [bad(x(3), 0, 1, num_bits=bits) for bits in (0, -1, 62, 100)] + [
    bad(x(3), 0, 1, num_bits=63, signed_input=False)]

row("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4",
    cases(axes=False) + BAD_BITS, Data(-9, 9), tol=0)
row("QuantizeAndDequantizeV3", [
    case for bits in (8, 4, 16) for case in cases(bits, up=False, bits=False)
    ] + [
    bad(x(2, 5), LOWS, HIGHS[:4], 8, axis=1), bad(x(3), 0, 1, 0),
    bad(x(3), 0, 1, 62), bad(x(3), 0, 1, 63, signed_input=False),
    bad(x(3), 0, 1, [8]), bad(x(), 0, 1, 8)], Data(-9, 9), tol=0)
row("QuantizeAndDequantizeV4Grad", [
    c(x(3, 5), x(3, 5), *limits) for limits in RANGES] + [
    c(x(7), SPECIAL, -6, 6), c(SPECIAL, x(7), -6, 6), c(x(0), x(0), 0, 1),
    c(x(2, 5, 3), x(2, 5, 3), LOWS, HIGHS, axis=1),
    c(x(5, 2), x(5, 2), LOWS, HIGHS, axis=0),
    once(x(300, 70), x(300, 70), x(70), x(70), axis=1),
    bad(x(3), x(2), 0, 1), bad(x(2, 5), x(2, 5), LOWS, HIGHS[:3], axis=1),
    bad(x(2, 5), x(2, 5), LOWS[:3], HIGHS, axis=1)], Data(-9, 9), tol=0)
