"""Cases of kernels/math/bessel.c."""
import numpy as np

from tests.conformance.cases.shared import SHAPES
from tests.conformance.inputs import Data
from tests.conformance.table import c, row

# TensorFlow's floats are less exact far out.
EDGES = [-np.inf, -0.0, 0, 1e-5, 0.5, 1, 2, 2.0625, 7.75, 8, 8.25, 20.5, 30, 88,
         np.inf, np.nan]
row("BesselI0e BesselI1e BesselK0 BesselK1 BesselK0e BesselK1e",
    SHAPES + [c(EDGES + [-3])], Data(0.1, 30), tol=8)
row("BesselI0 BesselI1", SHAPES + [c(EDGES + [-3, -7.5])], Data(-9, 9), tol=8)
row("BesselJ0 BesselJ1 BesselY0",
    SHAPES + [c(EDGES + [-3])], Data(0.1, 30), tol=8)
# Of 0 TensorFlow's float says NaN.
row("BesselY1", SHAPES + [c([edge for edge in EDGES if edge])], Data(0.1, 30),
    tol=8)
