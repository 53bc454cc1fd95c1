"""Cases of kernels/list/tensor_array.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts, TYPES
from tests.conformance.old_graphs import old_node
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
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
    a = array()
    grads = a.grad("one", flow=a.flow)
    out["gradient of it"] = grads.grad("two", flow=grads.flow).flow
    return attempts(side, out)


class Old:
    """An array of floats in one of the older spellings: its handle is a
    reference to two strings, or ("V2") the strings."""

    def __init__(self, suffix="", size=3, handle=None, dtype=tf.float32,
                 **options):
        self.suffix, self.dtype, self.flow = suffix, dtype, 0.0
        self.handle = old_node("TensorArray" + suffix, size, dtype=dtype,
                               **options) if handle is None else handle

    def op(self, name, *inputs, **attrs):
        return old_node("TensorArray" + name + self.suffix, self.handle,
                        *inputs, **attrs)

    def write(self, index, value):
        value = tf.convert_to_tensor(value)
        self.flow = self.op("Write", index, value, self.flow, T=value.dtype)
        return self

    def read(self, index):
        return self.op("Read", index, self.flow, dtype=self.dtype)

    def size(self):
        return self.op("Size", self.flow)

    def grad(self, source):
        found = Old(self.suffix, handle=self.op("Grad", self.flow,
                                                source=source))
        found.flow = self.flow
        return found

    def closed(self):
        with tf.control_dependencies([self.op("Close")]):
            self.flow = tf.identity(self.flow)
        return self


OLD_NAMES = "TensorArray%s TensorArrayWrite%s TensorArrayRead%s " \
    "TensorArraySize%s TensorArrayClose%s TensorArrayGrad%s"


def old_arrays(side, suffix):
    def array(*args, **options):
        return Old(suffix, *args, **options)

    pair = [1.0, 2.0]
    out = {
        "size": array().size(),
        "no size": array(hidden(-1)).size(),
        "no scalar": array(hidden([3])).size(),
        "dynamic": array(0, dynamic_size=True).write(2, 1.0).size(),
        "read": array().write(0, pair).read(0),
        "read unset": array(element_shape=[2]).read(1),
        "read unset, no shape": array().read(1),
        "read 7": array().read(hidden(7)),
        "read at a vector": array().read(hidden([1])),
        "write 3": array().write(hidden(3), 1.0).flow,
        "write twice": array().write(0, 1.0).write(0, 2.0).flow,
        "write an integer": array().write(0, hidden(1)).flow,
        "write two shapes": array(element_shape=[2]).write(
            0, hidden([1.0])).flow,
        "closed": array().closed().size(),
    }
    for dtype in TYPES:
        value = sample(dtype)
        out[dtype.name] = array(dtype=dtype).write(1, value).read(1)
    a = array().write(0, pair)
    grads = [a.grad("one").write(0, pair), a.grad("one"), a.grad("two")]
    grads[1].flow = grads[0].flow
    grads[1].write(0, pair)
    out["gradients"] = [grads[1].read(0), grads[2].read(0), grads[1].size()]
    out["gradient of one"] = grads[2].grad("three").read(0)
    out["group"] = [tf.identity(g.handle)[0] for g in (a, grads[0])]
    return out


@scenario(OLD_NAMES.replace("%s", ""))
@fresh_graph
def tensor_arrays_by_reference(side):
    return attempts(side, old_arrays(side, ""))


@scenario(OLD_NAMES.replace("%s", "V2"))
@fresh_graph
def tensor_arrays_by_name(side):
    """What names an array may be put together anew."""
    out = old_arrays(side, "V2")
    a = Old("V2")
    out["copied"] = Old("V2", handle=tf.stack(
        [a.handle[0], a.handle[1]])).size()
    out["part of it"] = Old("V2", handle=hidden(a.handle[:1])).size()
    out["no array"] = Old("V2", handle=hidden(["no", "array"])).size()
    out["no pair"] = Old("V2", handle=hidden("no")).size()
    out["of a reference"] = Old("V2", handle=tf.identity(Old().handle)).size()
    out["branch"] = Old("V2", handle=raw.Switch(
        data=a.handle, pred=hidden(True))[1]).size()
    return attempts(side, out)


@scenario("TensorArrayV2 TensorArraySizeV2")
@fresh_graph
def tensor_arrays_end_with_their_step(side):
    with side.session() as session:
        a = Old("V2")
        handle, size = session.run([a.handle, a.size()])
        return {"size": size, "later": attempt(session, Old(
            "V2", handle=hidden(handle)).size())}
