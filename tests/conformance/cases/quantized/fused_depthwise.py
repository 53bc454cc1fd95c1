"""Cases of kernels/quantized/fused_depthwise.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

LIMITS = (0.0, 2.0, -1.0, 1.5)
IMAGE, FILTER, BIAS = x(2, 5, 6, 3), x(2, 2, 3, 2), x(6)
BASE = {"strides": [1, 1, 1, 1], "padding": "VALID"}
EACH = (0.0, 2.0, [-1, -2, -3, -4, -5, -6], [1, 3, 3, 4.5, 5, 7])
RANGES = [(-1.0, 2.0, -1.0, 1.5), (0.0, 1e-3, -9.0, 1.0), EACH,
          (0.0, 2.0, [-1.0], [1.5]), (0.0, 0.0, -1.0, 1.0),
          ([0.0], [2.0], -1.0, 1.0), (np.nan, 1.0, -1.0, 1.0)]
OUTPUTS = [(0.0, 5.0), (-300.0, 20.0), (0.0, 0.0), ([0.0], [5.0])]
WINDOWS = [
    {}, {"padding": "SAME"}, {"strides": [1, 2, 2, 1]},
    {"strides": [1, 1, 2, 1]}, {"strides": [1, 2, 3, 1], "padding": "SAME"},
    {"dilations": [1, 2, 2, 1]}, {"dilations": [1, 1, 2, 1]},
    {"dilations": [1, 2, 3, 1], "padding": "SAME"},
    {"dilations": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}]
PADDED = {"padding_list": [0, 0, 1, 2, 3, 1, 0, 0]}
SPECIAL = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.0]


def depthwise(op, bias, ranges, windows=()):
    """bias: whether there is one; ranges: of the output, where it has one."""
    after = ranges[0]

    def given(image, taps, of_bias, limits=LIMITS, output=after):
        return image, taps, *([of_bias] if bias else []), *limits, *output

    row(op, [
        c(*given(IMAGE, FILTER, BIAS), **{**BASE, **window})
        for window in [*WINDOWS, *windows]] + [
        c(*given(IMAGE, FILTER, BIAS, limits), **BASE) for limits in RANGES] + [
        c(*given(IMAGE, FILTER, BIAS, output=output), **BASE)
        for output in ranges] + [
        c(*given(x(2, 5, 6, 3), x(2, 2, 3, 1), x(3)), **BASE),
        c(*given(x(1, 5, 6, 3), x(5, 6, 3, 2), BIAS), **BASE),
        c(*given(IMAGE, x(7, 2, 3, 2), BIAS), **{**BASE, "padding": "SAME"}),
        # TensorFlow's output without batches has the input's shape.
        c(*given(x(0, 5, 6, 3), x(1, 1, 3, 1), x(3)), **BASE),
        once(*given(x(2, 17, 19, 130), x(3, 3, 130, 2), x(260)), **BASE),
        once(*given(x(2, 17, 19, 300), x(3, 3, 300, 1), x(300)), **BASE)] + ([
            c(*given(IMAGE, FILTER, SPECIAL), **BASE, dtypes=["float32"]),
            c(*given(IMAGE, FILTER, x(1, 6)), **BASE)] if bias else []) + [
        bad(*given(image, taps, BIAS), **BASE) for image, taps in [
            (x(2, 5, 6, 4), FILTER), (IMAGE, x(7, 2, 3, 2)),
            (IMAGE, x(2, 8, 3, 2)), (x(2, 0, 6, 3), FILTER),
            (IMAGE, x(0, 2, 3, 2)), (IMAGE, x(2, 2, 3, 0)),
            (x(2, 5, 6, 0), x(2, 2, 0, 2))]] + [
        bad(*given(IMAGE, FILTER, BIAS), **{**BASE, **window}) for window in [
            {"strides": [2, 1, 1, 1]}, {"strides": [1, 1, 1, 2]},
            {"dilations": [2, 1, 1, 1]}, {"dilations": [1, 1, 1, 2]}]] + [
        bad(*given(IMAGE, FILTER, BIAS, limits), **BASE) for limits in [
            (0.0, 2.0, [-1.0], 1.5), (0.0, 2.0, [-1.0, 1.0], [1.0, 2, 3]),
            (0.0, 2.0, [], [])]] + [
        bad(*given(IMAGE, FILTER, of_bias), **BASE, words=False)
        for of_bias in [x(3), x(7), x(), x(0)] if bias] + [
        bad(*given(x(2, 5, 6, 6), FILTER, BIAS), **BASE, words=False)],
        Data(-300, 300), tol=0, onednn=True,
        constants=("filter", "bias", "min_filter", "max_filter"))


depthwise("QuantizedDepthwiseConv2D", False, [()])
depthwise("QuantizedDepthwiseConv2DWithBias", True, [()])
depthwise("QuantizedDepthwiseConv2DWithBiasAndRelu", True, [()],
          [PADDED, {**PADDED, "padding": "SAME"}])
depthwise("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", True, OUTPUTS,
          [PADDED])
