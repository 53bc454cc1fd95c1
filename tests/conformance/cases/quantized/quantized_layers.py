"""Cases of kernels/quantized/quantized_layers.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

RANGES = [(-6, 6), (0, 1), (-0.3, 14.7), (2, 5), (-7, -3), (0, 0), (1, 1),
          (-1e5, 1e5)]
PAIRS = [(-6, 6, -1, 2), (0, 1, -3, 9), (2, 5, -7, -3), (-0.3, 4.7, 0, 1e-3)]

row("QuantizedRelu QuantizedRelu6", [
    c(x(3, 5), *limits) for limits in RANGES] + [
    c(x(), -1, 1), c(x(0), -1, 1), once(x(300, 70), -5, 5),
    bad(x(3), [0, 1], 1), bad(x(3), 0, [1, 2])],
    Data(-300, 300, special=True), tol=0)
row("QuantizedBiasAdd", [
    c(x(3, 5), x(5), *limits) for limits in PAIRS] + [
    c(x(2, 3, 5), x(5), *PAIRS[0]), c(x(0, 5), x(5), *PAIRS[0]),
    c(x(3, 5), x(5), 0, 0, 0, 0),
    once(x(300, 70), x(70), *PAIRS[0]),
    bad(x(2, 0), x(0), *PAIRS[0]),
    bad(x(5), x(5), *PAIRS[0]), bad(x(3, 5), x(1, 5), *PAIRS[0]),
    bad(x(3, 5), x(4), *PAIRS[0]), bad(x(3, 5), x(5), [0, 1], 1, 0, 1),
    bad(x(3, 5), x(5), 0, 1, 0, [1, 2])], Data(-300, 300, special=True), tol=0)
row("QuantizedMatMul", [
    c(x(3, 5), x(5, 4), *limits) for limits in PAIRS] + [
    c(x(5, 3), x(5, 4), *PAIRS[0], transpose_a=True),
    c(x(3, 5), x(4, 5), *PAIRS[0], transpose_b=True),
    c(x(5, 3), x(4, 5), *PAIRS[0], transpose_a=True, transpose_b=True),
    once(x(60, 300), x(300, 40), *PAIRS[0]),
    bad(x(3, 5), x(5, 4), 1, 1, 0, 1), bad(x(3, 5), x(5, 4), 0, 1, 2, 1),
    bad(x(3, 5), x(5, 4), np.nan, 1, 0, 1),
    bad(x(3, 5), x(4, 4), *PAIRS[0]), bad(x(5), x(5, 4), *PAIRS[0]),
    bad(x(3, 5), x(5), *PAIRS[0]), bad(x(3, 5), x(5, 4), [0, 1], 1, 0, 1)],
    Data(0, 255), tol=0)
