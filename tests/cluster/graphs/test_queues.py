"""Queues and accumulators on a ps, shared by clients that wait, time out,
close their sessions and die."""
import signal
import subprocess
import sys
import threading

from tests.cluster import nursery
from tests.cluster.client import expect, graph, kept_session, np, run, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
PS = "/job:ps/task:0"


class Shared:
    """A queue of floats on the ps, as one client sees it."""

    def __init__(self, name, capacity=-1, suffix="V2"):
        def op(kind, **arguments):
            return getattr(tf.raw_ops, kind + suffix)(**arguments)
        with tf.device(PS):
            q = op("FIFOQueue", component_types=[tf.float32], shapes=[[]],
                   capacity=capacity, shared_name=name)
            types = dict(handle=q, component_types=[tf.float32])
            self.p = tf.placeholder(tf.float32, [None])
            self.put = op("QueueEnqueueMany", handle=q, components=[self.p])
            self.one = op("QueueDequeue", **types)[0]
            self.two = op("QueueDequeueMany", n=2, **types)[0]
            self.size = op("QueueSize", handle=q)
            self.close = op("QueueClose", handle=q)
            self.cancel = op("QueueClose", handle=q,
                             cancel_pending_enqueues=True)


class Waiting(threading.Thread):
    """A step that may wait; its value or error."""

    def __init__(self, session, fetch, feeds=None, options=None):
        super().__init__(daemon=True)
        self.call = lambda: session.run(fetch, feeds, options)
        self.value = self.error = None
        self.start()

    def run(self):
        try:
            self.value = self.call()
        except (tf.errors.OpError, RuntimeError) as error:
            self.error = error

    def end(self, seconds=15):
        self.join(seconds)
        assert not self.is_alive(), "hangs"
        return self


def shared_by_two_clients(cluster, suffix):
    with graph():
        q = Shared("both", suffix=suffix)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        waits = Waiting(first, q.two)
        second.run(q.put, {q.p: [1]})
        wait_until(lambda: second.run(q.size) == 0, 10, "the first is taken")
        second.run(q.put, {q.p: [2, 3]})
        np.testing.assert_array_equal(waits.end().value, [1, 2])
        first.close()
        assert second.run(q.one) == 3
        second.run(q.put, {q.p: [4]})
        second.close()
    with graph():  # it outlives its clients
        q = Shared("both", suffix=suffix)
        assert run(cluster.target("ps", 0), q.one) == 4


@test(**PAIR)
def a_queue_is_shared_by_two_clients(cluster):
    shared_by_two_clients(cluster, "V2")


@test(**PAIR)
def a_queue_by_reference_is_shared_by_two_clients(cluster):
    shared_by_two_clients(cluster, "")


@test(**PAIR)
def a_queue_without_shared_name_is_the_sessions(cluster):
    with graph():
        q = Shared("")
        with tf.Session(cluster.target()) as first:
            first.run(q.put, {q.p: [1, 2]})
            assert first.run(q.size) == 2
            with tf.Session(cluster.target()) as second:
                assert second.run(q.size) == 0
            assert first.run(q.one) == 1


@test(**PAIR)
def a_hundred_steps_wait_in_one_session(cluster):
    with graph():
        q = Shared("hundred")
        session = tf.Session(cluster.target())
        other = tf.Session(cluster.target("worker", 1))
        waits = [Waiting(session, q.one) for _ in range(100)]
        other.run(q.put, {q.p: np.arange(40)})
        wait_until(lambda: sum(not w.is_alive() for w in waits) == 40, 15,
                   "forty of them")
        assert sorted(w.value for w in waits if not w.is_alive()) == list(
            range(40))
        assert session.run(q.size) == 0
        session.close()
        for w in waits:
            w.end()
        errors = [w.error for w in waits if w.error is not None]
        assert len(errors) == 60
        assert all(isinstance(e, tf.errors.CancelledError) for e in errors), \
            {type(e).__name__ for e in errors}
        # Nobody is left in the line.
        other.run(q.put, {q.p: [7]})
        assert other.run(q.one) == 7
        other.close()


