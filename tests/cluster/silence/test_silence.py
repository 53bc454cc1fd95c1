"""Peers that are stopped: alive to the kernel, and no sign of life."""
import signal
import threading
import time

from tests.cluster.client import expect, graph, kept_session, plain_config, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults.mixed import real
from tests.cluster.faults.test_kills import endless, outcome
from tests.cluster.suite import test
from tests.cluster.watch import metric

TFD = dict(tfd_only=True)
PS = "/job:ps/replica:0/task:0"
QUICK = ["--heartbeat_interval=200ms", "--peer_timeout=2s"]
SOON = 15  # seconds within which a step must end, and a server


def running(task):
    return lambda: metric(task, "tfd_worker_steps_running") > 0


def check_lost(errors, seconds, within):
    assert errors, "no error"
    assert isinstance(errors[0], tf.errors.UnavailableError), errors
    for text in (PS, "no sign of life", "--peer_timeout"):
        assert text in errors[0].message, errors[0].message
    assert seconds < within, "after %.1f s" % seconds


def lose_ps(cluster, within):
    """A step whose ps is stopped ends with the reason; returns its session."""
    with graph():
        loop = endless("/job:ps")
        session = kept_session(cluster.target(), config=plain_config())
        thread, errors = outcome(session, loop)
        wait_until(running(cluster["ps", 0]), 10, "the step on the ps")
        cluster["ps", 0].signal(signal.SIGSTOP)
        start = time.monotonic()
        thread.join(within + 5)
        check_lost(errors, time.monotonic() - start, within)
        return session


