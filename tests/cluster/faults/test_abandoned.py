"""Sessions, connections and masters that nobody ends."""
import os
import signal

from tests.cluster.client import expect, graph, kept_session, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.runner import die_with_parent
from tests.cluster.suite import test
from tests.cluster.watch import metric, metrics, resident, wait_metric

TFD = dict(tfd_only=True)
IDLE = ["--session_idle=1s"]
SOON = 15
CONNECTIONS_PER_PEER = 256  # config/limits.h


def in_child(function):
    """Runs it in a process that then waits to be killed; returns its id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            function()
            os.write(writing, b"x")
            signal.pause()
        finally:
            os._exit(1)
    assert os.read(reading, 1) == b"x"
    return pid


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def use_session(cluster):
    """Opens a session on the worker that has a graph on the ps."""
    with graph():
        with tf.device("/job:ps"):
            x = tf.constant(1.0) + 1
        session = kept_session(cluster.target())
        assert session.run(x) == 2.0
    return session


@test(limit=60, **TFD)
def a_killed_clients_session_is_reclaimed_everywhere(server):
    with Cluster(server, IDLE, ps=1, worker=1) as cluster:
        pid = in_child(lambda: use_session(cluster))
        ps, worker = cluster["ps", 0], cluster["worker", 0]
        assert metric(worker, "tfd_sessions") == 1
        assert metric(ps, "tfd_worker_graphs") == 1
        kill(pid)
        wait_metric(worker, "tfd_sessions", 0, SOON)
        wait_metric(ps, "tfd_worker_sessions", 0, SOON)
        assert metric(ps, "tfd_worker_graphs") == 0
        assert metric(worker, "tfd_sessions_abandoned_total") == 1
        assert "session_abandoned" in worker.log_text()
        use_session(cluster).close()


@test(limit=60, **TFD)
def a_session_whose_client_thinks_stays(server):
    """No call for three times the limit, but the client is there."""
    with Cluster(server, IDLE, ps=1, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        # Before our own threads are there, which a fork would lose.
        others = [in_child(lambda: use_session(cluster)) for _ in range(3)]
        with tf.device("/job:ps"):
            x = tf.constant(1.0) + 1
        session = kept_session(cluster.target())
        assert session.run(x) == 2.0
        for left, other in zip((3, 2, 1), others):
            kill(other)  # reclaimed after the limit, as ours would be
            wait_metric(worker, "tfd_sessions", left, SOON)
        assert metric(cluster["ps", 0],
                      "tfd_worker_sessions_abandoned_total") == 0
        assert session.run(x) == 2.0
        session.close()


@test(limit=60, **TFD)
def without_a_limit_sessions_stay(server):
    with Cluster(server, ["--session_idle=0"], worker=1) as cluster, graph():
        with Cluster(server, IDLE, worker=1) as other:
            pids = [in_child(lambda c=c: kept_session(c.target()).run(
                tf.constant(1))) for c in (cluster, other)]
            for pid in pids:
                kill(pid)
            wait_metric(other["worker", 0], "tfd_sessions", 0, SOON)
        assert metric(cluster["worker", 0], "tfd_sessions") == 1


@test(limit=60, **TFD)
def a_dead_masters_session_is_dropped(server):
    """The master is killed and never comes back."""
    with Cluster(server, IDLE, ps=1, worker=1) as cluster:
        use_session(cluster)
        ps = cluster["ps", 0]
        assert metric(ps, "tfd_worker_sessions") == 1
        cluster["worker", 0].kill()
        wait_metric(ps, "tfd_worker_sessions", 0, SOON)
        assert metric(ps, "tfd_worker_graphs") == 0
        assert "worker_session_abandoned" in ps.log_text()


@test(limit=60, **TFD)
def a_restarted_master_knows_its_old_sessions_no_more(server):
    with Cluster(server, IDLE, ps=1, worker=1) as cluster:
        use_session(cluster)
        cluster["worker", 0].kill()
        cluster.start("worker", 0)
        wait_metric(cluster["ps", 0], "tfd_worker_sessions", 0, SOON)


@test(limit=60, **TFD)
def what_a_stopped_ps_did_not_hear_of_is_dropped_later(server):
    """Its master closes the session while it cannot be reached."""
    quick = ["--heartbeat_interval=200ms", "--peer_timeout=1s"]
    with Cluster(server, IDLE + quick, ps=1, worker=1) as cluster:
        session, ps = use_session(cluster), cluster["ps", 0]
        ps.signal(signal.SIGSTOP)
        session.close()
        ps.signal(signal.SIGCONT)
        wait_metric(ps, "tfd_worker_sessions", 0, SOON)


# ---- Connections ------------------------------------------------------------

def connect_from(host, port):
    link = wire.socket.socket()
    link.settimeout(10)
    link.bind((host, 0))
    link.connect(("127.0.0.1", port))
    link.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))
    return link


@test(limit=60, **TFD)
def a_thousand_idle_connections_cost_ten_megabytes(server):
    # More than these, for those that ask for figures while the ends of others
    # have not been read.
    with Cluster(server, ["--connections_per_peer=1010"],
                 worker=1) as cluster:
        task = cluster["worker", 0]
        with graph(), tf.Session(cluster.target()) as session:
            session.run(tf.constant(1))
        before = resident(task)
        links = [connect_from("127.0.0.2", task.port) for i in range(1000)]
        for link in links:
            assert link.recv(9)  # its settings
        cost = resident(task) - before
        assert metric(task, "tfd_connections") >= 1000
        assert cost <= 10e6, "%.1f MB" % (cost / 1e6)
        print("1,000 connections: %.1f MB" % (cost / 1e6))
        for link in links:
            link.close()
        wait_metric(task, "tfd_connections", 1, SOON)


def ended(link):
    """Whether the server has closed it; what it says before is read."""
    link.setblocking(False)
    try:
        while link.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@test(limit=60, **TFD)
def an_idle_connection_makes_room_for_another(server):
    """All of this host counts as one; whoever has a session stays."""
    with Cluster(server, worker=1) as cluster, graph():
        task = cluster["worker", 0]
        x = tf.constant(1)
        session = kept_session(cluster.target())
        assert session.run(x) == 1
        links = []
        for _ in range(CONNECTIONS_PER_PEER - 2):
            links.append(connect_from("127.0.0.1", task.port))
            assert links[-1].recv(9)

        def served():
            try:
                links.append(connect_from("127.0.0.1", task.port))
                return links[-1].recv(9)
            except ConnectionError:  # all are too young to go
                return False

        for _ in range(8):
            wait_until(served, SOON, "room for one more")
        wait_until(lambda: ended(links[0]), SOON, "the oldest to go")
        assert not ended(links[100])
        assert "connection_displaced" in task.log_text()
        assert session.run(x) == 1
        assert metrics(task)["tfd_connections"] <= CONNECTIONS_PER_PEER
        assert metrics(task)["tfd_sessions"] == 1


@test(limit=60, **TFD)
def a_closed_session_is_an_error_to_recover_from(server):
    """What the client of a reclaimed session sees if it was not gone."""
    with Cluster(server, IDLE, worker=1) as cluster:
        with graph():
            x = tf.constant(1.0)
            session = kept_session(cluster.target())
            session.run(x)
            tf.Session.reset(cluster.target())
            with expect(tf.errors.AbortedError, "is not found"):
                session.run(x)
