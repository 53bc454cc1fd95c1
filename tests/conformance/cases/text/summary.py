"""Cases of kernels/text/summary.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, many, row, scenario


def summary(*tags, value=1.0):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)
                             for tag in tags]).SerializeToString()


METADATA = tf.SummaryMetadata(display_name="d").SerializeToString()
row("ScalarSummary", [
    c([b"a", b"b"], x(2)), c(b"a", x()), c(b"", 0), c([[b"a"]], [[3]]),
    c(np.zeros([0], object), x(0)),
    c(b"a", np.nan, dtypes=REALS), bad(b"a", [2]), bad([b"a"], [[2]]),
    bad([b"a", b"b"], [2])])
row("MergeSummary", [
    c(many(summary("a"), summary("b"))), c(many([summary("a", "b")], b"")),
    c(many(b"xx")), c(many(np.zeros([0], object))), c(many(summary(""), b"")),
    bad(many([summary("a")], summary("a"))), bad(many(summary("a", "a"))),
    bad(many(b"\x0a\xff")), bad(many(b"\x0a\x02\x0a\xff"))])
row("TensorSummaryV2", [
    c(b"t", x(2, 3), METADATA), c(b"t", x(), METADATA),
    c(b"", x(0), METADATA), c(b"t", x(3), b""), c(b"t", x(3), b"xx"),
    bad([b"t"], x(2), METADATA), bad(b"t", x(2), [METADATA])])


@scenario("TensorSummary")
@fresh_graph
def tensor_summary_is_named_after_its_node(side):
    """The name is the node's, so there is one node of each name."""
    out = {}
    for dtype in (tf.float32, tf.string, tf.int64, tf.bool):
        with tf.Graph().as_default(), side.session() as session:
            value = tf.constant(["x", ""]) if dtype == tf.string else (
                tf.constant(np.array([1, 0], dtype.as_numpy_dtype)))
            out[dtype.name] = session.run(tf.raw_ops.TensorSummary(
                tensor=value, name="node"))
    return out
