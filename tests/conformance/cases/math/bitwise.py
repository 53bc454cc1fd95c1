"""Cases of kernels/math/bitwise.c."""
from tests.conformance.cases.math.shared import PAIRS
from tests.conformance.cases.shared import ANY, SHAPES
from tests.conformance.inputs import Data
from tests.conformance.table import c, row

row("BitwiseAnd BitwiseOr BitwiseXor", PAIRS, ANY)
row("Invert PopulationCount", SHAPES, ANY)
row("LeftShift RightShift", PAIRS + [
    c([1, 1, 1, 1, 64, 3], [0, 7, 8, 100, 1, 31]),
    c([1, -128, -1, -128, 64], [-1, -9, 8, 1, 7],
      dtypes=("int8", "int16", "int32", "int64"))], Data(-9, 9))
