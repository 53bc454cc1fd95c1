"""Cases of kernels/reduce/cumulative.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

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
row("CumulativeLogsumexp", RUNNING + [
    c([-np.inf, -np.inf, 1, np.inf, 2], 0), c([1, np.nan, 2], 0),
    c([-np.inf, 3, -np.inf], 0, exclusive=True),
    c([300, -300, 80, -90], 0, reverse=True)], tol=64)
