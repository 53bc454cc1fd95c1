"""Cases of kernels/sparse/segment.c."""
import numpy as np

from tests.conformance.cases.shared import IDS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

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
