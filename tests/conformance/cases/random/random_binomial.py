"""Cases of kernels/random/random_binomial.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

SEED = [3, 5]
CASES = [
    every([4], SEED, [7, 20, 40, 90], [0.25, 0.5, 0.75, 0.875], **attrs)
    for attrs in ({"dtype": np.int32}, {"dtype": np.int64},
                  {"dtype": np.float32}, {"dtype": np.float64},
                  {"dtype": np.float16})] + [
    c([50, 2, 3], [7, -9], [[4], [200]], [0.125, 0.5, 0.625]),
    c([30], SEED, 60, 0.375), c([20], SEED, 60, 0.75), c([20], SEED, 3, 0.1),
    c([3], SEED, [0, -1, 5], 0.5), c([4], SEED, 5, [0, 1, -0.5, 1.5]),
    c([2], SEED, 5, [np.nan, 0.5], dtype=np.float32),
    c([0], SEED, 5, 0.5), c([2, 0], SEED, x(0), 0.5), c([], SEED, 9, 0.5),
    once([3000], SEED, 1000, 0.3), once([3000], SEED, 30, 0.2),
    once([100], SEED, 1e6, 0.001), once([100], SEED, 1e15, 0.3)]
row("StatelessRandomBinomial", CASES + [
    bad([4], [1], 5, 0.5), bad([4], 1, 5, 0.5), bad([4], [[1, 2]], 5, 0.5),
    bad([4], SEED, [1, 2], [0.5, 0.5, 0.5]), bad(4, SEED, 5, 0.5),
    bad([[4]], SEED, 5, 0.5), bad([-4], SEED, 5, 0.5),
    bad([4], SEED, [1, 2], 0.5), bad([], SEED, [1, 2], 0.5)],
    tol=0, dtypes=("float16", "float32", "float64"))
