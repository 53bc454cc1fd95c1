"""Cases of kernels/array/slice_assign.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import types_of, x
from tests.conformance.table import bad, c, once, row, var


def boxes(of):
    """Cases and bad ones; of(*dims): what has the box."""
    return [
        c(of(5), [1], [3], [1], x(2)), c(of(5), [4], [0], [-2], x(2)),
        c(of(5), [0], [5], [2], x(3)), c(of(5), [2], [2], [1], x(0)),
        c(of(5), [1], [4], [1], x()), c(of(5), [1], [4], [1], x(1)),
        c(of(3, 4), [1, 0], [2, 4], [1, 1], x(1, 4)),
        c(of(3, 4), [1, 1], [3, 3], [1, 1], x(2, 2)),
        c(of(3, 4), [0, 3], [3, 0], [1, -1], x(3, 1)),
        c(of(3, 4), [0, 3], [3, 0], [1, -1], x(3)),
        c(of(3, 4), [1], [2], [1], x(4), shrink_axis_mask=1),
        c(of(3, 4), [0, 2], [0, 3], [1, 1], x(3), begin_mask=1, end_mask=1,
          shrink_axis_mask=2),
        c(of(2, 3, 4), [0, 1], [0, 2], [1, 1], x(2, 3), ellipsis_mask=1,
          shrink_axis_mask=2),
        c(of(3, 4), [0, 0, 1], [0, 0, 3], [1, 1, 1], x(3, 1, 2),
          new_axis_mask=2, begin_mask=1, end_mask=1),
        c(of(3, 4), np.zeros([0]), np.zeros([0]), np.zeros([0]), x(3, 4)),
        once(of(300, 70), [10, 60], [290, 2], [3, -5], x(94, 12)),
        bad(of(5), [1], [3], [1], x(3)), bad(of(5), [1], [3], [0], x(2)),
        bad(of(5), [7], [8], [1], x(), shrink_axis_mask=1),
        bad(of(5), [1, 0], [3, 1], [1, 1], x(2, 1)),
        bad(of(5), [1], [3, 4], [1], x(2)), bad(of(5), [[1]], [[3]], [[1]], x(2)),
        bad(of(3, 4), [0], [2], [1], x(3, 4))]


# TensorFlow copies no quantised tensors.
PLAIN = [t for t in types_of("TensorStridedSliceUpdate") if t[0] != "q"]
VARIABLES = boxes(lambda *dims: var(x(*dims))) + [
    bad(var(declared=[5]), [1], [3], [1], x(2))]
row("TensorStridedSliceUpdate", boxes(x), ANY, dtypes=PLAIN)
row("StridedSliceAssign", VARIABLES, ANY)
row("ResourceStridedSliceAssign", VARIABLES, ANY, dtypes=PLAIN)
