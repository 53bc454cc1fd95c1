"""Cases of kernels/random/random_shuffle.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("RandomShuffle", [
    c(x(7), seed=5, seed2=6), c(x(7, 3), seed=5, seed2=6), c(x(), seed=1),
    c(x(1, 4), seed=1), c(x(0), seed=1), c(x(3, 0), seed=1),
    c(x(2, 3, 2), seed=-5, seed2=2 ** 40), once(x(3001), seed=9),
    c(x(2), seed=3), c(x(64), seed=3), c(x(65), seed=3), c(x(66), seed=3),
    c(x(130, 2), seed=4), c(x(129, 1), seed=4),
    once(x(300, 70), seed=8)], tol=0, runs=3)
KEY, COUNTER = np.uint64([12345]), np.uint64([7, 9])
row("StatelessShuffle", [
    *(c(x(n), KEY, COUNTER, 1) for n in (0, 1, 2, 3, 7, 64, 65, 66)),
    c(x(7, 3), KEY, COUNTER, 3), c(x(), KEY, COUNTER, 1),
    c(x(1, 4), KEY, COUNTER, 1), c(x(3, 0), KEY, COUNTER, 1),
    c(x(2, 3, 2), np.uint64([2 ** 64 - 1]),
      np.uint64([2 ** 64 - 1, 2 ** 64 - 2]), 1),
    c(x(9), KEY, np.uint64([5, 6, 7]), 1), once(x(3001), KEY, COUNTER, 1),
    once(x(300, 70), KEY, COUNTER, 1),
    bad(x(5), KEY, COUNTER, 2), bad(x(5), KEY, COUNTER, 0),
    bad(x(5), KEY, COUNTER, 9), bad(x(5), KEY, COUNTER, [1]),
    bad(x(5), np.uint64([1, 2]), COUNTER, 1), bad(x(5), 1, COUNTER, 1),
    bad(x(5), KEY, [[3, 4]], 1), bad(x(5), KEY, 3, 1)], tol=0)
