"""Cases of kernels/sparse/sparse_segment.c."""
from tests.conformance.cases.shared import IDS, NONE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

PICKED = ([0, 2, 2, 1, 3], [0, 0, 1, 3, 3])
row("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", [
    every(x(4), [0, 1], [0, 1]), c(x(4, 3), *PICKED), c(x(4, 2, 3), *PICKED),
    c(x(4, 3), NONE, NONE), c(x(4, 0), *PICKED), c(x(5), [4, 4, 4], [2, 2, 2]),
    c(x(4, 16), *PICKED), c(x(4, 3, 4), *PICKED), once(x(300, 72), IDS, sorted(IDS)),
    once(x(300, 70), IDS, sorted(IDS)), once(x(40, 9), IDS, [5] * 20 + [9] * 280),
    once(x(40), IDS, sorted(IDS)), bad(x(40, 7), IDS[:299] + [40], sorted(IDS)),
    bad(x(40, 7), [-1] + IDS[:299], sorted(IDS)),
    bad(x(40, 7), IDS, sorted(IDS)[:299] + [38]),
    bad(x(4, 3), [0, 4], [0, 1]), bad(x(4, 3), [0, -1], [0, 1]),
    bad(x(4, 3), [0, 1], [1, 0]), bad(x(4, 3), [0, 1], [0]),
    bad(x(4, 3), [[0, 1]], [[0, 1]]), bad(x(4, 3), [0, 1], [-1, 0]),
    bad(x(), [0], [0]), bad(x(0, 3), [0], [0])], tol=16)
FOUR = [[1, 2], [3, 4], [5, 6], [7, 8]]
row("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments "
    "SparseSegmentSqrtNWithNumSegments", [
        every(x(4), [0, 1], [0, 1], 2), c(x(4, 3), *PICKED, 6),
        c(x(4, 2, 3), *PICKED, 4), c(x(4, 3), NONE, NONE, 3),
        c(x(4, 3), NONE, NONE, 0), c(x(4, 0), *PICKED, 5),
        c(x(4, 24), *PICKED, 6), c(x(4, 12), *PICKED, 5),
        once(x(300, 70), IDS, sorted(IDS), 50),
        bad(FOUR, *PICKED, 3, gpu=c(FOUR, [0, 2, 2], [0, 0, 1], 3)),
        bad(FOUR, [0, 4], [0, 1], 3, gpu=c(FOUR, [0], [0], 3)),
        bad(x(4, 3), [0, 1], [1, 0], 3, cpu=True),
        bad(x(4, 3), [0, 1], [0], 3),
        bad(FOUR, [0, 1], [-1, 0], 3, gpu=c(FOUR, [1], [0], 3)),
        bad(x(4, 3), [0, 1], [0, 1], [3]), bad(x(4, 3), [0, 1], [0, 1], -3),
        bad(x(), [0], [0], 1)], tol=16)
SEGMENT_GRADIENTS = [
    every(x(2), [0, 1], [0, 1], 2), c(x(4, 3), *PICKED, 6),
    # Where nothing is picked, TensorFlow does not fill its output.
    c(x(4, 2, 3), *PICKED, 4), c(x(4, 3), NONE, NONE, 0),
    c(x(4, 0), *PICKED, 5), c(x(3, 2), [5, 0, 5], [0, 2, 2], 6),
    c(x(4, 16), *PICKED, 4), c(x(4, 12), *PICKED, 4),
    once(x(40, 70), [i * 11 % 97 for i in range(300)], sorted(IDS), 97),
    once(x(40, 7), [i * 11 % 97 for i in range(300)], sorted(IDS), 97),
    once(x(40), [i * 11 % 97 for i in range(300)], sorted(IDS), 99),
    # Rows that are many more than the picks, which are not in their order.
    c(x(4, 5), [900, 3, 900, 0], [0, 1, 2, 3], 1000),
    bad(x(4, 3), [0, 1], [0], 3), bad(x(4, 3), [0, 1], [0, 1], [3]),
    bad(x(), [0], [0], 1), bad(x(4, 3), [[0, 1]], [[0, 1]], 3)]
row("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad",
    SEGMENT_GRADIENTS + [
        bad(x(4, 3), *PICKED, 3, cpu=True),
        bad(FOUR, [0, -1], [0, 1], 3, gpu=c(FOUR, [0], [0], 3)),
        bad([[1, 2]], [0, 1], [0, 1], 3, gpu=c([[1, 2]], [0], [0], 3)),
        bad(FOUR, [0, 1], [-1, 0], 3, gpu=c(FOUR, [1], [0], 3))], tol=16)
row("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2",
    SEGMENT_GRADIENTS + [
        bad(x(4, 3), *PICKED, 3), bad(x(4, 3), [0, -1], [0, 1], 3),
        bad(x(1, 3), [0, 1], [0, 1], 3), bad(x(4, 3), [0, 1], [-1, 0], 3)],
    tol=16)
