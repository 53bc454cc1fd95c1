"""Cases of kernels/random/stochastic_cast.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, row

KEY, COUNTER = np.uint64([12345]), np.uint64([7, 9])
EDGES = [3e9, -3e9, np.nan, np.inf, -np.inf, 127, 127.5, 126.5, -128, -128.5, -127.5, 32767,
         32766.5, -32768, -32767.5, 0, -0.0, 0.5, -0.5, 1, -1, 2147483520]
HALVES = np.tile([0.5, -0.5, 2, 0.25, -3.75, 1e-3], 17)

row("StochasticCastToInt", [
    *(every(x(n), KEY, COUNTER, 1) for n in (0, 1, 3, 4, 7, 8, 9, 31, 32, 33, 100)),
    every(x(3, 7), KEY, COUNTER, 3), every(x(), KEY, COUNTER, 1),
    every(HALVES, KEY, COUNTER, 1), every([0.5] * 83, np.uint64([2 ** 64 - 1]), np.uint64(
        [2 ** 64 - 1, 2 ** 64 - 2]), 1),
    every(np.array(EDGES), KEY, COUNTER, 1), c(x(70000), KEY, COUNTER, 1),
    c(x(5), KEY, np.uint64([5]), 1), c(x(5), KEY, np.uint64([5, 6, 7]), 1),
    bad(x(5), KEY, COUNTER, 2), bad(x(5), KEY, COUNTER, 0), bad(x(0), KEY, COUNTER, 2),
    bad(x(5), KEY, COUNTER, 9), bad(x(5), KEY, COUNTER, [1]),
    bad(x(5), np.uint64([1, 2]), COUNTER, 1), bad(x(5), 1, COUNTER, 1),
    bad(x(5), KEY, [[3, 4]], 1), bad(x(5), KEY, 3, 1), bad(x(5), KEY, np.uint64([]), 1)],
    Data(-100, 100), tol=0)
