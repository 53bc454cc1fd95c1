"""Cases of kernels/math/relu.c."""
from tests.conformance.cases.math.shared import TWICE
from tests.conformance.cases.shared import ANY, SHAPES
from tests.conformance.table import row

row("Relu", SHAPES, ANY)
row("ReluGrad", TWICE, ANY)
