"""Cases of kernels/index/where.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("Where", [c([[0, 1, 2], [3, 0, 0]]), c([0, 0]), c([True, True]),
              once(np.arange(3000).reshape(60, 50) % 7 % 2),
              c(np.zeros([0, 3])), c(x(2, 3, 4)), c(x(37)), once(x(300, 70)),
              c(x(1)), c(x(63)), c(x(64)), c(x(65)), c(x(0)), c(x(130, 1)),
              c([-0.0, 0.0, float("nan"), float("-inf")],
                dtypes=["float32", "float64"]),
              once(np.arange(4097) % 3), once(np.ones(4096)),
              once(np.arange(9000).reshape(3000, 3) % 1000 == 999),
              once(np.arange(8192).reshape(2, 4, 8, 128) % 5),
              once(np.arange(9000).reshape(9, 1000, 1) % 2500 == 7),
              bad(1)], Data(-1, 1), may_fail=True)
