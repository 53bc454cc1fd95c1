"""Cases of kernels/text/reduce_join.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

CUBE = np.array([["a", "bb", ""], ["d", "e" * 30, "f"]])
NONE = np.zeros([0])

row("ReduceJoin", [
    c(x(2, 3), [1]), c(x(2, 3), 0), c(CUBE, [0, 1]), c(CUBE, [1, 0]),
    c(CUBE, [-1], keep_dims=True, separator=", "), c(CUBE, NONE),
    c(CUBE, [1, 0], keep_dims=True), c("x", NONE),
    c(x(2, 0), 1), c(x(2, 0), 0), c(x(0, 2), 0, separator="."),
    c(x(2, 1, 3, 2), [3, -3, 0], separator="--"), c(x(300, 20), 0),
    c(x(300, 20), [1], separator="|"),
    bad(CUBE, [2]), bad(CUBE, [-3]), bad(CUBE, [0, 0]), bad(CUBE, [1, -1]),
    bad("x", 0), bad(x(0), [1])])
