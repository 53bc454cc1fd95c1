"""A step that makes no progress is told, with what it waits for."""
import signal

from tests.cluster.client import graph, kept_session, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.raw import Raw, code_of
from tests.cluster.server.test_log import JSON, events, wait_event
from tests.cluster.suite import test

SOON = 20
STUCK = [JSON, "--stuck_after=200ms"]


class Waiting:
    """A step that runs in a thread of its own, until it ends."""

    def __init__(self, session, fetches):
        self.error = self.value = None
        call = session.make_callable(fetches)
        self.coordinator = tf.train.Coordinator()

        def once():
            try:
                self.value = call()
            except tf.errors.OpError as error:
                self.error = error
            self.coordinator.request_stop()

        self.thread = tf.train.LooperThread(self.coordinator, None,
                                            target=once)
        self.thread.start()

    def end(self):
        self.thread.join()
        return self.value


@test(limit=60, tfd_only=True)
def a_stuck_step_names_what_each_task_waits_for(server):
    with Cluster(server, STUCK, ps=1, worker=1) as cluster, graph():
        ps, worker = cluster["ps", 0], cluster["worker", 0]
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(10, tf.float32, shared_name="tokens")
            taken = queue.dequeue(name="take")
            put = queue.enqueue(4.0)
        with tf.device("/job:worker/task:0"):
            used = tf.multiply(taken, 2.0, name="used")
        session = kept_session(worker.target)
        waiting = Waiting(session, used)
        here = wait_event(worker, "step_stuck")
        there = wait_event(ps, "step_stuck")
        assert here["level"] == "warn" and there["level"] == "info"
        assert here["step"] == there["step"], (here, there)
        assert there["ops"] == 1, there
        assert there["waits"].startswith("take"), there
        assert there["waits"].endswith(
            "QueueDequeueV2 of queue tokens in ps (0 of 10)"), there
        tensor, _, cause = here["waits"].partition("; there ")
        assert ": tensor edge_" in tensor and "take" in tensor, here
        assert tensor.endswith(" of /job:ps/replica:0/task:0/device:CPU:0"), here
        assert cause == there["waits"], (here, there)
        session.run(put)
        assert waiting.end() == 8
        # Once for a step.
        assert len(events(ps, "step_stuck")) == 1
        assert len(events(worker, "step_stuck")) == 1


