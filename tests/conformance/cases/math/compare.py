"""Cases of kernels/math/compare.c."""
import numpy as np

from tests.conformance.cases.math.shared import PAIRS, TWICE, UNEVEN
from tests.conformance.cases.shared import ANY, SHAPES
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("LogicalNot", SHAPES)
row("LogicalAnd LogicalOr", [case for case in PAIRS if not case.dtypes])
row("LessEqual Greater GreaterEqual", PAIRS, ANY)
row("Less", PAIRS + UNEVEN, ANY)
row("Equal NotEqual", PAIRS[:-4] + [
    c(x(2, 3), x(2, 3), incompatible_shape_error=False),
    once(x(2), x(3), incompatible_shape_error=False), bad(x(2), x(3))],
    Data(-2, 2))
row("ApproximateEqual", TWICE + [
    c(x(5), x(5), tolerance=1.0),
    c([1, 1, 1, np.nan, np.inf, np.inf, -0.0],
      [1.5, 1.75, 0.5, np.nan, np.inf, -np.inf, 0], tolerance=0.5),
    c([0, 0, 0], [1e-5, 9.9999e-6, -1.0001e-5]), c(x(3), x(3), tolerance=-1.0),
    c(x(0), x(0)), c(x(1001), x(1001), tolerance=0.25),
    bad(x(2), x(3)), bad(x(2), x()), bad(x(2, 3), x(3)),
    bad(x(2), x(2), dtypes=["int32"])], Data(-2, 2))
