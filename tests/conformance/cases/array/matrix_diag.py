"""Cases of kernels/array/matrix_diag.c."""
import dataclasses

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import bad, c, once, row, scenario

DIAGONALS = [c(x(3)), c(x(2, 3)), c(x(0)), c(x(2, 0)), c(x(0, 3)), c(x(1)),
             once(x(70)), c(x(16)), c(x(2, 32)), bad(x())]
DIAGONAL_PARTS = [c(x(16, 16)), c(x(2, 20, 16)), c(x(16, 20)),
                  c(x(3, 3)), c(x(2, 3)), c(x(4, 2)), c(x(2, 3, 4)),
                  c(x(0, 3)), c(x(0, 2, 2)), bad(x(3)), bad(x())]
row("MatrixDiag", DIAGONALS + [c(x(2, 2, 2))], ANY)
row("MatrixDiagPart", DIAGONAL_PARTS, ANY)
row("MatrixSetDiag", [
    c(x(3, 3), x(3)), c(x(2, 3), x(2)), c(x(2, 4, 3), x(2, 3)),
    c(x(0, 3), x(0)), c(x(3, 0), x(0)), once(x(70, 60), x(60)),
    c(x(16, 16), x(16)), c(x(2, 5, 32), x(2, 5)), c(x(20, 16), x(16)),
    bad(x(16, 16), x(15)), bad(x(2, 3), x(3)), bad(x(3), x(3)),
    bad(x(2, 3, 3), x(3)),
    bad(x(3, 3), x())], ANY)
ALIGNS = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]


def with_aligns(version, cases):
    """V2 cases as they are; V3 ones with an alignment, once() with each."""
    for number, case in enumerate(cases):
        if version == "V2":
            yield case
        elif case.types == "once" and not case.bad:
            for align in ALIGNS:
                yield dataclasses.replace(case, attrs=dict(align=align))
        else:
            yield dataclasses.replace(case,
                                      attrs=dict(align=ALIGNS[number % 4]))


BANDS = [[-1, 1], [0, 1], [-2, 0], [1, 2], [-2, -1], 0, [0], 1, -2, [2, 2]]
WRONG_BANDS = [-3, 4, [2, 1], [0, 1, 2], [[0]], [], [-9, 9]]
DIAG_SIZES = [
    (0, -1, -1, x(3)), (1, -1, -1, x(3)), (-1, -1, -1, x(3)),
    (0, 4, -1, x(3)), (0, -1, 5, x(3)), (0, 3, 3, x(3)), ([0], 3, 4, x(3)),
    ([0, 0], -1, -1, x(3)), (5, -1, -1, x(3)), (1, 3, 5, x(3)),
    (1, 5, -1, x(3)), (-1, -1, 5, x(3)), (2, 3, 3, x(1)),
    (0, -1, -1, x(0)), (0, 0, -1, x(0)), (0, -1, -1, x(0, 3))] + [
    (band, *size, x(*dims)) for band, dims, size in [
        ([-1, 1], (3, 3), (-1, -1)), ([-1, 1], (3, 3), (3, 4)),
        ([0, 1], (2, 2, 3), (-1, -1)), ([-1, 1], (3, 2), (4, 2)),
        ([-2, 1], (4, 3), (4, -1)), ([1, 2], (2, 3), (-1, -1)),
        ([-2, -1], (2, 3), (-1, 3))]]
WRONG_SIZES = [
    (0, 2, 3, x(3)), (0, 4, 4, x(3)), ([-1, 1], -1, -1, x(2, 3)),
    ([1, -1], -1, -1, x(3, 3)), (0, -1, -1, x()), (0, 2, 2, x(0)),
    ([0, 1], -1, -1, x(3)), (0, -2, -1, x(3)), (3, 3, 3, x(1)),
    ([0, 1, 2], -1, -1, x(3)), ([], -1, -1, x(3)), ([[0]], -1, -1, x(3)),
    (0, [3], 3, x(3)), (0, 3, [3], x(3))]
