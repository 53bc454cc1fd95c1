"""Cases of kernels/math/trig.c."""
from tests.conformance.cases.shared import SHAPES, SMALL, UNIT
from tests.conformance.inputs import Data
from tests.conformance.table import c, row

COMPLEX = ("complex64", "complex128")
row("Tan Sinh Cosh Atan Expm1 Erfc", SHAPES + [
    c([1.57 + 0.001j, 0.3 + 80j, -2 - 30j], dtypes=COMPLEX)], SMALL)
row("Asin Acos Atanh", SHAPES, UNIT)
row("Asinh", SHAPES)
row("Acosh", SHAPES, Data(1, 20))
