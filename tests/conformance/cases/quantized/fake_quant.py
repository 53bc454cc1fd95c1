"""Cases of kernels/quantized/fake_quant.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 0.5, 5.9, -5.9]
BITS = [{}, {"num_bits": 4}, {"num_bits": 16, "narrow_range": True},
        {"num_bits": 2, "narrow_range": True}]
RANGES = [(-6, 6), (0, 1), (-0.3, 4.7), (2, 5), (-7, -3), (0, 0), (1, 1),
          (3, -3), (np.nan, 1), (-1, np.inf), (1e-40, 2e-40), (-128, 127)]
BAD_BITS = [{"num_bits": 1}, {"num_bits": 17}, {"num_bits": -3}]
LIMITS = [{"min": -6.0, "max": 6.0}, {"min": 0.0, "max": 1.0},
          {"min": 2.0, "max": 5.0}, {"min": -7.0, "max": -3.0},
          {"min": -0.3, "max": 4.7}]
BAD_LIMITS = [{"min": 1.0, "max": 0.0}, {"min": 1.5, "max": 1.5},
              {"min": float("nan"), "max": 1.0}]
LOWS, HIGHS = [-6, 0, -0.3, 0, 2], [6, 1, 4.7, 0, 5]

row("FakeQuantWithMinMaxArgs", [
    c(x(3, 5), **limits, **bits) for limits in LIMITS for bits in BITS] + [
    c(x()), c(x(0)), c(SPECIAL), once(x(300, 70))] + [
    bad(x(3), **attrs) for attrs in BAD_BITS + BAD_LIMITS], Data(-9, 9), tol=0)
row("FakeQuantWithMinMaxArgsGradient", [
    c(x(3, 5), x(3, 5), **limits, **bits) for limits in LIMITS
    for bits in BITS] + [
    c(x(), x()), c(x(0), x(0)), c(x(9), SPECIAL), c(SPECIAL, x(9)),
    once(x(300, 70), x(300, 70)), bad(x(3), x(2)), bad(x(3), x(3, 1))] + [
    bad(x(3), x(3), **attrs) for attrs in BAD_BITS + BAD_LIMITS],
    Data(-9, 9), tol=0)
row("FakeQuantWithMinMaxVars", [
    c(x(3, 5), *limits, **bits) for limits in RANGES for bits in BITS] + [
    c(x(), -1, 1), c(x(0), -1, 1), c(SPECIAL, -6, 6), c(SPECIAL, 0, 0),
    once(x(300, 70), -4, 5), bad(x(3), [1], 2), bad(x(3), 1, [[2]])] + [
    bad(x(3), 0, 1, **attrs) for attrs in BAD_BITS], Data(-9, 9), tol=0)
row("FakeQuantWithMinMaxVarsGradient", [
    c(x(3, 5), x(3, 5), *limits, **bits) for limits in RANGES
    for bits in BITS] + [
    c(x(), x(), -1, 1), c(x(0), x(0), -1, 1), c(x(9), SPECIAL, -6, 6),
    c(SPECIAL, x(9), -6, 6), c(SPECIAL, x(9), 0, 0),
    once(x(300, 70), x(300, 70), -4, 5), bad(x(3), x(2), 0, 1),
    bad(x(3), x(3), [1], 2), bad(x(3), x(3), 1, [2])] + [
    bad(x(3), x(3), 0, 1, **attrs) for attrs in BAD_BITS], Data(-9, 9))
row("FakeQuantWithMinMaxVarsPerChannel", [
    c(x(*dims, 5), LOWS, HIGHS, **bits) for dims in ((), (3,), (2, 1, 3))
    for bits in BITS] + [
    c(x(0, 5), LOWS, HIGHS), c(x(3, 0), x(0), x(0)),
    c([[s] for s in SPECIAL], [-6], [6]), c([[s] for s in SPECIAL], [0], [0]),
    once(x(300, 70), x(70), x(70)), bad(x(3, 5), LOWS, HIGHS[:4]),
    bad(x(3, 5), LOWS[:1], HIGHS), # With no channel, or limits that are no vectors, TensorFlow crashes.
    bad(x(3, 5), x(0), HIGHS)] + [
    bad(x(3, 5), LOWS, HIGHS, **attrs) for attrs in BAD_BITS],
    Data(-9, 9), tol=0)
row("FakeQuantWithMinMaxVarsPerChannelGradient", [
    c(x(*dims, 5), x(*dims, 5), LOWS, HIGHS, **bits)
    for dims in ((), (3,), (2, 3), (2, 1, 2)) for bits in BITS] + [
    c(x(0, 5), x(0, 5), LOWS, HIGHS), c(x(3, 0), x(3, 0), x(0), x(0)),
    c(x(9, 1), [[s] for s in SPECIAL], [-6], [6]),
    once(x(300, 70), x(300, 70), x(70), x(70)),
    bad(x(3, 5), x(3, 5), LOWS, HIGHS[:4]), bad(x(2, 5), x(3, 5), LOWS, HIGHS),
    bad(x(3, 5), x(3, 5), LOWS, x(0))] + [
    bad(x(3, 5), x(3, 5), LOWS, HIGHS, **attrs) for attrs in BAD_BITS],
    Data(-9, 9))
