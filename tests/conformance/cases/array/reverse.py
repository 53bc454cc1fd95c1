"""Cases of kernels/array/reverse.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

NO_AXES = np.zeros([0])

row("ReverseV2", [
    c(x(5), [0]), c(x(2, 3), [0]), c(x(2, 3), [1, 0]), c(x(2, 3), [-1]),
    c(x(2, 3), NO_AXES), c(x(), NO_AXES), c(x(), [0]), c(x(0, 3), [1]),
    c(x(3, 0), [0, 1]), c(x(1, 4), [0]), c(x(2, 3, 4), [0, 2]),
    c(x(2, 3, 4), [1]), c(x(2, 3, 4, 5), [3, 1]), c(x(3, 2, 17), [-1, 0]),
    c(x(1, 2, 1, 2, 1, 2, 1, 2), [1, 3, 7]), once(x(300, 70), [0, 1]),
    once(x(64, 3, 7), [1, -1]),
    bad(x(2, 3), [2]), bad(x(2, 3), [-3]), bad(x(2, 3), [0, 0]),
    bad(x(2, 3), [0, -2]), bad(x(2, 3), [[0]]), bad(x(2, 3), 0)], ANY)
row("Reverse", [
    c(x(5), [True]), c(x(2, 3), [True, False]), c(x(2, 3), [True, True]),
    c(x(2, 3), [False, False]), c(x(), np.zeros([0], bool)),
    c(x(2, 0, 3), [True] * 3), c(x(2, 3, 4), [False, True, True]),
    once(x(70, 30, 3), [True, False, True]),
    bad(x(2, 3), [True]), bad(x(2, 3), [True] * 3), bad(x(2, 3), True),
    bad(x(2, 3), [[True, False]])], ANY)
