"""Reductions and running sums."""
import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

AXES = [
    c(x(2, 3, 4), [1]), c(x(2, 3, 4), [0]), c(x(2, 3, 4), [2]),
    c(x(2, 3, 4), [0, 1]), c(x(2, 3, 4), [0, 2]), c(x(2, 3, 4), [2, 1]),
    c(x(2, 3, 4), [0, 1, 2]), c(x(2, 3, 4), []), c(x(2, 3, 4), -1),
    c(x(2, 3, 4), [-2], keep_dims=True), c(x(2, 3, 4), [0, 2], keep_dims=True),
    c(x(), []), c(x(5), 0), c(x(3, 0), [0]), c(x(1, 1), [0, 1]),
    c(x(2, 3, 2, 3, 2), [1, 3]), c(x(2, 3, 2, 3, 2), [0, 2, 4]),
    once(x(300, 70), [0]), once(x(300, 70), [1]), once(x(300, 70), [0, 1]),
    bad(x(2, 3), [2]), bad(x(2, 3), [-3]), bad(x(2, 3), [0, 0])]
# Packs of 16 bytes and what is left of them, pieces of rows and of columns.
WIDE = [
    c(x(3, 16), [0]), c(x(3, 16), [1]), c(x(5, 37), [1]), c(x(2, 5, 16), [1]),
    c(x(3, 4, 16), [0, 2]), c(x(7, 1), [0]), once(x(9, 1025), [1]),
    once(x(1, 20003), [1]), once(x(40000), [0]), once(x(3, 9001), [1]),
    once(x(5000, 8), [0]), once(x(5000, 3), [0]), once(x(2, 1300, 4), [1]),
    once(x(2, 2100), [0]), once(x(3, 2, 9000), [0, 2])]
NOTHING = [c(x(0, 3), [0]), c(x(3, 0), [1]), c(x(0), [0], keep_dims=True)]

row("Sum", AXES + WIDE + NOTHING, tol=8)
row("Mean", AXES + WIDE + [c(x(0, 3), [0], dtypes=REALS),
                    c(x(0), [0], dtypes=REALS)], tol=8)
row("Prod", AXES[:-6] + AXES[-3:] + NOTHING, Data(-1.6, 1.6), tol=8)
row("Max Min", AXES + WIDE + NOTHING, Data(special=True))
row("All Any", AXES + WIDE + NOTHING)
row("ArgMax ArgMin", [
    c(x(2, 3, 4), 1), c(x(2, 3, 4), 0), c(x(2, 3, 4), -1), c(x(7), 0),
    c(x(3, 0), 0), c([[1, 1], [0, 1]], 1), once(x(300, 70), 1),
    c(x(3, 5, 16), 1), c(x(5, 32), 0), c(x(5, 32), 1), c([[1, 0] * 8] * 3, 1),
    c([[0] * 16, [1] * 16, [0] * 16], 0),
    *(c([[np.nan, 2] + [3] * 14, [1, np.nan] + [0] * 14], axis, dtypes=REALS)
      for axis in (0, 1)), c([np.nan] * 3, 0, dtypes=REALS),
    c([np.nan, -np.inf, np.inf, 1, 1], 0, dtypes=REALS),
    bad(x(2, 16), 2),
    bad(x(2, 3), 2), bad(x(2, 3), -3), bad(x(0, 3), 0), bad(x(2), [0, 1])],
    without=("Tidx", "int16"))

RUNNING = [c(x(2, 3, 4), axis, **flags) for axis in (0, 1, 2, -1)
           for flags in ({}, {"exclusive": True}, {"reverse": True})] + [
    c(x(5), 0, exclusive=True, reverse=True), c(x(0, 3), 0), c(x(3, 0), 0),
    c(x(3, 0), 1), once(x(300, 70), 0), once(x(300, 70), 1),
    once(x(40000), 0), bad(x(2), 1), bad(x(2), -2), bad(x(), 0),
    bad(x(2), [0]), bad(x(2, 16), 2)] + [
    # Lines of neighbours, and columns, that are packs or not; long sums are
    # such that a half has them.
    c(data, 1, **flags) for data in [
        x(2, 36), x(65, 3, 64), np.arange(3192).reshape(3, 1064) % 3 - 1,
        np.arange(2132).reshape(2, 1066) % 3 - 1]
    for flags in ({}, {"exclusive": True, "reverse": True})]
row("Cumsum", RUNNING + [
    once(x(64, 5, 70), 1, exclusive=True, reverse=True), once(x(3000), 0),
    once(x(3000), 0, reverse=True), once(x(3000), 0, exclusive=True),
    once(x(2, 3000), 1, exclusive=True, reverse=True)], tol=64)
row("Cumprod", RUNNING, Data(-1.1, 1.1), tol=64)
