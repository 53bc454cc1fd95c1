"""Cases of kernels/math/math.c."""
from tests.conformance.cases.shared import SHAPES
from tests.conformance.inputs import Data
from tests.conformance.table import row

# TensorFlow's answer for infinities of float64 is NaN.
row("Erf", SHAPES, Data(-9, 9))
row("Cos Exp Log Sin Sqrt Rsqrt Sigmoid Tanh", SHAPES,
    Data(-9, 9, special=True))
row("Log1p", SHAPES, Data(-0.9, 9, special=True))
