"""Cases of kernels/nn/softmax.c."""
import numpy as np

from tests.conformance.cases.nn.shared import LONG, MANY, UNEVEN
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row


def awkward(*dims):
    """Rows with infinities: some, of all elements, a positive one, and NaN."""
    rows = np.linspace(-3, 3, dims[1]) * np.ones(dims)
    rows[0, ::2] = rows[1] = -np.inf
    rows[2, 1] = np.inf
    rows[3, 1] = np.nan
    return rows


row("Softmax LogSoftmax", [
    c(x(2, 5)), c(x(5)), c(x(2, 3, 4)), c(x(0, 3)), c(x(3, 1)),
    *(c(x(*dims)) for dims in LONG + UNEVEN), c(awkward(5, 3)),
    c(awkward(5, 16)), c(awkward(5, 33)), c(awkward(5, 1001)),
    c(awkward(5, 4112)), c(x(3, 10)), c(awkward(5, 4114)),
    c(awkward(5, 4115)), once(x(300, 70)), *(once(x(*dims)) for dims in MANY),
    bad(x())], tol=4)
