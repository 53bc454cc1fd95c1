"""Cases of kernels/control/assert.c."""
from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import scenario


@scenario("Assert")
@fresh_graph
def assert_fails_with_its_data(side):
    p = tf.placeholder(tf.bool, [])
    check = tf.raw_ops.Assert(condition=p, data=["x is", tf.constant([1, 2])],
                              summarize=1)
    with side.session() as session:
        return {str(v): attempt(session, check, {p: v}) for v in (True, False)}
