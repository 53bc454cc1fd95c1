"""Cases of kernels/reduce/in_topk.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

WIDE = np.random.RandomState(3).standard_normal((8, 200)).astype("float32")
# What is not finite, in a block or behind the last one; and what is nearly so.
ODD = WIDE[:7].copy()
for row_, (place, value) in enumerate([
        (0, np.inf), (63, -np.inf), (64, np.nan), (127, np.inf), (199, np.nan),
        (192, 3.4e38), (65, -3.4e38)]):
    ODD[row_, place] = value

row("InTopKV2", [
    *(c(WIDE[:, :n], [0, n - 1, n // 2, 1, n, -1, n // 3, 0], best)
      for n in (1, 63, 64, 65, 127, 128, 129, 200) for best in (1, 5, n)),
    *(c(ODD, [1] * 7, best) for best in (1, 3, 70, 200)),
    c(ODD, [0, 63, 64, 127, 199, 192, 65], 200),
    c(WIDE.argsort().argsort().astype("float32"), [7] * 8, 100),
    c([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [2, 2, 0], 2), c(x(9, 6), [0] * 9, 3),
    c([[1, np.inf, 3], [3, 2, np.nan]], [2, 0], 1), c(x(2, 3), [-1, 3], 9),
    c(x(0, 3), np.zeros([0]), 1), c(x(2, 3), [0, 1], 0), c(x(2, 3), [0, 1], -1),
    bad(x(2, 3), [0], 1), bad(x(3), [0, 1, 1], 1), bad(x(2, 3), [[0, 1]], 1),
    bad(x(2, 3), [0, 1], [1])])
row("InTopK", [
    c(x(9, 6), [0, 1, 2] * 3, k=3), c(x(2, 3), [5, -5], k=1),
    bad(x(2, 3), [0], k=1), bad(x(3), [0], k=1)])
