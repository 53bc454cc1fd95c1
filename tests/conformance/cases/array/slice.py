"""Cases of kernels/array/slice.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import x
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
from tests.conformance.table import bad, c, row, scenario

row("Slice", [c(x(3, 4), [1, 0], [2, 3]), c(x(3, 4), [0, 1], [-1, -1]),
              c(x(3, 4), [0, 0], [3, 4]), c(x(3, 4), [3, 0], [0, 4]),
              c(x(), [], []), c(x(2, 3, 4, 2), [0, 1, 1, 0], [2, 1, 2, 1]),
              c(x(0, 3), [0, 0], [-1, 2]), c(x(3, 4), [1, 0], [2, 4]),
              bad(x(3), [1], [3]), bad(x(3), [4], [0]), bad(x(3), [-1], [1]),
              bad(x(3), [0], [-2]), bad(x(3), [0, 0], [1, 1]),
              bad(x(), [1], [1]), bad(x(), 1, 1), bad(x(3), 0, 1),
              bad(x(3), [0], [1, 1]), bad(x(3), [[0]], [[1]])])
row("StridedSlice", [
    c(x(4, 5), [1, 0], [3, 5], [1, 2]), c(x(4, 5), [3, 4], [0, 0], [-1, -2]),
    c(x(4, 5), [0], [2], [1]), c(x(4, 5), [-2], [9], [1], end_mask=1),
    c(x(4, 5), [1, 1], [0, 3], [1, 1], begin_mask=2, end_mask=1),
    c(x(4, 5), [0, 2], [0, 3], [1, 1], ellipsis_mask=1, shrink_axis_mask=2),
    c(x(4, 5), [0, 0], [0, 0], [1, 1], new_axis_mask=3),
    c(x(4, 5), [2, 1], [3, 2], [1, 1], shrink_axis_mask=3),
    c(x(4, 5), [-1], [0], [1], shrink_axis_mask=1),
    c(x(4, 5), [3], [1], [1]), c(x(4, 5), [], [], []), c(x(0), [0], [5], [1]),
    c(x(2, 3, 4), [0, 0, 1], [1, 0, 3], [1, 1, 1], ellipsis_mask=2),
    c(x(9), [100], [-100], [-3]), c(x(4, 5), [1, 0], [3, 5], [1, 1]),
    bad(x(4), [0], [1], [0]), bad(x(4), [4], [5], [1], shrink_axis_mask=1),
    bad(x(4), [-5], [5], [1], shrink_axis_mask=1),
    bad(x(4), [0, 0], [1, 1], [1, 1]), bad(x(4), [0], [1, 1], [1]),
    bad(x(4, 4), [0, 0], [1, 1], [1, 1], ellipsis_mask=3),
    bad(x(4), [0], [1], [-1], shrink_axis_mask=1)])
row("StridedSliceGrad", [
    c([4, 5], [1, 0], [3, 5], [1, 2], x(2, 3)),
    c([4, 5], [3, 4], [0, 0], [-1, -2], x(3, 2)),
    c([4], [1], [2], [1], x(), shrink_axis_mask=1),
    c([4, 5], [0, 0], [0, 0], [1, 1], x(1, 1, 4, 5), new_axis_mask=3),
    c([4, 5], [1], [3], [1], x(2, 5)), c([0], [0], [0], [1], x(0)),
    bad([4], [0], [2], [1], x(3)), bad([4], [0], [2], [0], x(2)),
    bad([4], [0], [2], [1], x(2, 1)), bad([-4], [0], [2], [1], x(2))])


@scenario("StridedSlice StridedSliceGrad", tol=0)
@fresh_graph
def steps_beyond_a_tensor_take_one_element(side):
    out = {}
    most, least = 2 ** 63 - 1, -2 ** 63
    x = hidden(sample(tf.float32, (4, 5)))
    with side.session() as session:
        for begin, end, step in ((1, 4, most), (3, -9, least), (3, -9, -most),
                                 (least, most, most), (2, 2, most),
                                 (most, least, least), (0, 4, 2 ** 62)):
            spec = {"begin": hidden(np.array([begin, 1])),
                    "end": hidden(np.array([end, 3])),
                    "strides": hidden(np.array([step, 1]))}
            name = "%d %d %d" % (begin, end, step)
            y = tf.raw_ops.StridedSlice(input=x, **spec)
            out[name] = attempt(session, y)
            out[name + " grad"] = attempt(session, tf.raw_ops.StridedSliceGrad(
                shape=np.array([4, 5]), dy=y, **spec))
    return out
