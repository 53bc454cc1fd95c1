"""Segments and partitions."""
import numpy as np

from tests.conformance.cases.shared import ANY, NONE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, once, row

IDS = [i * 7 % 40 for i in range(300)]
row("SegmentSum SegmentProd SegmentMin SegmentMax SegmentMean", [
    c(x(4), [0, 0, 1, 3]), c(x(5, 3), [0, 2, 2, 2, 3]), c(x(0), np.zeros([0])),
    c(x(2, 0), [0, 3]), c(x(4, 2, 3), [1, 1, 1, 1]), c(x(1, 2), [2]),
    c(x(5, 16), [0, 2, 2, 2, 3]), c(x(9, 40), [1] * 3 + [4] * 6),
    c(x(3, 2, 24), [0, 0, 5]), once(x(60, 1000), sorted(IDS[:60])),
    once(x(300, 70), sorted(IDS)), once(x(300, 72), sorted(IDS)),
    once(x(80000), sorted(IDS * 266 + [0] * 200)),
    bad(x(4), [1, 0, 1, 3]), bad(x(4), [-1, 0, 1, 3]), bad(x(4), [0, 0, 1]),
    bad(x(3, 16), [1, 0, 1]), bad(x(3, 16), [0, 1]),
    bad(x(4), 1), bad(x(), [1]), bad(x(4), [[0, 1], [1, 2]]),
    bad(x(0), [0])], Data(-1.5, 1.5), tol=64)
row("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMin "
    "UnsortedSegmentMax", [
        c(x(4), [0, 1, 0, 2], 3), c(x(5, 3), [0, 2, -1, 2, 0], 4),
        c(x(0), np.zeros([0]), 2), c(x(2, 4), [[0, 1, 1, 0]] * 2, 2),
        c(x(2, 4), 1, 2), c(x(2, 0), [0, 1], 2), c(x(3), [-1, -5, -1], 0),
        c(x(4, 2, 3), [1, 1, 0, 1], 2), once(x(300, 70), IDS, 40),
        once(x(80000), (IDS * 267)[:80000], 41),
        bad(x(4), [0, 1, 0, 3], 3, gpu=c(x(4), [0, 1, 0, -1], 3)),
        bad(x(4), [0, 1, 0], 3),
        bad(x(4), [0, 1, 0, 1], -3), bad(x(4), [0, 1, 0, 1], [3, 4]),
        bad(x(4), [0, 1, 0, 1], [3]),
        bad(x(2, 4), [[0, 1, 7, 0]] * 2, 2,
            gpu=c(x(2, 4), [[0, 1, -1, 0]] * 2, 2)),
        bad(x(), [0], 2),  # 0, to int32
        bad(x(4), [0, 1, 0, 1], 2 ** 62, gpu=c(x(4), [-1] * 4, 0))],
    Data(-1.5, 1.5), tol=64)
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
row("DynamicPartition", [
    c(x(4), [0, 1, 0, 2], num_partitions=3), c(x(), 1, num_partitions=2),
    c(x(4, 3), [1, 1, 0, 1], num_partitions=3),
    c(x(2, 3, 2), [[0, 1, 0], [2, 2, 0]], num_partitions=3),
    c(x(0, 2), np.zeros([0]), num_partitions=2),
    c(x(2, 0), [1, 0], num_partitions=2),
    once(x(300, 70), IDS, num_partitions=40),
    once(x(300), IDS, num_partitions=40),
    c(x(5, 16), [1, 1, 0, 3, 1], num_partitions=4),
    c(x(2, 2, 6), [[1, 0], [1, 1]], num_partitions=2),
    c(x(3, 2, 12), [0, 0, 0], num_partitions=1),
    bad(x(2, 16), [0, 3], num_partitions=3),
    bad(x(4), [0, 1, 0, 3], num_partitions=3),
    bad(x(4), [0, -1, 0, 1], num_partitions=3),
    bad(x(4), [[0, 1], [0, 1]], num_partitions=3),
    bad(x(2, 2), [[0, 1], [0, 5]], num_partitions=3),
    bad(x(), 5, num_partitions=3), bad(x(4), [0, 1, 0], num_partitions=3)],
    ANY)
