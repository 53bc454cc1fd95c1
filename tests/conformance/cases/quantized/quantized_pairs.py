"""Cases of kernels/quantized/quantized_pairs.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

PAIRS = [(-6, 6, -1, 2), (0, 1, -3, 9), (2, 5, -7, -3), (-0.3, 4.7, 0, 1e-3),
         (0, 255, 0, 255), (-1e5, 1e5, -1e-5, 1e30)]
FIRST = PAIRS[0]

# A tensor of one column TensorFlow repeats as if it were one row: no case.
row("QuantizedAdd QuantizedMul", [
    c(x(3, 5), x(3, 5), *limits) for limits in PAIRS] + [
    c(x(3, 5), x(5), *limits) for limits in PAIRS] + [
    c(x(5), x(2, 3, 5), *FIRST), c(x(1, 1, 5), x(2, 3, 5), *FIRST),
    c(x(), x(3, 5), *FIRST), c(x(3, 5), x(1, 1), *FIRST), c(x(), x(), *FIRST),
    c(x(1), x(1, 1), *FIRST), c(x(0), x(0), *FIRST), c(x(1), x(0), *FIRST),
    once(x(300, 70), x(300, 70), *FIRST), once(x(300, 70), x(70), *FIRST),
    bad(x(0), x(3, 0), *FIRST), bad(x(3), x(4), *FIRST),
    bad(x(2, 1, 3), x(2, 4, 3), *FIRST), bad(x(2, 3), x(4, 2, 1), *FIRST),
    bad(x(3), x(3), 1, 1, 0, 1), bad(x(3), x(3), 0, 1, 2, 1),
    bad(x(3), x(3), np.nan, 1, 0, 1), bad(x(3), x(3), 0, 1, 0, np.nan),
    bad(x(3), x(3), [0], 1, 0, 1), bad(x(3), x(3), 0, [1, 2], 0, 1),
    bad(x(3), x(3), 0, 1, [[0]], 1), bad(x(3), x(3), 0, 1, 0, [])],
    Data(0, 255), tol=0)
