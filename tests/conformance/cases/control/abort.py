"""Cases of kernels/control/abort.c; tests/cluster/faults/test_abort.py has the texts."""
from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import scenario

ALONE = "AbortedError"


@scenario("Abort")
@fresh_graph
def steps_end_alone(side):
    """TensorFlow's own process would end: for it, what is right is said here."""
    if not side.target:
        return dict.fromkeys(("with a message", "without", "quietly"), ALONE)
    with side.session() as session:
        return {"with a message": attempt(session, tf.raw_ops.Abort(error_msg="meant")),
                "without": attempt(session, tf.raw_ops.Abort()),
                "quietly": attempt(session, tf.raw_ops.Abort(exit_without_error=True))}
