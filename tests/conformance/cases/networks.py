"""Products of matrices, biases, softmax, losses.

Convolutions, pools and batch norms are in ../images.py.
"""
import numpy as np

from tests.conformance.cases.shared import SHAPES, SMALL
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, once, row

row("MatMul", [
    c(x(2, 3), x(3, 4)), c(x(3, 2), x(3, 4), transpose_a=True),
    c(x(2, 3), x(4, 3), transpose_b=True), c(x(1, 1), x(1, 1)),
    c(x(3, 2), x(4, 3), transpose_a=True, transpose_b=True),
    c(x(0, 3), x(3, 2)), c(x(2, 0), x(0, 3)), c(x(2, 3), x(3, 0)),
    c(x(1, 7), x(7, 5)), c(x(5, 7), x(7, 1)), once(x(130, 70), x(70, 90)),
    bad(x(2, 3), x(2, 3)), bad(x(3), x(3)), bad(x(2, 2, 2), x(2, 2)),
    bad(x(2, 3), x(3, 2), transpose_a=True)], SMALL, tol=16)
MATRICES = [
    c(x(2, 3), x(3, 4)), c(x(2, 2, 3), x(2, 3, 4)),
    c(x(2, 3, 2), x(2, 3, 4), adj_x=True),
    c(x(2, 2, 3), x(2, 4, 3), adj_y=True),
    c(x(2, 1, 3, 2), x(2, 1, 4, 3), adj_x=True, adj_y=True),
    c(x(0, 2, 3), x(0, 3, 4)), c(x(2, 2, 0), x(2, 0, 3)),
    c(x(2, 0, 3), x(2, 3, 2)), c(x(1, 1, 1), x(1, 1, 1)),
    once(x(3, 130, 70), x(3, 70, 90)), once(x(40, 5, 7), x(40, 7, 3)),
    once(x(3, 70, 130), x(3, 90, 70), adj_x=True, adj_y=True),
    bad(x(2, 2, 3), x(2, 2, 3)), bad(x(3), x(3)), bad(x(3), x(3, 2)),
    bad(x(2, 2, 3), x(3, 3, 2)), bad(x(), x(2, 2)),
    bad(x(2, 2, 3), x(2, 3, 2), adj_x=True),
    bad(x(2, 2, 3), x(2, 3, 2), adj_y=True)]
BROADCAST = [
    c(x(2, 2, 3), x(3, 4)), c(x(2, 3), x(2, 3, 4)),
    c(x(2, 1, 2, 3), x(3, 3, 2)), c(x(1, 2, 3), x(3, 3, 2)),
    c(x(3, 3, 2), x(1, 3, 2), adj_x=True), c(x(2, 1, 2, 3), x(1, 3, 2, 3),
                                             adj_y=True),
    c(x(0, 2, 3), x(1, 3, 3)), c(x(2, 1, 2, 3), x(0, 3, 2)),
    once(x(30, 20, 30), x(30, 40)), once(x(100, 100), x(20, 100, 100)),
    bad(x(2, 1, 2, 3), x(3, 2, 3)), bad(x(2, 2, 2, 3), x(3, 3, 2)),
    bad(x(2, 3), x(0, 2, 2)), bad(x(3, 2), x(2))]
row("BatchMatMul", MATRICES + [
    bad(x(2, 2, 3), x(3, 2)), bad(x(1, 2, 3), x(3, 3, 2)),
    bad(x(0, 2, 3), x(1, 3, 3)), bad(x(1, 2, 3), x(2, 1, 3, 2))],
    SMALL, tol=16)
row("BatchMatMulV2", MATRICES + BROADCAST, SMALL, tol=16)
row("BatchMatMulV3", MATRICES + BROADCAST + [every(x(2, 2, 300), x(300, 3))],
    SMALL, tol=64)
row("BiasAdd", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                c(x(2, 3, 4, 5), x(3), data_format="NCHW"),
                c(x(2, 3, 4), x(3), data_format="NCHW"),
                c(x(3, 16), x(16)), c(x(2, 3, 2, 8), x(3), data_format="NCHW"),
                once(x(300, 70), x(70)), bad(x(2, 3), x(2)), bad(x(3), x(3)),
                bad(x(2, 3), x(3, 1)),
                bad(x(2, 3, 4), x(4), data_format="NCHW")])
row("BiasAddV1", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                  bad(x(2, 3), x(2)), bad(x(3), x(3)), bad(x(2, 3), x(3, 1))])
row("BiasAddGrad", [c(x(2, 3)), c(x(2, 3, 4)), c(x(0, 3)),
                    c(x(2, 3, 4, 5), data_format="NCHW"), once(x(300, 70)),
                    c(x(3, 16)), c(x(2, 3, 2, 8), data_format="NCHW"),
                    c(x(4, 1)), c(x(1, 3)), once(x(5000, 8)),
                    once(x(3, 2, 90, 60), data_format="NCHW"),
                    bad(x(3)), bad(x())], tol=32)
row("L2Loss", SHAPES[:-1] + [c(x(3, 16)), once(x(300, 70))], tol=8)
# Rows of what a warp keeps, a block, and longer; of whole packs and not.
LONG = [(3, 16), (9, 3), (2, 600), (3, 2064), (2, 4100), (1, 4101)]
# Rows that begin anywhere within 16 bytes; of more than a block has at once.
UNEVEN = [(5, 7), (9, 17), (17, 31), (9, 33), (3, 1000), (9, 1001), (9, 4099),
          (3, 20001)]
MANY = [(600, 1), (700, 3), (600, 5), (150, 33)]


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
