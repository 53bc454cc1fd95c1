"""Cases of kernels/index/unravel.c."""
import numpy as np

from tests.conformance.table import bad, c, once, row

row("UnravelIndex", [
    c([22, 41, 37], [7, 6]), c(1621, [6, 7, 8, 9]), bad(np.zeros([0]), [3, 4]),
    c([0, 11], [3, 4]), c([5], [6]), c(0, [1, 1, 1]),
    once(list(range(5000)), [10, 50, 10]), bad([12], [3, 4]), c([-1, -14], [3, 4]),
    bad([0], [3, 0]), bad([0], [3, -4]), bad([[0]], [3]), bad([0], 3),
    bad([0], [[3]]), bad([0], [2 ** 16, 2 ** 16], dtypes=("int32",))])
