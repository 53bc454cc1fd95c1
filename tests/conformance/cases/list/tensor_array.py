"""Cases of kernels/list/tensor_array.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops


@scenario("TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 "
          "TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3 "
          "TensorArrayScatterV3 TensorArrayGradWithShape")
@fresh_graph
def tensor_arrays(side):
    def array(size=3, dtype=tf.float32, **more):
        return tf.TensorArray(dtype, size, **more)

    def twice(a):
        value = a.read(0)
        with tf.control_dependencies([value]):
            return [value, a.read(0)]

    tf.disable_control_flow_v2()
    rows = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    out = {
        "size": array().size(),
        "dynamic": array(0, dynamic_size=True).write(2, 1.0).size(),
        "write 3": array().write(hidden(3), 1.0).flow,
        "write -1": array().write(hidden(-1), 1.0).flow,
        "write twice": array().write(0, 1.0).write(0, 2.0).flow,
        "write two shapes": array(element_shape=[2]).write(
            0, hidden([1.0])).flow,
        "read 7": array().read(hidden(7)),
        "read unset": array(element_shape=[2]).read(1),
        "read unset, no shape": array().read(1),
        "read twice": twice(array().unstack(rows)),
        "keep": twice(array(clear_after_read=False).unstack(rows)),
        "size -1": raw.TensorArrayV3(size=hidden(-1), dtype=tf.float32).flow,
    }
    a = array(clear_after_read=False).unstack(rows)
    out["gradient"] = tf.gradients(a.read(0) * 2.0 + a.read(2) + a.read(0),
                                   rows)
    return attempts(side, out)