for suffix in ("V2", "V3"):
    row("MatrixDiagPart" + suffix, list(with_aligns(suffix, [
        *(c(x(3, 4), band, 7) for band in BANDS[:4]),
        *(once(x(3, 4), band, 7) for band in BANDS),
        *(c(x(20, 32), band, 7)
          for band in [0, 4, [-5, 2], [-4, 3], [-19, 31]]),
        *(once(x(2, 4, 3), band, 7) for band in BANDS),
        c(x(0, 3), 0, 7), c(x(3, 0), 0, 7), c(x(0, 3), 1, 7),
        c(x(0, 2, 3), [0, 1], 7), once(x(70, 60), 3, 0),
        *(bad(x(3, 4), band, 7) for band in WRONG_BANDS),
        bad(x(3), 0, 7), bad(x(3, 3), 0, [7, 8]), bad(x(3, 3), 0, [])])),
        ANY)
    row("MatrixDiag" + suffix, list(with_aligns(suffix, [
        c(x(3, 3), [-1, 1], 3, 4, 7),
        c(x(3, 16), [-1, 1], 16, 16, 7), c(x(2, 1, 4), [4, 4], 4, 16, 7),
        c(x(4, 13), [-2, 1], 13, 16, 7),
        c(x(19, 4), [-3, 15], 4, 16, 7), bad(x(3, 17), [-1, 1], 16, 16, 7),
        *(once(values, band, rows, columns, 7)
          for band, rows, columns, values in DIAG_SIZES),
        *(bad(values, band, rows, columns, 7)
          for band, rows, columns, values in WRONG_SIZES),
        bad(x(3), 0, -1, -1, [7]), bad(x(3), 0, 2 ** 31 - 1, -1, [7])])), ANY)
    # Bands are in scenarios.py: TensorFlow's client wants to know them.
    row("MatrixSetDiag" + suffix, list(with_aligns(suffix, [
        *(c(x(3, 4), x(*dims), band) for band, dims in [
            (0, (3,)), (1, (3,)), (2, (2,)), (3, (1,)), ([0, 0], (3,))]),
        c(x(2, 3, 4), x(2, 3), 0), c(x(0, 3), x(0), 0), c(x(3, 0), x(0), 0),
        c(x(2, 16, 16), x(2, 16), 0), c(x(16, 32), x(16), 16),
        c(x(20, 16), x(15), -5), bad(x(16, 16), x(16), 1),
        c(x(0, 3, 3), x(0, 3), 0),
        *(bad(x(3, 4), x(*dims), band) for band, dims in [
            (2, (3,)), ([-1, 1], (3, 4)), (0, ()), (4, (1,)),
            ([0, 0], (1, 3)), ([0, 1], (3,)), ([1, 0], (3,)), ([], (3,)),
            ([[0]], (3,))]),
        bad(x(2, 3, 4), x(3), 0), bad(x(3), x(3), 0)])), ANY)


@scenario("MatrixSetDiagV2 MatrixSetDiagV3", tol=0)
@fresh_graph
def bands_are_set_in_every_alignment(side):
    raw, out = tf.raw_ops, {}
    rng = np.random.RandomState(4)
    with side.session() as session:
        for dims, band, rows in [
                ((3, 4), [-1, 1], 3), ((3, 4), [-2, 0], 3),
                ((3, 4), [1, 2], 3),
                ((2, 4, 3), [-1, 1], 3), ((2, 4, 3), [-3, -1], 3),
                ((2, 4, 3), [-3, 2], 3)]:
            x, d = rng.rand(*dims), rng.rand(*dims[:-2], band[1] - band[0] + 1,
                                             rows)
            key = "%s %s " % (dims, band)
            out[key] = attempt(session, raw.MatrixSetDiagV2(
                input=x, diagonal=d, k=band))
            for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT",
                          "RIGHT_RIGHT"):
                out[key + align] = attempt(session, raw.MatrixSetDiagV3(
                    input=x, diagonal=d, k=band, align=align))
    return out


@scenario("BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag")
@fresh_graph
def diagonals_by_their_old_names(side):
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    matrices = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    with side.session() as session:
        return {
            "diag": session.run(old_op("BatchMatrixDiag", 1, rows))[0],
            "part": session.run(old_op("BatchMatrixDiagPart", 1, matrices))[0],
            "set": session.run(old_op("BatchMatrixSetDiag", 1, matrices,
                                      -rows.astype(np.float64)))[0]}
