"""Cases of kernels/array/mirror_pad.c."""
import numpy as np

from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

for op, more in (("MirrorPad", [
        c(x(2, 3), [[1, 0], [2, 1]], mode="REFLECT"),
        c(x(2, 3), [[2, 1], [3, 3]], mode="SYMMETRIC"),
        c(x(0, 2), [[0, 0], [1, 1]], mode="SYMMETRIC"),
        bad(x(0), [[0, 0]], mode="REFLECT"),
        bad(x(3), [[3, 0]], mode="REFLECT"),
        bad(x(3), [[0, 3]], mode="REFLECT"),
        bad(x(3), [[4, 0]], mode="SYMMETRIC")]),
        ("MirrorPadGrad", [
            c(x(4, 7), [[1, 1], [2, 1]], mode="REFLECT"),
            c(x(6, 7), [[2, 2], [1, 3]], mode="SYMMETRIC"),
            c(x(7, 16), [[2, 2], [0, 0]], mode="REFLECT"),
            c(x(5, 2, 12), [[1, 2], [0, 0], [0, 0]], mode="SYMMETRIC"),
            c(x(2, 16), [[0, 0], [0, 0]], mode="SYMMETRIC"),
            bad(x(3, 16), [[2, 0], [0, 0]], mode="SYMMETRIC"),
            bad(x(4), [[2, 2]], mode="REFLECT"),
            bad(x(4), [[2, 0]], mode="REFLECT"),
            bad(x(4), [[3, 0]], mode="SYMMETRIC"),
            bad(x(0), [[0, 0]], mode="SYMMETRIC")])):
    row(op, [case for mode in ("REFLECT", "SYMMETRIC") for case in (
        c(x(7), [[2, 2]], mode=mode), c(x(7), [[0, 1]], mode=mode),
        c(x(), np.zeros([0, 2]), mode=mode), c(x(3), [[0, 0]], mode=mode),
        c(x(2, 1, 5, 1, 4), [[0, 0], [0, 0], [1, 1], [0, 0], [0, 1]],
          mode=mode), once(x(300, 70), [[9, 3], [0, 8]], mode=mode),
        bad(x(3), [[-1, 0]], mode=mode), bad(x(3), [[0, -1]], mode=mode),
        bad(x(3), [[0, 0], [0, 0]], mode=mode), bad(x(3), [0, 0], mode=mode),
        bad(x(3), [[1]], mode=mode), bad(x(), [[0, 0]], mode=mode),
        bad(x(1, 1, 1, 1, 1, 5), [[0, 0]] * 5 + [[1, 0]], mode=mode),
        bad(x(3), [[9, 9]], mode=mode))] + more, SMALL, tol=2)