@test(**PAIR)
def a_step_that_timed_out_takes_nothing(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        q = Shared("timeout", capacity=3)
        limit = tf.RunOptions(timeout_in_ms=300)
        session.run(q.put, {q.p: [1]})
        with expect(tf.errors.DeadlineExceededError):
            session.run([q.two], options=limit)
        assert session.run(q.size) == 1  # what it had is back
        assert session.run(q.one) == 1
        with expect(tf.errors.DeadlineExceededError):
            session.run(q.put, {q.p: [2, 3, 4, 5]}, options=limit)
        np.testing.assert_array_equal(session.run(q.two), [2, 3])
        assert session.run([q.one, q.size]) == [4, 0]
        assert session.run(q.size) == 0  # 5 never came in


@test(**PAIR)
def closing_ends_the_steps_of_other_clients(cluster):
    with graph():
        q = Shared("closing", capacity=2)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        takes = Waiting(first, q.two)
        second.run(q.put, {q.p: [1]})
        wait_until(lambda: second.run(q.size) == 0, 10, "one is taken")
        second.run(q.close)
        assert isinstance(takes.end().error, tf.errors.OutOfRangeError)
        assert "insufficient elements (requested 1, current size 0)" in str(
            takes.error)
        with expect(tf.errors.CancelledError, "is closed"):
            first.run(q.put, {q.p: [2]})
        assert first.run(q.one) == 1
        with expect(tf.errors.OutOfRangeError, "is closed"):
            second.run(q.one)


@test(**PAIR)
def a_full_queue_lets_go_of_who_puts(cluster):
    with graph():
        q = Shared("full", capacity=2)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        puts = Waiting(first, q.put, {q.p: [1, 2, 3, 4]})
        wait_until(lambda: second.run(q.size) == 2, 10, "two are in")
        second.run(q.cancel)
        assert isinstance(puts.end().error, tf.errors.CancelledError)
        assert "Enqueue operation was cancelled" in str(puts.error)
        np.testing.assert_array_equal(first.run(q.two), [1, 2])


DYING = """
import sys
from tests.cluster.client import tf
from tests.cluster.graphs.test_queues import Shared
q = Shared("dying")
session = tf.Session(sys.argv[1])
session.run(q.put, {q.p: [1]})
print("waits", flush=True)
session.run(q.two)
"""


@test(limit=120)
def a_client_that_dies_takes_nothing(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        q = Shared("dying")
        session = kept_session(cluster.target())
        dying = nursery.start(
            [sys.executable, "-c", DYING, cluster.target()],
            stdout=subprocess.PIPE, text=True)
        while "waits" not in dying.stdout.readline():
            pass
        wait_until(lambda: session.run(q.size) == 0, 10, "it waits")
        dying.send_signal(signal.SIGKILL)
        dying.wait()
        session.run(q.put, {q.p: [2, 3]})
        if server.is_tfd:  # in TensorFlow the 1 is lost
            wait_until(lambda: session.run(q.size) == 3, 15, "1 is back")
            np.testing.assert_array_equal(session.run(q.two), [1, 2])


# ---- Accumulators ------------------------------------------------------------


def accumulator(kind, name):
    with tf.device(PS):
        if kind == "resource":
            return tf.ConditionalAccumulator(tf.float32, [2],
                                             shared_name=name)
        return tf.SparseConditionalAccumulator(tf.float32, [4, 2],
                                               shared_name=name)


@test(**PAIR)
def gradients_of_two_clients_are_averaged(cluster):
    with graph():
        a = accumulator("resource", "mean")
        p = tf.placeholder(tf.float32, [2])
        with tf.device("/job:worker/task:1"):
            gradient = p * 2
        put, take = a.apply_grad(gradient), a.take_grad(2)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        waits = Waiting(first, take)
        second.run(put, {p: [1, 2]})
        first.run(put, {p: [3, 4]})
        np.testing.assert_array_equal(waits.end().value, [4, 6])
        second.run(put, {p: [1, 2]})  # of step 0: stale
        assert first.run(a.num_accumulated()) == 0
        waits = Waiting(first, take)
        first.close()
        assert waits.end().error is not None
        with expect(tf.errors.DeadlineExceededError):
            second.run(take, options=tf.RunOptions(timeout_in_ms=200))
        second.run(a.set_global_step(0))
        second.run([put, a.apply_grad(gradient)], {p: [5, 6]})
        np.testing.assert_array_equal(second.run(take), [10, 12])


@test(**PAIR)
def rows_of_two_clients_are_averaged(cluster):
    with graph():
        a = accumulator("sparse", "rows")
        i, v = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32)
        put = a.apply_grad(i, v)
        take = a.take_indexed_slices_grad(2)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        waits = Waiting(second, [take.indices, take.values])
        first.run(put, {i: [0, 3], v: [[1, 1], [2, 2]]})
        second.run(put, {i: [3], v: [[6, 8]]})
        indices, values = waits.end().value
        np.testing.assert_array_equal(indices, [0, 3])
        np.testing.assert_array_equal(values, [[1, 1], [4, 5]])
