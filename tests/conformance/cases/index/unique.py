"""Cases of kernels/index/unique.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("Unique UniqueWithCounts", [
    c([3, 1, 3, 2, 1]), c(x(40)), c(np.zeros([0])), c([0, 0]),
    c([np.nan, 0.0, -0.0, np.nan, 1, np.inf] * 99, dtypes=["float32", "float64"]),
    c([i * i * 7919 - 2 ** 40 for i in range(-900, 1500)], dtypes=["int64"]),
    c([-5, 2000, -5, 7] * 50, dtypes=["int32", "int64"]),
    once(x(20000)), bad([[1, 2]]), bad(1)], Data(0, 9))
row("UniqueV2 UniqueWithCountsV2", [
    c([3, 1, 3, 2, 1], np.zeros([0])), c(x(30, 2), [0]), c(x(2, 30), [1]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [0]), c(x(2, 9, 2), [-2]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [1]), c(x(0, 3), [0]),
    c(x(3, 0), [0]), c([2, 2], [0]), bad(x(2, 2), np.zeros([0])),
    bad(x(2, 2), 0), bad(x(2, 2), [2]), bad(x(2, 2), [-3]),
    bad(x(2, 2), [0, 1]), bad(x(2, 2), [[0]]), bad(x(), [0]),
    bad(x(), np.zeros([0]))], Data(0, 2))
row("ListDiff", [
    c([1, 2, 3, 4, 2], [2, 4]), c(x(40), x(9)), c(x(5), np.zeros([0])),
    c([np.nan, 1, -0.0] * 99, [0, np.nan], dtypes=["float32"]),
    c(np.zeros([0]), x(3)), once(x(9000), x(6)), bad(x(2, 2), x(2)),
    bad(x(2), x(2, 2)), bad(1, x(2))], Data(0, 30))