@test(limit=60, tfd_only=True)
def the_cause_is_followed_from_task_to_task(server):
    with Cluster(server, STUCK, ps=2, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        with tf.device("/job:ps/task:1"):
            queue = tf.FIFOQueue(1, tf.float32, [()], shared_name="tokens")
            taken = queue.dequeue(name="take")
            put = queue.enqueue(4.0)
        with tf.device("/job:ps/task:0"):
            between = tf.negative(taken, name="between")
        with tf.device("/job:worker/task:0"):
            used = tf.multiply(between, 2.0, name="used")
        session = kept_session(worker.target)
        waiting = Waiting(session, used)
        told = wait_event(worker, "step_stuck")
        first, second, third = told["waits"].split("; there ")
        assert " of /job:ps/replica:0/task:0/" in first, told
        assert " of /job:ps/replica:0/task:1/" in second, told
        assert third.endswith(
            "QueueDequeueV2 of queue tokens in ps (0 of 1)"), told
        session.run(put)
        assert waiting.end() == -8


@test(limit=60, tfd_only=True)
def a_cause_that_does_not_answer(server):
    """The line comes, and says so."""
    with Cluster(server, STUCK + ["--peer_timeout=0", "--heartbeat_interval=0"],
                 ps=1, worker=1) as cluster, graph():
        ps, worker = cluster["ps", 0], cluster["worker", 0]
        with tf.device("/job:ps/task:0"):
            taken = tf.FIFOQueue(1, tf.float32, [()]).dequeue(name="take")
        with tf.device("/job:worker/task:0"):
            used = tf.multiply(taken, 2.0, name="used")
        session = kept_session(worker.target)
        waiting = Waiting(session, used)
        wait_event(ps, "step_stuck")
        ps.signal(signal.SIGSTOP)
        second = Waiting(session, used)
        try:
            told = wait_event(worker, "step_stuck", 2)
        finally:
            ps.signal(signal.SIGCONT)
        assert told["waits"].endswith("; there DEADLINE_EXCEEDED"), told
        session.close()
        waiting.end()
        second.end()


@test(limit=60, tfd_only=True)
def questions_that_nobody_should_ask(server):
    """Steps that are not there, and what is no question."""
    method = "/tfd.Peer/GetStepWaits"
    with Cluster(server, STUCK, worker=1) as cluster:
        raw = Raw(cluster["worker", 0].address)
        for unknown in (b"", b"\x08\x07", b"\x08" + b"\xff" * 9 + b"\x01",
                        b"\x12\x03abc\x1a\x03xyz"):
            assert raw.bytes(method, unknown) == b"", unknown
        for damaged in (b"\x08", b"\xff" * 20, b"\x12\xff\xff\xff\x7fx"):
            assert code_of(raw.bytes, method, damaged)[0] == "INTERNAL", damaged
        assert cluster["worker", 0].alive()


@test(limit=60, tfd_only=True)
def a_full_queue_is_named(server):
    with Cluster(server, STUCK, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(2, tf.float32, shared_name="full")
        fill = queue.enqueue_many([[1.0, 2.0]])
        put, take = queue.enqueue(3.0), queue.dequeue()
        session = kept_session(worker.target)
        session.run(fill)
        waiting = Waiting(session, put)
        told = wait_event(worker, "step_stuck")
        assert told["waits"].endswith(
            "QueueEnqueueV2 of queue full in worker (2 of 2)"), told
        session.run(take)
        waiting.end()
        assert waiting.error is None


@test(limit=60, tfd_only=True)
def what_several_ops_wait_for_is_bounded(server):
    with Cluster(server, STUCK, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queues = [tf.FIFOQueue(1, tf.float32, shared_name="q%d%s" % (
            i, "\"\n" + "x" * 1000)) for i in range(50)]
        session = kept_session(worker.target)
        waiting = Waiting(session, [queue.dequeue() for queue in queues])
        told = wait_event(worker, "step_stuck")
        assert told["ops"] == 50, told
        assert told["waits"].count("QueueDequeueV2") == 4, told
        session.close()
        waiting.end()
        assert waiting.error is not None


@test(limit=60, tfd_only=True)
def what_moves_or_computes_is_not_stuck(server):
    """A step that always waits for another element, one that computes, and one
    that waits where nobody wants to know."""
    with Cluster(server, STUCK, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(100, tf.float32, [()])
        feed = queue.enqueue(1.0)
        moving = tf.while_loop(lambda i: i < 60,
                               lambda i: i + tf.cast(queue.dequeue(), tf.int32),
                               [0])
        session = kept_session(worker.target)
        waiting = Waiting(session, moving)
        for _ in range(60):
            session.run(feed)
        assert waiting.end() == 60
        matrix = tf.random.stateless_normal([1500, 1500], [1, 2])
        for _ in range(8):
            matrix = tf.matmul(matrix, matrix) / 1500.0
        session.run(tf.reduce_sum(matrix))
        assert not events(worker, "step_stuck")
    with Cluster(server, [JSON, "--stuck_after=0"], worker=1) as cluster, \
            graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(1, tf.float32)
        session = kept_session(worker.target)
        waiting = Waiting(session, queue.dequeue())
        wait_until(lambda: session.run(tf.constant(1)) and not events(
            worker, "step_stuck"), SOON, "another step")
        session.run(queue.enqueue(1.0))
        assert waiting.end() == 1
        assert not events(worker, "step_stuck")
