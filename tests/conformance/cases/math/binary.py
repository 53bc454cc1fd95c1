"""Cases of kernels/math/binary.c."""
from tests.conformance.cases.math.shared import PAIRS, UNEVEN
from tests.conformance.cases.shared import ANY
from tests.conformance.table import row

row("Add AddV2 Mul Maximum Minimum", PAIRS, ANY)
row("Sub", PAIRS + UNEVEN, ANY)
row("SquaredDifference", PAIRS)
