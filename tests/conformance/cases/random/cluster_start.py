"""Cases of kernels/random/cluster_start.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

GRID = np.random.RandomState(9).randint(-20, 20, (30, 3))
# Distances that are whole numbers, whose sums no order of terms changes.
row("KmeansPlusPlusInitialization", [
    c(2 * GRID, count, seed, tries)
    for count, tries in [(1, 0), (5, 0), (5, 2), (9, -1), (30, 1)]
    for seed in (0, 1, 2 ** 40 + 3, -5)] + [
    c([[1, 2]], 1, 7, 0), c([[1, 2]] * 4, 3, 7, 0), c([[0, 0]] * 3, 2, 7, 0),
    c(np.zeros([3, 0]), 2, 7, 0),
    once(2 * np.random.RandomState(1).randint(-50, 50, (900, 2)), 20, 3, 3),
    bad(x(3), 1, 0, 0), bad(x(3, 2), [1], 0, 0), bad(x(3, 2), 1, [0], 0),
    bad(x(3, 2), 1, 0, [0]), bad(x(0, 2), 1, 0, 0), bad(x(3, 2), 0, 0, 0),
    bad(x(3, 2), -1, 0, 0), bad(x(3, 2), 4, 0, 0)], tol=0)
row("KMC2ChainInitialization", [
    c(distances, seed) for seed in (0, 3, 2 ** 40 + 3, -1)
    for distances in ([2], [1, 3, 2, 9, 4], [0, 0, 0], [5, 0, 1e-3, 4],
                      np.abs(GRID[:, 0]) + 0.5)] + [
    c([1, np.nan, 2, np.inf, 3], 5), bad(x(0), 1), bad(x(2, 2), 1),
    bad(1, 1), bad(x(3), [1])], tol=0)
