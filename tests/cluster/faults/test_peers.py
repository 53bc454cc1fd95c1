"""Peers that are missing, late, silent, or somebody else."""
import signal
import socket
import threading
import time

from tests.cluster.client import expect, graph, kept_session, run, tf
from tests.cluster.cluster import PAUSE, Cluster
from tests.cluster.suite import test

WAIT = 2  # --peer_wait of these clusters
SLACK = 3  # seconds beyond it
PATIENT = ["--peer_wait=%ds" % WAIT]
PS0 = "/job:ps/replica:0/task:0"
CLOSE = 10  # seconds that closing may take, whatever peers do


@test(limit=60)
def a_session_waits_for_a_peer_that_is_late(server):
    with Cluster(server, start=False, ps=1, worker=1) as cluster, graph():
        cluster.start("worker", 0)
        with tf.device("/job:ps"):
            x = tf.constant(1.0) + 1
        session, results = kept_session(cluster.target()), []
        thread = threading.Thread(
            target=lambda: results.append(session.run(x)))
        thread.start()
        cluster.start("ps", 0)
        thread.join()
        assert results == [2.0]
        session.close()


@test(limit=60)
def the_client_may_bound_the_wait(server):
    with Cluster(server, start=False, ps=1, worker=1) as cluster, graph():
        cluster.start("worker", 0)
        config = tf.ConfigProto(operation_timeout_in_ms=1000)
        start = time.monotonic()
        with expect(tf.errors.DeadlineExceededError):
            kept_session(cluster.target(), config=config).run(tf.constant(1))
        assert time.monotonic() - start < 1 + SLACK


def refused_session(cluster, *texts, at_least=0):
    """Opening a session fails within --peer_wait, with these texts."""
    start = time.monotonic()
    with graph(), expect(tf.errors.DeadlineExceededError, *texts):
        run(cluster.target(), tf.constant(1))
    seconds = time.monotonic() - start
    assert at_least <= seconds < WAIT + SLACK, "after %.1f s" % seconds


@test(limit=60, tfd_only=True)
def missing_peers_are_named_with_the_reason(server):
    with Cluster(server, PATIENT, start=False, ps=2, worker=2) as cluster:
        cluster.start("worker", 0)
        cluster.start("ps", 1)
        refused_session(cluster, "/job:ps/replica:0/task:0",
                        "/job:worker/replica:0/task:1", "refused",
                        at_least=WAIT - 0.5)
        try:
            with graph():
                run(cluster.target(), tf.constant(1))
        except tf.errors.DeadlineExceededError as error:
            assert "/job:ps/replica:0/task:1" not in error.message
        cluster.start("ps", 0)
        cluster.start("worker", 1)
        with graph():
            assert run(cluster.target(), tf.constant(1)) == 1


def with_ps_at(server, address):
    """A cluster whose worker runs and believes its ps to be at address."""
    cluster = Cluster(server, PATIENT, start=False, ps=1, worker=1)
    cluster.spec["ps"] = [address]
    cluster.start("worker", 0)
    return cluster


@test(limit=60, tfd_only=True)
def a_name_that_does_not_resolve_is_the_reason(server):
    with with_ps_at(server, "no-such-host.invalid:2222") as cluster:
        refused_session(cluster, PS0, "no-such-host.invalid", "resolve")


@test(limit=60, tfd_only=True)
def a_silent_peer_is_the_reason(server):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        address = "127.0.0.1:%d" % silent.getsockname()[1]
        with with_ps_at(server, address) as cluster:
            refused_session(cluster, PS0, "silent", at_least=WAIT - 0.5)


@test(limit=60, tfd_only=True)
def another_task_at_the_address_is_the_reason(server):
    """The ps's address is served by a task of another cluster."""
    with Cluster(server, worker=3) as other:
        address = other["worker", 2].address
        with with_ps_at(server, address) as cluster:
            refused_session(cluster, PS0, "another task answered",
                            "/job:worker/replica:0/task:2")


@test(limit=60, tfd_only=True)
def two_tasks_that_changed_places_are_found_out(server):
    with Cluster(server, PATIENT, start=False, ps=2, worker=1) as cluster:
        cluster.start("worker", 0)
        swapped = {"ps": cluster.spec["ps"][::-1],
                   "worker": cluster.spec["worker"]}
        for index in (0, 1):
            cluster["ps", index].start(
                {"cluster": swapped,
                 "task": {"type": "ps", "index": 1 - index}}, PATIENT)
        refused_session(cluster, "/job:ps/replica:0/task:0",
                        "/job:ps/replica:0/task:1")


@test(limit=60, tfd_only=True)
def no_server_at_the_address_but_http(server):
    """Something else answers: an HTTP/1 server."""
    def serve(listener):
        while True:
            link, _ = listener.accept()
            link.recv(1000)
            link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            link.close()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        with with_ps_at(server, address) as cluster:
            refused_session(cluster, PS0)


@test(limit=60, tfd_only=True)
def an_evaluator_is_not_waited_for(server):
    """It may be in TF_CONFIG and is not part of the training cluster."""
    with Cluster(server, PATIENT, start=False, ps=1, worker=1,
                 evaluator=1) as cluster:
        cluster.start("ps", 0)
        cluster.start("worker", 0)
        with graph():
            assert run(cluster.target(), tf.constant(1)) == 1


@test(limit=60, tfd_only=True)
def waiting_for_ever_is_a_choice(server):
    """--peer_wait=0 waits as TensorFlow does, until the client gives up."""
    with Cluster(server, ["--peer_wait=0"], start=False, ps=1,
                 worker=1) as cluster:
        cluster.start("worker", 0)
        config = tf.ConfigProto(operation_timeout_in_ms=(WAIT + 1) * 1000)
        start = time.monotonic()
        with graph(), expect(tf.errors.DeadlineExceededError,
                             "Deadline Exceeded"):
            kept_session(cluster.target(), config=config).run(tf.constant(1))
        assert time.monotonic() - start > WAIT


@test(limit=60, tfd_only=True)
def closing_waits_for_a_silent_peer_within_its_limit(server):
    """Neither the graph that it was to register nor its session there."""
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            x = tf.constant(1.0) + 1
            y = x * 2
        session, errors = kept_session(cluster.target()), []

        def work():
            try:
                session.run(y)
            except tf.errors.OpError as error:
                errors.append(error)

        assert session.run(x) == 2.0
        cluster["ps", 0].signal(signal.SIGSTOP)
        try:
            thread = threading.Thread(target=work)
            thread.start()
            PAUSE.wait(0.5)  # so that the graph is on its way
            start = time.monotonic()
            session.close()
            seconds = time.monotonic() - start
            thread.join()
        finally:
            cluster["ps", 0].signal(signal.SIGCONT)
        assert seconds < CLOSE + SLACK, "after %.1f s" % seconds
        assert isinstance(errors[0], (tf.errors.CancelledError,
                                      tf.errors.UnavailableError)), errors
