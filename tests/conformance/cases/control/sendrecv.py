"""Cases of kernels/control/sendrecv.c."""
from tests.cluster.client import tf
from tests.conformance.inputs import FED
from tests.conformance.scenarios import attempt, fresh_graph, sample
from tests.conformance.table import scenario


@scenario("_Arg _Retval _Send _Recv _HostSend _HostRecv Placeholder Identity")
@fresh_graph
def every_type_is_fed_and_fetched(side):
    out = {}
    with side.session() as session:
        for dtype in FED:
            for dims in ((), (3,), (0,), (2, 0, 3), (2, 3)):
                p = tf.placeholder(dtype, None)
                y = tf.raw_ops.Identity(input=p)
                out["%s %s" % (dtype.name, dims)] = attempt(
                    session, y, {p: sample(dtype, dims)})
    return out


@scenario("Send Recv")
@fresh_graph
def ends_that_a_graph_names(side):
    """Both in one step, of one device."""
    graph, out = tf.get_default_graph(), {}
    own = "/job:%s/replica:0/task:0/device:CPU:0" % ("worker" if side.target else "localhost")

    def ends(value, name):
        common = {"tensor_name": tf.AttrValue(s=name.encode()),
                  "send_device": tf.AttrValue(s=own.encode()),
                  "recv_device": tf.AttrValue(s=own.encode()),
                  "send_device_incarnation": tf.AttrValue(i=1)}
        kind = tf.AttrValue(type=value.dtype.as_datatype_enum)
        sent = graph.create_op("Send", [value], [], attrs=dict(common, T=kind))
        with tf.control_dependencies([sent]):
            return graph.create_op("Recv", [], [value.dtype], attrs=dict(
                common, tensor_type=kind)).outputs[0]

    with side.session() as session:
        for dtype in FED:
            out[dtype.name] = attempt(session, ends(tf.constant(sample(dtype)), dtype.name))
    return out


@scenario("_Arg _Retval Identity Const")
@fresh_graph
def ends_without_a_function(side):
    """Where a graph names them itself, and no call is around them.  A session
    in process has a call's frame, which is empty; one of a server has none."""
    graph, out = tf.get_default_graph(), {}
    number = tf.AttrValue(i=0)
    refusal = "InternalError" if side.target else "InvalidArgumentError"
    with side.session() as session:
        for dtype in FED:
            kind = tf.AttrValue(type=dtype.as_datatype_enum)
            given = graph.create_op("_Arg", [], [dtype], name="given",
                                    attrs={"T": kind, "index": number}).outputs[0]
            taken = graph.create_op("_Retval", [tf.constant(sample(dtype))], [],
                                    name="taken", attrs={"T": kind, "index": number})
            for name, fetched in (("_Arg", tf.raw_ops.Identity(input=given)), ("_Retval", taken)):
                got = attempt(session, fetched)
                out["%s %s" % (name, dtype.name)] = "refused" if got == refusal else got
    return out
