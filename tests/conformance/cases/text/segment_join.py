"""Cases of kernels/text/segment_join.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

CUBE = [[[b"a", b"b"], [b"c", b""]], [[b"e" * 30, b"f"], [b"g", b"h"]]]
NONE = np.zeros([0])

row("UnsortedSegmentJoin", [
    every([b"a", b"b", b"c"], [1, 0, 1], 3, separator="-"),
    c(CUBE, [1, 1], 2, separator=", "), c(CUBE, [[0, 1], [1, 3]], 5),
    c(CUBE, [[[0, 1], [1, 0]], [[2, 0], [0, 0]]], 3, separator=":"),
    c([b"", b"", b""], [0, 0, 1], 2, separator="|"),
    c(x(0), NONE, 4, separator="x"), c(x(0), NONE, 0), c(x(2, 0), [1, 0], 3),
    c(x(3), [0, 0, 0], 1), once(x(3000), np.arange(3000) % 7, 9, separator="."),
    bad([b"a", b"b"], [0, 2], 2), bad([b"a", b"b"], [0, -1], 2),
    bad([b"a", b"b"], [0, 1, 1], 2), bad([b"a", b"b"], [[0, 1]], 2),
    bad([b"a", b"b"], [0, 0], -2), bad([b"a", b"b"], [0, 0], 0),
    bad([b"a", b"b"], [0, 0], [1]), bad([b"a", b"b"], 0, 1), bad(b"a", 0, 1),
    bad(CUBE, [[0, 1], [1, 3], [1, 1]], 5)])
