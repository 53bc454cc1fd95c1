"""Cases of kernels/array/const.c."""
from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY, SHAPES
from tests.conformance.inputs import FED, x
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import c, row, scenario

row("Identity StopGradient PreventGradient GuaranteeConst", SHAPES, ANY)
row("PlaceholderWithDefault", [c(x(2, 3), shape=[2, 3]), c(x(), shape=None),
                               c(x(0, 2), shape=[None, 2])], ANY)


@scenario("Const NoOp ControlTrigger IdentityN")
@fresh_graph
def constants_of_every_type(side):
    """Const, with its value in each of TensorProto's forms."""
    fetches, out = {}, {}
    for dtype in FED:
        for dims in ((), (2, 3), (0,), (40,)):
            key = "%s %s" % (dtype.name, dims)
            fetches[key] = tf.constant(sample(dtype, dims), dtype)
    fetches["splat"] = tf.constant(7.0, shape=[30, 20])
    proto = tf.make_tensor_proto([1, 2, 3], tf.int32, [7])
    fetches["last repeats"] = tf.raw_ops.Const(value=proto, dtype=tf.int32)
    for i, tensor in enumerate(tf.raw_ops.IdentityN(
            input=[fetches["splat"], fetches["bool (2, 3)"]])):
        fetches["identity_n %d" % i] = tensor
    with side.session() as session:
        out.update(session.run(fetches))
        out["no_op"] = session.run(tf.no_op())
        with tf.control_dependencies([tf.raw_ops.ControlTrigger()]):
            out["triggered"] = session.run(tf.constant(1.0))
    return out


@scenario("FakeParam DeviceIndex IsTensorFloat32Enabled")
@fresh_graph
def answers_of_the_place(side):
    raw, out = tf.raw_ops, {}
    enabled = tf.get_default_graph().create_op("IsTensorFloat32Enabled", [],
                                               [tf.bool]).outputs[0]
    with side.session() as session:
        for dims in ([2, 3], [None, 3], [0], [], None):
            for dtype in (tf.float32, tf.int64):
                made = session.run(raw.FakeParam(
                    dtype=dtype, shape=tf.TensorShape(dims)))
                out["%s %s" % (dims, dtype.name)] = "%s %s" % (
                    made.shape, made.dtype)
        for names in (["CPU", "GPU"], ["GPU", "CPU"], ["GPU"], [], ["cpu"]):
            out["of %s" % names] = session.run(
                raw.DeviceIndex(device_names=names))
        out["enabled"] = session.run(enabled)
    return out
