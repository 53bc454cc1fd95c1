"""Abort ends its step and nothing else; in TensorFlow it ends the server."""
from tests.cluster.client import expect, graph, tf
from tests.cluster.cluster import Cluster
from tests.cluster.suite import test


@test(tfd_only=True)
def abort_ends_its_step_alone(server):
    with Cluster(server, worker=1) as cluster, graph(), tf.Session(
            cluster.target("worker", 0)) as session:
        counter = tf.Variable(0, use_resource=True)
        session.run(counter.initializer)
        for attrs, text in ((dict(error_msg="this was meant"), "this was meant"),
                            (dict(), "intentional failure"),
                            (dict(exit_without_error=True), "without an error")):
            with expect(tf.errors.AbortedError, text):
                session.run(tf.raw_ops.Abort(**attrs))
            session.run(counter.assign_add(1))
        assert session.run(counter) == 3
        assert cluster["worker", 0].alive()
