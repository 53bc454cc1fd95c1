"""Cases of kernels/math/divide.c."""
from tests.conformance.cases.math.shared import PAIRS
from tests.conformance.cases.shared import ANY, DIVISOR, REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("RealDiv", PAIRS, ANY)
row("FloorDiv FloorMod", PAIRS + [
    c(x(5), [0, 1, -1, 2, 3], dtypes=REALS),
    c([7, -7, 7, -7, 0], [3, 3, -3, -3, 5], dtypes=("int32", "int64", "int8",
                                                    "int16") + REALS),
    bad(x(3), [1, 0, 2], dtypes=["int32"])], DIVISOR)
row("Div Mod TruncateDiv TruncateMod", PAIRS + [
    c([7, -7, 7, -7, 0], [3, 3, -3, -3, 5], dtypes=("int32", "int64")),
    bad(x(3), [1, 0, 2], dtypes=["int32"])], DIVISOR)
row("DivNoNan", PAIRS + [c(x(4), [0, 1, 0, -2])])
