"""Cases of kernels/math/cast.c."""
from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import Data, x
from tests.conformance.table import c, every, once, row

row("Cast", [c(x(3, 4)), c(x()), c(x(0)), once(x(300, 70)),
             c([1.5, 2.5, -1.5], dtypes=REALS),
             every(x(3, 4), Truncate=True)], Data(0, 90), may_fail=True)
