"""Cases of kernels/index/dynamic_stitch.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, row

row("DynamicStitch ParallelDynamicStitch", [
    c(many([0, 2], [3, 1]), many(x(2, 3), x(2, 3))), c(many(0), many(x(2))),
    c(many([0, 1]), many(x(2))), c(many([[0], [1]], 2), many(x(2, 1, 3), x(3))),
    c(many(np.zeros([0])), many(x(0, 3))), c(many(1, 0), many(x(), x())),
    c(many([1, 0], np.zeros([0])), many(x(2, 2), x(0, 2))),
    c(many([0, 1]), many(x(2, 0))),
    bad(many([0, 1]), many(x(3))), bad(many([0, -1]), many(x(2))),
    bad(many([0], [1]), many(x(1, 2), x(1, 3))), bad(many([0, 1]), many(x())),
    bad(many([0], [1]), many(x(1, 2), x(1))),
    bad(many([2 ** 31 - 1]), many(x(1)))])
