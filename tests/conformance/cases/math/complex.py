"""Cases of kernels/math/complex.c."""
import dataclasses

from tests.conformance.cases.math.shared import PAIRS
from tests.conformance.cases.shared import SHAPES
from tests.conformance.table import c, row

row("Complex", PAIRS[:-3])
PARTS = SHAPES + [c([1, -1, 0, 1j, -1j, -1 - 1j])]
row("Real Imag Angle", PARTS)
# The kernels' constraints do not say that both types have one precision.
row("ComplexAbs", [dataclasses.replace(case, types="every")
                   for case in PARTS], may_fail=True)
