"""Cases of kernels/math/activation.c."""
from tests.conformance.cases.math.shared import TWICE
from tests.conformance.cases.shared import REALS, SHAPES, SMALL
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, row

row("Elu Selu Softplus Softsign", SHAPES, Data(-9, 9, special=True), tol=2)
row("EluGrad SeluGrad SoftplusGrad SoftsignGrad", TWICE + [
    bad(x(2), x(3)), bad(x(2, 3), x(3, 2))], Data(-3, 3), tol=2)
row("Relu6", SHAPES, Data(-9, 9, special=True))
row("Relu6Grad", TWICE + [bad(x(2), x(3))], Data(-3, 9))
row("LeakyRelu", SHAPES + [c(x(9), alpha=1.5), c(x(9), alpha=-0.5)],
    SMALL, dtypes=REALS)
row("LeakyReluGrad", TWICE + [c(x(9), x(9), alpha=1.5), bad(x(2), x(3))],
    SMALL, dtypes=REALS)
