"""Staging areas on a server: whoever waits in one holds no thread, and goes with
its step.  (TensorFlow's own hold a thread that nothing can cancel.)"""
from tests.cluster.client import expect, graph, tf
from tests.cluster.graphs.test_queues import PAIR, Waiting
from tests.cluster.suite import test

R = tf.raw_ops
F = tf.float32
LIMIT = tf.RunOptions(timeout_in_ms=300)
WAITERS = 40  # more than there are threads


@test(tfd_only=True, **PAIR)
def steps_that_timed_out_leave_an_area(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        area = dict(shared_name="left", capacity=1)
        put = R.Stage(values=[1.0], **area)
        get = R.Unstage(dtypes=[F], **area)
        size = R.StageSize(dtypes=[F], **area)
        with expect(tf.errors.DeadlineExceededError):
            session.run(get, options=LIMIT)
        session.run(put)
        with expect(tf.errors.DeadlineExceededError):
            session.run(put, options=LIMIT)
        assert session.run(size) == 1
        assert session.run(get) == [1.0]
        assert session.run(size) == 0  # the second one never came in


@test(tfd_only=True, **PAIR)
def many_wait_for_keys_at_once(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        area = dict(shared_name="many")
        key = tf.placeholder(tf.int64, [])
        get = R.MapUnstage(key=key, indices=[0], dtypes=[F], **area)
        put = R.MapStage(key=key, indices=[0], values=[tf.cast(key, F)],
                         dtypes=[F], **area)
        waiting = [Waiting(session, get, {key: i}) for i in range(WAITERS)]
        for i in reversed(range(WAITERS)):
            session.run(put, {key: i})
        assert [w.end().value for w in waiting] == [
            [float(i)] for i in range(WAITERS)]
        assert session.run(R.MapSize(dtypes=[F], **area)) == 0
