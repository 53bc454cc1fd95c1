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
