"""Cases of kernels/math/integrals.c."""
import numpy as np

from tests.conformance.cases.shared import SHAPES
from tests.conformance.inputs import Data
from tests.conformance.table import c, row

BEYOND = [-np.inf, -1000, -2, -0.0, 0, 1e-6, 0.25, 0.375, 1, 1.5, 1.625, 2, 7,
          9.5, np.inf, np.nan]
row("Dawsn FresnelCos FresnelSin", SHAPES + [c(BEYOND)], Data(-9, 9), tol=8)
row("Expint", SHAPES + [c(BEYOND + [39.5, 40.5, 80])], Data(0.1, 9), tol=8)
row("Spence", SHAPES + [c(BEYOND + [0.5, 3, 1000])], Data(0.1, 20), tol=8)
row("Erfinv", SHAPES + [c(BEYOND + [-1, 0.999, -0.875, 0.5])],
    Data(-0.99, 0.99), tol=8)
row("Ndtri", SHAPES + [c(BEYOND + [0.999, 0.5, 1e-10, 1e-30])],
    Data(0.01, 0.99), tol=8)
