"""Cases of kernels/sparse/edit_distance.c."""
import numpy as np

from tests.conformance.cases.shared import NONE, NOWHERE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

H = [[0, 0], [0, 1], [1, 0]]
T = [[0, 0], [1, 0], [1, 1]]
S = [2, 2]
NO_RANK = np.zeros([1, 0])
LONG = [[i // 40, i % 40] for i in range(200)]
MORE = [[i // 33, i % 33] for i in range(165)]
HIGHER = [[0, 0, 0], [0, 1, 0], [2, 0, 1]]

row("EditDistance", [
    c(H, x(3), S, T, x(3), S), c(H, x(3), S, T, x(3), S, normalize=False),
    c(H, x(3), S, [[0, 0]], x(1), S), c(H, x(3), S, [[0, 0]], x(1), S, normalize=False),
    c([[0, 0]], x(1), [3, 2], [[1, 0]], x(1), [3, 2]),
    c([[0, 0]], x(1), [3, 2], [[1, 0]], x(1), [3, 2], normalize=False),
    c(H, x(3), S, [[0, 0], [1, 0], [2, 1]], x(3), [3, 5]), c(H[::-1], x(3), S, [[0, 0]], x(1), S),
    c(H, x(3), S, [[1, 0], [0, 0]], x(2), S), c([[0, 5]], x(1), S, [[0, 0]], x(1), S),
    c(NOWHERE, x(0), S, NOWHERE, x(0), S), c(HIGHER, x(3), [3, 2, 3], HIGHER, x(3), [3, 2, 3]),
    once(LONG, x(200), [5, 40], MORE, x(165), [5, 33]),
    once(LONG, x(200), [5, 40], MORE, x(165), [5, 33], normalize=False),
    bad(H, x(3), S, [[0, 0, 0]], x(1), [2, 2, 2]), bad([[0]], x(1), [2], [[0], [1]], x(2), [2]),
    bad(H, x(2), S, T, x(3), S), bad(H, x(1, 3), S, T, x(3), S), bad([1], x(1), S, T, x(3), S),
    bad(H, x(3), [S], T, x(3), S), bad(H, x(3), S, [1], x(1), S), bad(H, x(3), S, T, x(1, 3), S),
    bad(H, x(3), S, T, x(3), 2), bad([[5, 0]], x(1), S, T, x(3), S),
    bad(H, x(3), S, [[9, 0]], x(1), S), bad([[-1, 0]], x(1), S, T, x(3), S),
    bad([[1]], x(1), S, T, x(3), S), bad(H, x(3), S, [[0]], x(1), S),
    bad(H, x(3), [2, -2], T, x(3), S), bad(H, x(3), [2, 2 ** 62], T, x(3), S),
    bad(H, x(3), S, T, x(2), S), bad(NOWHERE, x(0), [0, 2], NOWHERE, x(0), [0, 2]),
    bad(NO_RANK, x(1), NONE, NO_RANK, x(1), NONE)], Data(0, 3))
