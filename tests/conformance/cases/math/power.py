"""Cases of kernels/math/power.c."""
from tests.conformance.cases.math.shared import PAIRS
from tests.conformance.inputs import Data
from tests.conformance.table import c, row

row("Pow", PAIRS + [
    c([2, 3, -2, 0], [3, 0, 2, 0], dtypes=("int32", "int64", "int16",
                                          "int8"))], Data(0, 4))
