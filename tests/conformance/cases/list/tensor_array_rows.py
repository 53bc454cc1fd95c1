"""Cases of kernels/list/tensor_array_rows.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario


@scenario("TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 "
          "TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3 "
          "TensorArrayReadV3 TensorArraySizeV3 TensorArrayGradV3")
@fresh_graph
def tensor_arrays_of_rows(side):
    def array(size=3, **more):
        return tf.TensorArray(tf.float32, size, **more)

    tf.disable_control_flow_v2()
    rows = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    out = {
        "unstack": array().unstack(rows).stack(),
        "gather": array().unstack(rows).gather([2, 0]),
        "gather 3": array().unstack(rows).gather(hidden([3])),
        "concat": array().unstack(rows).concat(),
        "split": array(2, infer_shape=False).split(rows, [1, 2]).concat(),
        "split 2 of 3": array(2, infer_shape=False).split(
            rows, hidden(np.array([1, 1], np.int64))).flow,
        "split to 4": array(4, infer_shape=False).split(
            rows, [1, 1, 1]).concat(),
        "split to 1": array(1, infer_shape=False).split(rows, [1, 2]).flow,
        "split and more": array(
            1, dynamic_size=True, infer_shape=False).split(
                rows, [1, 2]).write(2, rows).concat(),
    }
    out["of concat"] = tf.gradients(array().unstack(rows).concat() * 2.0, rows)
    out["of split"] = tf.gradients(
        array(2, infer_shape=False).split(rows, [1, 2]).read(1) * 3.0, rows)
    a = array(2, dynamic_size=True, infer_shape=False).split(rows, [1, 2])
    a = a.write(2, rows[:1] * 2.0)
    out["of split and more"] = tf.gradients([a.read(1) * 3.0, a.read(2)], rows)
    return attempts(side, out)
