"""Cases of kernels/math/unary.c."""
from tests.conformance.cases.shared import ANY, DIVISOR, REALS, SHAPES
from tests.conformance.table import c, row

ROUNDED = SHAPES + [c([0.5, 1.5, -0.5, -2.5], dtypes=REALS)]
row("Abs Ceil Conj Floor IsFinite IsInf IsNan Neg Rint Sign Square", ROUNDED,
    ANY)
# TensorFlow's answer for integers is 0, whatever they are.
row("Round", ROUNDED, ANY, dtypes=REALS)
row("Inv Reciprocal", SHAPES, DIVISOR)
