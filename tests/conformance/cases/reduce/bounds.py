"""Cases of kernels/reduce/bounds.c."""
import numpy as np

from tests.conformance.cases.shared import IDS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, once, row

SORTED = [[0, 3, 9, 9, 10], [1, 2, 3, 4, 5]]
row("LowerBound UpperBound", [
    every(SORTED, [[2, 4, 9], [0, 2, 6]]), c(SORTED, [[9], [5]]),
    c(np.zeros([2, 0]), x(2, 3)), c(SORTED, np.zeros([2, 0])),
    c(np.zeros([0, 3]), np.zeros([0, 2])), c([[1, 1, 1, 1]], [[0, 1, 2]]),
    once([list(range(5000))], [IDS]), bad([1, 2], [1]), bad([1, 2], [[1]]),
    bad([[1, 2]], [1]), bad([[1, 2]], [[1], [2]])])
row("NthElement", [
    c(x(2, 13), 0), c(x(2, 13), 12), c(x(2, 13), 5), c(x(2, 13), 3, reverse=True),
    c(x(7), 3), c(x(1), 0), c(x(2, 0, 3), 1), c([3, 3, 3, 1, 3, 3], 2),
    c(x(2, 3, 5), 2), c([5, 4, 3, 2, 1, 0], 2), once(x(3, 5000), 2500),
    once(x(300, 70), 9, reverse=True), once([IDS], 150), bad(x(3), 3),
    bad(x(3), -1), bad(x(), 0), bad(x(3), [1]), bad(x(2, 0), 0)], Data(-50, 50))