@test(limit=60, **TFD)
def a_stopped_ps_is_noticed_within_ten_seconds(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        session = lose_ps(cluster, 10)
        start = time.monotonic()
        session.close()
        assert time.monotonic() - start < SOON
        cluster["ps", 0].signal(signal.SIGCONT)
        with graph(), tf.device("/job:ps"):
            v = tf.Variable(3.0, use_resource=True)
            with tf.Session(cluster.target()) as again:
                again.run(v.initializer)
                assert again.run(v) == 3.0


@test(limit=60, **TFD)
def a_server_stops_although_a_peer_is_silent(server):
    with Cluster(server, QUICK, ps=1, worker=1) as cluster:
        lose_ps(cluster, 5)
        start = time.monotonic()
        cluster["worker", 0].signal(signal.SIGTERM)
        assert cluster["worker", 0].exit_code(SOON) == 0
        assert time.monotonic() - start < SOON
        cluster["ps", 0].signal(signal.SIGCONT)


@test(limit=60, **TFD)
def a_server_with_a_step_on_a_silent_peer_stops(server):
    """SIGTERM first, then the ps falls silent: the drain must see it."""
    with Cluster(server, QUICK, ps=1, worker=1) as cluster, graph():
        session = kept_session(cluster.target(), config=plain_config())
        outcome(session, endless("/job:ps"))
        wait_until(running(cluster["ps", 0]), 10, "the step on the ps")
        cluster["ps", 0].signal(signal.SIGSTOP)
        cluster["worker", 0].signal(signal.SIGTERM)
        assert cluster["worker", 0].exit_code(SOON) == 0
        cluster["ps", 0].signal(signal.SIGCONT)


def used_ps(cluster):
    """A session with a variable on the ps, and the op that reads it."""
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
    session = kept_session(cluster.target(), config=plain_config())
    session.run(v.initializer)
    return session, v.initializer, v.read_value()


def seconds_of(function, *arguments):
    start = time.monotonic()
    function(*arguments)
    return time.monotonic() - start


def is_uninitialized(cluster, read):
    with tf.Session(cluster.target(), config=plain_config()) as session:
        try:
            session.run(read)
        except tf.errors.FailedPreconditionError:
            return True
    return False


@test(limit=60, **TFD)
def a_reset_does_not_wait_for_a_silent_ps(server):
    """Nobody asks for signs of life: the limits of Reset itself."""
    with Cluster(server, ["--heartbeat_interval=0"], ps=1,
                 worker=1) as cluster, graph():
        _, _, read = used_ps(cluster)
        cluster["ps", 0].signal(signal.SIGSTOP)
        assert seconds_of(tf.Session.reset, cluster.target()) < SOON
        log = cluster["worker", 0].log_text()
        assert "cleanup_late task=" + PS in log, log
        cluster["ps", 0].signal(signal.SIGCONT)
        wait_until(lambda: "cleanup_done task=" + PS in
                   cluster["worker", 0].log_text(), 10, "the late cleanup")
        assert is_uninitialized(cluster, read)


@test(limit=60, **TFD)
def a_reset_is_done_by_a_ps_that_was_given_up(server):
    """The ps finds it behind the connection that its peer has closed."""
    with Cluster(server, QUICK, ps=1, worker=1) as cluster, graph():
        session, _, read = used_ps(cluster)
        session.close()
        cluster["ps", 0].signal(signal.SIGSTOP)
        assert seconds_of(tf.Session.reset, cluster.target()) < 5
        log = cluster["worker", 0].log_text()
        assert "cleanup_failed task=" + PS in log, log
        cluster["ps", 0].signal(signal.SIGCONT)
        assert is_uninitialized(cluster, read)


@test(limit=60, **TFD)
def a_late_cleanup_ends_with_its_ps(server):
    """What a new ps is given is not what was to be cleaned up."""
    with Cluster(server, ["--heartbeat_interval=0"], ps=1,
                 worker=1) as cluster, graph():
        session, initialize, read = used_ps(cluster)
        session.close()
        cluster["ps", 0].signal(signal.SIGSTOP)
        assert seconds_of(tf.Session.reset, cluster.target()) < SOON
        cluster["ps", 0].kill()
        cluster.start("ps", 0)
        wait_until(lambda: "cleanup_failed task=" + PS in
                   cluster["worker", 0].log_text(), 10, "the end of the call")
        with tf.Session(cluster.target(), config=plain_config()) as again:
            again.run(initialize)
            assert again.run(read) == 1.0


@test(limit=60, **TFD)
def a_session_with_a_silent_ps_closes_soon(server):
    with Cluster(server, ["--heartbeat_interval=0"], ps=1,
                 worker=1) as cluster, graph():
        session, _, read = used_ps(cluster)
        cluster["ps", 0].signal(signal.SIGSTOP)
        assert seconds_of(session.close) < SOON
        cluster["ps", 0].signal(signal.SIGCONT)
        with tf.Session(cluster.target(), config=plain_config()) as again:
            assert again.run(read) == 1.0


@test(limit=60, **TFD)
def a_short_pause_is_invisible(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True)
        session = kept_session(cluster.target())
        session.run(v.initializer)
        ps = cluster["ps", 0]
        ps.signal(signal.SIGSTOP)
        timer = threading.Timer(3, ps.signal, [signal.SIGCONT])
        timer.start()
        assert session.run(v) == 1.0
        timer.join()
        session.close()


@test(limit=60, **TFD)
def a_busy_peer_is_alive(server):
    """Its one compute thread is busy for much longer than the limit."""
    with Cluster(server, ["--heartbeat_interval=100ms", "--peer_timeout=1s",
                          "--threads=1"], ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            m = tf.fill([700, 700], 1e-3)
            for _ in range(800):
                m = tf.matmul(m, m) * 1e-3
            many = tf.reduce_sum(m)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            start = time.monotonic()
            session.run(many)
            assert time.monotonic() - start > 1.5, "too quick to be a test"


@test(limit=60, **TFD)
def a_process_that_was_stopped_itself_loses_nobody(server):
    """The worker is stopped longer than it would wait for others; the ps, which
    asks it all the time, has a longer patience."""
    with Cluster(server, QUICK, start=False, ps=1,
                 worker=1) as cluster, graph():
        cluster.start("ps", 0, flags=["--peer_timeout=30s"])
        cluster.start("worker", 0)
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True)
        session = kept_session(cluster.target())
        session.run(v.initializer)
        worker = cluster["worker", 0]
        worker.signal(signal.SIGSTOP)
        timer = threading.Timer(5, worker.signal, [signal.SIGCONT])
        timer.start()
        timer.join()
        assert session.run(v) == 1.0
        assert "no sign of life" not in worker.log_text()
        session.close()


def starts_on_the_ps(session):
    """Starts an endless loop there; returns (thread, errors) once it turns.

    A real server takes no notice of a call that its caller has given up before
    it is read (its RequestCancelled() comes before SetCancelCallback()): then
    the loop would turn for ever, and two of them take both of its threads.
    Nor does it say what it runs, so the loop counts."""
    tf.disable_control_flow_v2()
    with tf.device("/job:ps"):
        turns = tf.Variable(0.0, use_resource=True)
        loop = tf.while_loop(lambda i: i >= 0.0,
                             lambda i: 0.0 * turns.assign_add(1.0), [0.0])
    session.run(turns.initializer)
    thread, errors = outcome(session, loop)
    wait_until(lambda: session.run(turns) > 0, SOON, "the loop's first turn")
    return thread, errors


@test(limit=120, **TFD)
def a_real_ps_that_falls_silent_or_dies_is_named(server):
    """With the flags that everybody has; killed in a step, and back."""
    with Cluster(server, others={("ps", 0): real(server)}, ps=1,
                 worker=1) as cluster, graph():
        ps = cluster["ps", 0]
        with tf.device("/job:ps"):
            v = tf.Variable(3.0, use_resource=True)
        session = kept_session(cluster.target(), config=plain_config())
        session.run(v.initializer)
        thread, errors = starts_on_the_ps(session)
        ps.signal(signal.SIGSTOP)
        start = time.monotonic()
        thread.join(15)
        check_lost(errors, time.monotonic() - start, 10)
        session.close()
        ps.signal(signal.SIGCONT)

        session = kept_session(cluster.target(), config=plain_config())
        thread, errors = starts_on_the_ps(session)
        ps.kill()
        start = time.monotonic()
        thread.join(10)
        assert errors and PS in errors[0].message, errors
        assert time.monotonic() - start < 5
        cluster.start("ps", 0)

        def trains_again():
            with tf.Session(cluster.target(), config=plain_config()) as new:
                try:
                    new.run(v.initializer)
                    return new.run(v) == 3.0
                except tf.errors.OpError:
                    return False  # the session was opened too early

        wait_until(trains_again, SOON, "a session with the ps that is back")


@test(limit=90, **TFD)
def a_real_ps_is_watched_too(server):
    """It may think for long, and must not be asked so often that it hangs up;
    stopped, it is noticed."""
    with Cluster(server, QUICK, start=False, ps=1,
                 worker=1) as cluster, graph():
        cluster["ps", 0].server = real(server)
        cluster["ps", 0].start(cluster.config("ps", 0))
        cluster.start("worker", 0)
        tf.disable_control_flow_v2()
        with tf.device("/job:ps"):
            v = tf.Variable(0.0, use_resource=True)
            get = tf.while_loop(lambda i: v.read_value() < 1.0,
                                lambda i: i * 0 + 1.0, [0.0])
            put = v.assign(1.0)
        session = kept_session(cluster.target(), config=plain_config())
        session.run(v.initializer)
        values = []
        thread = threading.Thread(
            target=lambda: values.append(session.run(get)), daemon=True)
        thread.start()
        thread.join(6)  # a step that takes thirty questions
        assert thread.is_alive() and not values
        session.run(put)
        thread.join(5)
        assert values == [1.0]
        session.run(v.initializer)
        thread, errors = outcome(session, get)
        thread.join(1)
        cluster["ps", 0].signal(signal.SIGSTOP)
        start = time.monotonic()
        thread.join(SOON)
        check_lost(errors, time.monotonic() - start, 6)
        cluster["ps", 0].kill()


@test(limit=60, **TFD)
def a_restarted_ps_is_aborted_not_silence(server):
    """Killed while it is stopped and started again: a new incarnation."""
    with Cluster(server, QUICK, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True)
        session = kept_session(cluster.target())
        session.run(v.initializer)
        cluster["ps", 0].signal(signal.SIGSTOP)
        cluster["ps", 0].kill()
        cluster.start("ps", 0)
        with expect((tf.errors.AbortedError, tf.errors.UnavailableError), PS):
            session.run(v)
        with expect(tf.errors.AbortedError, "restarted"):
            session.run(v)
        session.close()
