"""Cases of kernels/math/check_numerics.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

NUMBERS = [c(x(2, 3), message="m"), c(x(), message=""), c(x(0), message="m"),
           once(x(300, 70), message="m"),
           c(x(3, 16), message="m"), c(x(37), message="m"),
           bad([1, np.nan], message="m"), bad([np.inf], message="m"),
           bad([1] * 18 + [np.nan] + [1] * 18, message="m"),
           bad([1] * 36 + [np.inf], message="m"),
           bad([np.nan, -np.inf], message="")]
row("CheckNumerics CheckNumericsV2", NUMBERS)
