"""Tasks killed with -9 and started again, at the worst moments."""
import os
import signal
import threading
import time

from tests.cluster.client import expect, graph, kept_session, plain_config, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults.training import Trainer
from tests.cluster.suite import test

LOST = (tf.errors.AbortedError, tf.errors.UnavailableError)
SOON = 10  # seconds within which a broken link must be an error


def lost(server):
    """Errors after which training starts a new session.

    TensorFlow's server sometimes reports CANCELLED, which follows from the
    ABORTED beside it; tfd must name the cause."""
    return LOST if server.is_tfd else LOST + (tf.errors.CancelledError,)


def endless(device):
    tf.disable_control_flow_v2()
    with tf.device(device):
        return tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])


def outcome(session, fetch):
    """Starts a step; returns (thread, list that gets its error)."""
    errors = []

    def work():
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, errors


@test(limit=90)
def training_goes_on_after_its_ps_was_killed(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        trainer, kills = Trainer(cluster.target(), lost(server)), [25, 57]

        def kill_now_and_then(step):
            if kills and step == kills[0]:
                kills.pop(0)
                cluster["ps", 0].kill()
                cluster.start("ps", 0)

        first, last, step = trainer.run(100, kill_now_and_then)
        assert step == 100 and not kills
        assert trainer.lost >= 2, trainer.lost
        assert last < first / 10, (first, last)


@test(limit=90)
def training_goes_on_when_one_of_two_ps_was_killed(server):
    with Cluster(server, ps=2, worker=1) as cluster:
        trainer = Trainer(cluster.target(), lost(server), ps_tasks=2)

        def kill_once(step):
            if step == 33 and not trainer.lost:
                cluster["ps", 1].kill()
                cluster.start("ps", 1)

        first, last, step = trainer.run(60, kill_once)
        assert step == 60 and trainer.lost >= 1
        assert last < first / 10, (first, last)


@test(limit=90)
def training_goes_on_after_its_master_was_killed(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        trainer = Trainer(cluster.target(), lost(server))

        def kill_once(step):
            if step == 33 and not trainer.lost:
                cluster["worker", 0].kill()
                cluster.start("worker", 0)

        first, last, step = trainer.run(60, kill_once)
        assert step == 60 and trainer.lost >= 1
        assert last < first / 10, (first, last)


@test(limit=60)
def a_step_ends_when_its_ps_dies(server):
    """The ps dies computing, the worker waiting for it; then between steps."""
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        loop = endless("/job:ps")
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True)
        session = kept_session(cluster.target(), config=plain_config())
        session.run(v.initializer)
        thread, errors = outcome(session, loop)
        assert session.run(v) == 1.0
        cluster["ps", 0].kill()
        thread.join(SOON)
        assert errors and isinstance(errors[0], LOST), errors
        with expect(LOST):
            session.run(v)


@test(limit=60)
def after_a_restart_old_sessions_end_and_new_ones_work(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True, name="lost")
        old = kept_session(cluster.target())
        old.run(v.initializer)
        before = {d.name: d.incarnation for d in old.list_devices()}
        cluster["ps", 0].kill()
        cluster.start("ps", 0)
        with expect(LOST):
            old.run(v)
        with tf.Session(cluster.target()) as session:
            after = {d.name: d.incarnation for d in session.list_devices()}
            changed = [n for n in before if before[n] != after[n]]
            assert changed == ["/job:ps/replica:0/task:0/device:CPU:0"]
            with expect(tf.errors.FailedPreconditionError):
                session.run(v)
            session.run(v.initializer)
            assert session.run(v) == 1.0


@test(limit=60)
def a_killed_worker_does_not_concern_the_others(server):
    with Cluster(server, ps=1, worker=2) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(0.0, use_resource=True)
        with tf.device("/job:worker/task:1"):
            there = tf.constant(1.0) + v
        session = kept_session(cluster.target())
        session.run(v.initializer)
        assert session.run(there) == 1.0
        cluster["worker", 1].kill()
        for i in range(20):
            assert session.run(v.assign_add(1.0)) == i + 1
        with expect(LOST):
            session.run(there)
        assert session.run(v) == 20.0


@test(limit=60)
def a_session_need_not_wait_for_who_it_filters_out(server):
    filters = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with Cluster(server, start=False, ps=1, worker=2) as cluster, graph():
        cluster.start("ps", 0)
        cluster.start("worker", 0)
        with tf.device("/job:ps"):
            x = tf.constant(2.0) * 2
        with tf.Session(cluster.target(), config=filters) as session:
            assert session.run(x) == 4.0
            assert len(session.list_devices()) == 2


@test(limit=60, tfd_only=True)
def a_session_with_a_dead_task_closes_soon(server):
    """TensorFlow waits until the task is back."""
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(0.0, use_resource=True)
        session = tf.Session(cluster.target())
        session.run(v.initializer)
        cluster["ps", 0].kill()
        with expect(LOST):
            session.run(v)
        start = time.monotonic()
        session.close()
        assert time.monotonic() - start < SOON


@test(limit=60)
def a_killed_client_leaves_the_server_well(server):
    """Killed in the midst of a step and of sending a large feed."""
    with Cluster(server, worker=1) as cluster:
        for _ in range(3):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                with graph():
                    session = tf.Session(cluster.target())
                    session.run(tf.constant(0))
                    os.write(writing, b"x")
                    session.run(endless(""))
                os._exit(1)
            os.read(reading, 1)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        with graph(), tf.Session(cluster.target()) as session:
            assert session.run(tf.constant(2.0) * 2) == 4.0
        assert cluster.alive()


@test(limit=60, tfd_only=True)
def a_killed_clients_step_ends(server):
    """Else the drain, which waits for running steps, would time out."""
    with Cluster(server, ["--drain_timeout=40s"], worker=1) as cluster:
        pid = os.fork()
        if pid == 0:
            with graph():
                tf.disable_control_flow_v2()
                v = tf.Variable(0.0, use_resource=True, name="begun")

                def body(i):
                    with tf.control_dependencies([v.assign(1.0)]):
                        return i * 0

                loop = tf.while_loop(lambda i: i >= 0, body, [0])
                session = tf.Session(cluster.target())
                session.run(v.initializer)
                session.run(loop)
            os._exit(1)
        with graph(), tf.Session(cluster.target()) as session:
            v = tf.Variable(0.0, use_resource=True, name="begun")
            ready = tf.is_variable_initialized(v)
            wait_until(lambda: session.run(ready) and session.run(v) == 1.0,
                       20, "the step of the other client")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        task = cluster["worker", 0]
        task.signal(signal.SIGTERM)
        assert task.exit_code(SOON) == 0
