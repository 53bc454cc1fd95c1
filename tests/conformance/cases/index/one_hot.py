"""Cases of kernels/index/one_hot.c."""
import numpy as np

from tests.conformance.table import bad, c, row

row("OneHot", [c([0, 2, -1, 5], 3, 1, 0), c([[0, 1], [1, 3]], 2, 5, 6),
               c([0, 1], 3, 1, 0, axis=0), c([[0, 1]], 2, 1, 0, axis=1),
               c(1, 3, 1, 0), c(np.zeros([0]), 3, 1, 0), c([0], 0, 1, 0),
               c([[0, 15], [7, 99]], 16, 5, 6), c([3, 17, 40], 32, 1, 0),
               c(np.arange(32).reshape(2, 16) % 5, 4, 1, 0, axis=1),
               c(np.arange(24).reshape(1, 24) % 3, 3, 1, 0, axis=0),
               bad([0] * 16, 16, 1, 0, axis=2),
               bad([0], -1, 1, 0), bad([0], [2], 1, 0), bad([0], 2, [1], 0),
               bad([0], 2, 1, [0]), bad([0], 2, 1, 0, axis=2)])
