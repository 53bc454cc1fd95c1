"""Cases of kernels/ragged/ragged_range.c."""
import numpy as np

from tests.conformance.cases.shared import NONE
from tests.conformance.table import bad, c, every, once, row

row("RaggedRange", [
    c([0, 5], [3, 6], [1, 1]), every(0, [3, 6], 1), every(0, 4, 1), every([3], [0], [-1]),
    every([5], [0], [1]), c([0, 4], [4, 9], [2, 3]), c([-3, 3], 0, [1, -1]),
    c(NONE, NONE, NONE), c([0, 1], [0, 1], [1, 1]), c([0], [1], [0.3], dtypes=("float32", "float64")),
    c([0, 1], 2, [0.25, 0.1], dtypes=("float32", "float64")),
    c([2 ** 31 - 1], [-2 ** 31], [-2 ** 31], dtypes=("int32",)),
    c([-2 ** 31], [2 ** 31 - 1], [2 ** 30], dtypes=("int32",)),
    c([-2 ** 63], [2 ** 63 - 1], [2 ** 62], dtypes=("int64",)), once([0, 7], [90000, 8], [1, 1]),
    bad([0], [3], [0]), bad([0, 1], [3], [1]), bad([0, 1], [3, 4, 5], 1), bad([[0]], [3], 1),
    bad([0], [[3]], 1), bad([0], [3], [[1]]), bad([0.0], [np.nan], [1.0], dtypes=("float32",)),
    bad([np.nan], [1.0], [1.0], dtypes=("float32",)), bad([0.0], [1.0], [np.nan], dtypes=("float32",)),
    bad([0.0], [np.inf], [1.0], dtypes=("float32",)), bad([0.0], [1e30], [1.0], dtypes=("float32",)),
    bad([-2 ** 63], [2 ** 63 - 1], [1], dtypes=("int64",)),
    bad([0, 0], [2 ** 62, 2 ** 62], [1, 1], dtypes=("int64",))])
