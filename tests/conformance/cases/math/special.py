"""Cases of kernels/math/special.c."""
import numpy as np

from tests.conformance.cases.math.shared import PAIRS
from tests.conformance.cases.shared import POSITIVE, REALS, SHAPES
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

BEYOND = [-np.inf, np.inf, np.nan, 0, -0.0]
row("Lgamma", SHAPES + [c([0, -1, -0.5, 1, 2, 1000] + BEYOND)], tol=2)
row("Digamma", SHAPES + [c([-1, -2, -0.5, 1, 2, 1000] + BEYOND)],
    Data(0.1, 20), tol=2)
row("Atan2", PAIRS + [c([0, -0.0, 0, -0.0, 1, np.inf], [1, 1, -1, -1, 0, 2])])
row("Xlogy Xlog1py Xdivy MulNoNan", PAIRS + [
    c([0, 0, 0, 1], [0, -5, np.nan, 2], dtypes=REALS),
    c([0, np.inf, np.nan, 1], [0, 0, 0, 2], dtypes=REALS)], POSITIVE)
row("NextAfter", PAIRS + [c([0, 1, 1, np.inf, np.nan], [1, 2, 0, 0, 1])])
row("Igamma Igammac", PAIRS + [c(
    [0, 0, 1, 1, -1, 1, np.inf, 1, np.inf, np.nan, 1, 0.5, 10, 100, 1e-3, 2],
    [0, 1, 0, 1, 1, -1, 1, np.inf, np.inf, 1, np.nan, 2, 10, 150, 1e-5, 0]),
    c([5, 30, 1e-3], [5, 30, 1])],
    POSITIVE, tol=8)
row("RandomGammaGrad", PAIRS + [c(
    [0, 0, 1, 1, -1, 1, np.nan, 1, 0.5, 10, 100, 1e-3, 2, 30, 700],
    [0, 1, 0, 1, 1, -1, 1, np.nan, 2, 10, 150, 1e-5, 0, 3, 690])],
    POSITIVE, tol=8)
row("Zeta", PAIRS + [c(
    [1, 0.5, 2, 2, 2, 2, 3, 2.5, 2.5, 2, np.inf, 2, np.nan, 2, 3, 4],
    [1, 1, 0, -1, 1, -0.5, -0.5, -0.5, 0, 1e10, 2, np.inf, 1, np.nan, -2.5,
     -2.25])], Data(1.1, 9), tol=8)
row("Polygamma", [case for case in PAIRS[:12]] + [c(
    [0, 1, 2, 3, -1, 0.5, 1, 1, 1, np.nan, 2, 1, 0, 1, 2],
    [1, 1, 2, 0.5, 1, 1, 0, -1, -0.5, 1, np.nan, np.inf, 0, 1e10, -0.5]),
    c([[0], [1], [2], [5]], x(4, 9))] + PAIRS[-4:], POSITIVE, tol=8)
row("Betainc", [
    c(x(2, 13), x(2, 13), [[0.3] * 13, [0.7] * 13]), c(x(), x(4), 0.5),
    c(x(3), x(), [0.1, 0.5, 0.9]), c(x(), x(), 0.25), c(x(0), x(), 0.5),
    c([1, 2, 0, 1, -1, 1, 1, 1, 5, np.inf, 1, np.nan, 1, 1, 100, 0.5],
      [1, 3, 1, 0, 1, -1, 1, 1, 2, 1, np.inf, 1, np.nan, 1, 50, 0.5],
      [0.5, 0.3, 0.5, 0.5, 0.5, 0.5, -0.1, 1.1, 0, 0.5, 0.5, 0.5, 0.5,
       np.nan, 0.6, 1]), once(x(300, 70), x(300, 70), 0.4),
    bad([1], [1, 2], 0.5), bad([[1]], [1, 2], 0.5),
    bad([[1], [2]], [[1, 2]], 0.5)], POSITIVE, tol=8)
row("IgammaGradA", PAIRS + [c(
    [0, 0, 1, 1, -1, 1, 1, np.nan, 1, 0.5, 10, 100, 1e-3, 2, 30],
    [0, 1, 0, 1, 1, -1, np.inf, 1, np.nan, 2, 10, 150, 1e-5, 0, 3])],
    POSITIVE, tol=8)
