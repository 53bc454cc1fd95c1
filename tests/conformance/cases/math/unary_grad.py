"""Cases of kernels/math/unary_grad.c."""
from tests.conformance.cases.math.shared import TWICE
from tests.conformance.cases.shared import POSITIVE, UNIT
from tests.conformance.table import row

row("SigmoidGrad TanhGrad", TWICE, UNIT)
row("InvGrad ReciprocalGrad SqrtGrad RsqrtGrad", TWICE, POSITIVE)
