"""Cases of kernels/array/roll.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

NONE = np.zeros([0])

row("Roll", [
    every(x(5), 2, 0), c(x(5), -1, 0), c(x(5), [7], [0]), c(x(5), 0, 0),
    c(x(2, 3), [1, 1], [0, 1]), c(x(2, 3), [1, 1], [1, 1]), c(x(2, 3), 1, -1),
    c(x(3, 4), [-5, 9], [0, 1]), c(x(2, 3, 4), [1, 2, 3], [0, 1, 2]),
    c(x(2, 3, 4), [1], [1]), c(x(0, 3), 1, 1), c(x(3, 0), 1, 0),
    c(x(2, 3), NONE, NONE), c(x(1, 4), [3, 2], [0, 1]), c(x(4), 2 ** 31 - 1, 0),
    once(x(300, 70), [11, 13], [0, 1]), once(x(64, 3, 7), [-1, 2], [0, 2]),
    bad(x(), 1, 0), bad(x(3), [[1]], [[0]]), bad(x(3), [1, 2], [0]),
    bad(x(3), 1, 1), bad(x(3), 1, -2), bad(x(3), 1, [0])], ANY)
