"""Cases of kernels/quantized/fused_matmul.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

LIMITS = (-1.0, 2.0, -1.0, 1.5)
SHAPE = (x(3, 7), x(7, 5), x(5))
SCALED = {"input_quant_mode": "SCALED"}
RANGES = [(0.0, 3.0, -2.0, 1.0), (-6.0, 6.0, -0.1, 0.3), (2.0, 5.0, -7.0, -3.0),
          (0.0, 1e-3, -1e5, 1.0), (1.0, 1.0, -1.0, 1.0), (0.0, 1.0, 0.0, 0.0),
          (2.0, 1.0, -1.0, 1.0), (np.nan, 1.0, -1.0, 1.0),
          (-1.0, np.inf, -1.0, 1.0)]
# A float bias has no scale in TensorFlow, and needs such ranges to be seen.
OUTPUTS = [(0.0, 900.0), (-30000.0, 20000.0), (0.0, 0.0), (0.0, np.nan),
           (-np.inf, 1.0)]
SPECIAL = [np.inf, -np.inf, np.nan, 1e30, -1e30]


def fused(op, ranges, drawn=Data(-300, 300)):
    """ranges: of the output, where the op has one."""
    some = ranges[:1]
    row(op, [
        c(*SHAPE, *LIMITS, *after, **mode) for after in ranges
        for mode in ({}, SCALED)] + [
        c(*SHAPE, *limits, *after, **mode) for limits in RANGES
        for after in some for mode in ({}, SCALED)] + [
        case for after in some for case in [
            c(x(3, 7), x(7, 7), x(7), *LIMITS, *after, transpose_b=True),
            c(x(7, 7), x(7, 5), x(5), *LIMITS, *after, transpose_a=True),
            c(x(1, 1), x(1, 1), x(1), *LIMITS, *after),
            c(x(0, 7), x(7, 5), x(5), *LIMITS, *after),
            c(x(3, 7), x(7, 5), SPECIAL, *LIMITS, *after, dtypes=["float32"]),
            once(x(33, 300), x(300, 270), x(270), *LIMITS, *after)]] + [
        bad(*shapes, *LIMITS, *after, words=False) for after in some
        for shapes in [
            (x(7, 3), x(7, 5), x(5)), (x(3, 6), x(7, 5), x(5)),
            (x(7), x(7, 5), x(5)), (x(2, 3, 7), x(7, 5), x(5)),
            (x(3, 7), x(7, 5), x(4)), (x(3, 7), x(7, 5), x(6)),
            (x(3, 7), x(7, 5), x()), (x(3, 7), x(7, 5), x(1, 5)),
            (x(3, 0), x(0, 5), x(5)), (x(3, 7), x(7, 0), x(0))]] + [
        bad(x(7, 3), x(7, 5), x(5), *LIMITS, *after, transpose_a=True,
            words=False) for after in some] + [
        bad(x(3, 7), x(5, 7), x(5), *LIMITS, *after, transpose_b=True,
            words=False) for after in some] + [
        bad(*SHAPE, *one_of([*LIMITS, *after], place)) for after in some
        for place in range(4 + len(after))], drawn, tol=0, onednn=True)


def one_of(limits, place):
    """One of them as a vector."""
    return [[value] if i == place else value for i, value in enumerate(limits)]


fused("QuantizedMatMulWithBias QuantizedMatMulWithBiasAndRelu", [()])
fused("QuantizedMatMulWithBiasAndRequantize "
      "QuantizedMatMulWithBiasAndReluAndRequantize "
      "QuantizedMatMulWithBiasAndDequantize", OUTPUTS)
