"""Cases of kernels/nn/xent.c."""
import numpy as np

from tests.conformance.cases.nn.shared import LONG, MANY, UNEVEN
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("SoftmaxCrossEntropyWithLogits", [
    c(x(2, 5), x(2, 5)), c(x(2, 5), x(1, 5)), c(x(1, 5), x(2, 5)),
    *(c(x(*dims), x(*dims)) for dims in LONG + UNEVEN), c(x(3, 16), x(1, 16)),
    c(x(1, 4112), x(2, 4112)), c(x(2, 1), x(2, 8)), c(x(2, 4112), x(2, 1)),
    c(x(1, 4099), x(3, 4099)), c(x(3, 4099), x(1, 4099)),
    c(x(3, 4099), x(3, 1)), c(x(3, 1), x(3, 4099)), c(x(9, 33), x(1, 33)),
    c(x(1, 33), x(9, 33)), c(x(9, 1), x(9, 33)), c(x(9, 33), x(9, 1)),
    c(x(0, 3), x(0, 3)), c(x(3, 10), x(3, 10)), c(x(3, 10), x(1, 10)),
    c(x(0, 1001), x(1, 1001)), once(x(300, 70), x(300, 70)),
    *(once(x(*dims), x(*dims)) for dims in MANY), bad(x(2, 5), x(2, 4)),
    bad(x(3, 1001), x(3, 1000)), bad(x(3, 4099), x(2, 4099)),
    bad(x(5), x(5))], Data(0, 3), tol=8)
row("SparseSoftmaxCrossEntropyWithLogits", [
    c(x(3, 5), [0, 4, 2]), c(x(0, 5), np.zeros([0])), c(x(1, 1), [0]),
    c(x(3, 10), [0, 9, 2]),
    *(c(x(*dims), [1] * dims[0]) for dims in LONG),
    *(c(x(*dims), np.arange(dims[0]) * (dims[1] - 1) // (dims[0] - 1))
      for dims in UNEVEN),
    once(x(300, 70), list(range(70)) * 4 + [1] * 20),
    *(once(x(*dims), np.arange(dims[0]) % dims[1]) for dims in MANY),
    bad(x(2, 5), [0]), bad(x(3, 1001), [0, 1000]), bad(x(0, 4099), [4098]),
    bad(x(5), [0]), bad(x(2, 5), [[0], [1]]), bad(x(2, 0), [0, 0])],
    Data(0, 3), tol=8)
