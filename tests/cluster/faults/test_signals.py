"""SIGTERM and SIGINT in each phase: what runs ends well, then exit 0."""
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from tests.cluster.client import (expect, graph, kept_session, plain_config,
                                  run, tf)
from tests.cluster.cluster import PAUSE, Cluster, wait_until
from tests.cluster.raw import Raw, code_of, constant, graph_of, message
from tests.cluster.runner import Skip
from tests.cluster.suite import test

GONE = (tf.errors.UnavailableError, tf.errors.AbortedError,
        tf.errors.CancelledError)
# What clients begin a new session after.  They wait for a server that is gone
# as long as they were told to, so it may be that, too.
RETRIED = (tf.errors.UnavailableError, tf.errors.AbortedError,
           tf.errors.DeadlineExceededError)
SOON = 5  # seconds to stop when nothing needs time
NOT_SERVING = 2
NOTICE = "/tfd.Peer/Draining"
PAGES = ("/livez", "/readyz", "/healthz")
TFD = dict(limit=60, tfd_only=True)


class LongStep:
    """A step in another thread, known to have begun; it runs until `turns`
    iterations, or for ever."""

    def __init__(self, target, turns=None, device="", name="long",
                 config=None):
        tf.disable_control_flow_v2()
        self.error = self.value = None
        with tf.Graph().as_default() as g, tf.device(device):
            begun = tf.Variable(0.0, use_resource=True, name=name)

            def body(i):
                with tf.control_dependencies([begun.assign(1.0)]):
                    return i + 1

            limit = 2 ** 31 - 1 if turns is None else turns
            self.loop = tf.while_loop(
                lambda i: tf.not_equal(i, limit),
                body if turns is not None else lambda i: body(i) * 0, [0])
            read, start = begun.read_value(), begun.initializer
        self.session = kept_session(target, graph=g, config=config)
        self.session.run(start)
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()
        wait_until(lambda: self.session.run(read) == 1.0, 20, "the long step")

    def _work(self):
        try:
            self.value = self.session.run(self.loop)
        except tf.errors.OpError as error:
            self.error = error


def turns_for(target, seconds):
    """Iterations that keep a LongStep busy for about that long."""
    start = time.monotonic()
    LongStep(target, 20000, name="measure").thread.join()
    return int(20000 * seconds / (time.monotonic() - start))


@test(**TFD)
def an_idle_server_stops_at_once(server):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Cluster(server, ps=1, worker=1) as cluster:
            with graph():
                assert run(cluster.target(), tf.constant(1)) == 1
            for task in cluster.tasks.values():
                task.signal(number)
            for task in cluster.tasks.values():
                assert task.exit_code(SOON) == 0, task.log_tail()


@test(**TFD)
def a_server_with_an_open_session_stops_at_once(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        session = kept_session(cluster.target())
        with tf.device("/job:ps"):
            assert session.run(tf.constant(1) + 1) == 2
        for task in cluster.tasks.values():
            task.signal(signal.SIGTERM)
        for task in cluster.tasks.values():
            assert task.exit_code(SOON) == 0, task.log_tail()


@test(**TFD)
def a_server_can_be_stopped_while_it_starts(server):
    """At any instant: either the signal's own end or a clean one."""
    for step in range(12):
        with Cluster(server, start=False, worker=1) as cluster:
            task = cluster.start("worker", 0, wait=False)
            PAUSE.wait(step / 400)  # where in the start it hits
            task.signal(signal.SIGTERM)
            assert task.exit_code(SOON) in (0, -signal.SIGTERM)


@test(**TFD)
def a_running_step_is_finished_first(server):
    """Its caller gets the value although the signal came in its midst."""
    with Cluster(server, worker=1) as cluster:
        step = LongStep(cluster.target(), turns_for(cluster.target(), 2))
        task = cluster["worker", 0]
        task.signal(signal.SIGTERM)
        step.thread.join(20)
        assert step.error is None and step.value, step.error
        assert task.exit_code(SOON) == 0, task.log_tail()


@test(**TFD)
def a_ps_finishes_the_step_of_its_worker(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        turns = turns_for(cluster.target(), 2)
        step = LongStep(cluster.target(), turns, "/job:ps")
        cluster["ps", 0].signal(signal.SIGTERM)
        step.thread.join(20)
        assert step.error is None and step.value, step.error
        assert cluster["ps", 0].exit_code(SOON) == 0


@test(**TFD)
def a_step_without_end_is_cut_off(server):
    with Cluster(server, ["--drain_timeout=1s"], ps=1, worker=1) as cluster:
        for device in ("", "/job:ps"):
            step = LongStep(cluster.target(), None, device,
                            "on" + device.strip("/").replace(":", "_"))
            task = cluster["ps" if device else "worker", 0]
            task.signal(signal.SIGTERM)
            assert task.exit_code(1 + SOON) == 0, task.log_tail()
            step.thread.join(SOON)
            assert isinstance(step.error, GONE), step.error
            cluster.start("ps" if device else "worker", 0)


@test(**TFD)
def the_callers_of_steps_that_are_cut_off_hear_of_it(server):
    """Also from a task that has nobody to take leave of."""
    for jobs in (dict(worker=1), dict(ps=1, worker=1)):
        with Cluster(server, ["--drain_timeout=1s"], **jobs) as cluster:
            steps = [LongStep(cluster.target(), name="long%d" % i)
                     for i in range(3)]
            task = cluster["worker", 0]
            task.signal(signal.SIGTERM)
            assert task.exit_code(1 + SOON) == 0, task.log_tail()
            for step in steps:
                step.thread.join(SOON)
                assert isinstance(step.error, tf.errors.UnavailableError)
                # The master says so or, where it was quicker, the worker.
                text = step.error.message
                assert ("The server is stopping" in text or
                        "is shutting down" in text), text


@test(**TFD)
def a_second_signal_ends_it_at_once(server):
    with Cluster(server, ["--drain_timeout=50s"], worker=1) as cluster:
        task, raw = cluster["worker", 0], Raw(cluster["worker", 0].address)
        assert health(raw) == 1
        LongStep(cluster.target())
        task.signal(signal.SIGTERM)
        wait_until(lambda: health(raw) == NOT_SERVING, SOON, "the drain")
        assert task.alive()
        task.signal(signal.SIGTERM)
        task.exit_code(SOON)


def health(raw):
    request = message("HealthCheckRequest").SerializeToString()
    return message("HealthCheckResponse").FromString(raw.bytes(
        "/grpc.health.v1.Health/Check", request)).status


@test(**TFD)
def a_draining_server_takes_no_new_work(server):
    with Cluster(server, ["--drain_timeout=3s"], worker=1) as cluster:
        task, raw = cluster["worker", 0], Raw(cluster["worker", 0].address)
        assert health(raw) == 1
        LongStep(cluster.target())
        task.signal(signal.SIGTERM)
        wait_until(lambda: health(raw) == NOT_SERVING, SOON, "the drain")
        code, _ = code_of(raw.create, graph_of(constant("a", 1.0)))
        assert code == "UNAVAILABLE", code
        assert task.exit_code(3 + SOON) == 0


def page(task, path):
    """The status of a page, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", task.port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


@test(**TFD)
def a_draining_server_is_alive_and_not_ready(server):
    """On new connections, too; and who connects for work is refused."""
    with Cluster(server, ["--drain_timeout=3s"], worker=1) as cluster:
        task = cluster["worker", 0]
        assert [page(task, path) for path in PAGES] == [200, 200, 200]
        LongStep(cluster.target())
        task.signal(signal.SIGTERM)
        wait_until(lambda: page(task, "/readyz") == 503, SOON, "the drain")
        assert [page(task, path) for path in PAGES] == [200, 503, 200]
        code, text = code_of(Raw(task.address).create,
                             graph_of(constant("a", 1.0)))
        assert code == "UNAVAILABLE" and "shutting down" in text, text
        assert task.exit_code(3 + SOON) == 0


@test(**TFD)
def a_notice_of_a_stop_comes_from_a_task_or_is_refused(server):
    with Cluster(server, worker=1) as cluster:
        raw = Raw(cluster["worker", 0].address)
        for task in (b"", b"x", b"/job:worker/task:1", b"/job:ps/task:0",
                     b"/job:worker/replica:0/task:-1"):
            body = b"\x0a" + bytes([len(task)]) + task
            for bad in (body, body[:-1], body + b"\xff", b"\xff" * 9):
                code, text = code_of(raw.bytes, NOTICE, bad)
                assert code == "INVALID_ARGUMENT", (bad, code, text)
        raw.bytes(NOTICE, b"\x0a\x1c/job:worker/replica:0/task:0")


@test(**TFD)
def clients_of_a_stopped_ps_get_an_error_they_retry_on(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            x = tf.constant(1.0) + 1
        session = kept_session(cluster.target())
        assert session.run(x) == 2.0
        cluster["ps", 0].signal(signal.SIGTERM)
        assert cluster["ps", 0].exit_code(SOON) == 0
        with expect((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(x)


@test(**TFD)
def systemd_is_told_of_start_and_stop(server):
    with tempfile.TemporaryDirectory() as folder, socket.socket(
            socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = folder + "/notify"
        manager.bind(path)
        manager.settimeout(SOON)
        with Cluster(server, start=False, env={"NOTIFY_SOCKET": path},
                     worker=1) as cluster:
            task = cluster.start("worker", 0, wait=False)
            assert receive_until(manager, "READY=1")
            with graph():
                assert run(cluster.target(), tf.constant(1)) == 1
            task.signal(signal.SIGTERM)
            assert receive_until(manager, "STOPPING=1")
            assert task.exit_code(SOON) == 0


def receive_until(manager, word, status=""):
    """The status that came with it."""
    while True:
        lines = manager.recv(4096).decode().splitlines()
        text = [line for line in lines if line.startswith("STATUS=")]
        if word in lines and status in "".join(text):
            return "".join(text)


@test(**TFD)
def systemd_hears_how_it_goes(server):
    """WATCHDOG, sessions and steps, and of the drain when it begins."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(
            socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = folder + "/notify"
        manager.bind(path)
        manager.settimeout(SOON)
        env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"}
        with Cluster(server, ["--drain_timeout=60s"], start=False, env=env,
                     worker=1) as cluster:
            task = cluster.start("worker", 0, wait=False)
            receive_until(manager, "READY=1")
            receive_until(manager, "WATCHDOG=1", " 0 sessions, 0 steps")
            with graph():
                one = tf.constant(1)
                session = kept_session(cluster.target())
                session.run(one)
            receive_until(manager, "WATCHDOG=1", " 1 sessions")
            step = LongStep(cluster.target())
            receive_until(manager, "WATCHDOG=1", " 1 steps running")
            task.signal(signal.SIGTERM)
            receive_until(manager, "STOPPING=1")
            assert task.alive() and step is not None
            receive_until(manager, "WATCHDOG=1", "stopping")
            task.kill()


@test(**TFD)
def a_hangup_ends_nothing(server):
    with Cluster(server, worker=1) as cluster, graph():
        task = cluster["worker", 0]
        for count in (1, 2):
            task.signal(signal.SIGHUP)
            wait_until(lambda: task.log_text().count(" hangup ") == count,
                       SOON, "a line for SIGHUP")
        assert run(cluster.target(), tf.constant(1)) == 1


@test(**TFD)
def as_the_first_process_it_inherits_orphans(server):
    """In a PID namespace of its own, as in a container."""
    script = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        if os.fork() > 0:
            os._exit(0)          # its child becomes the first process's
        os.read(0, 1)
        os._exit(0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
    with subprocess.Popen(
            own_pids() + [sys.executable, "-c", script] + server.command
            + ["--port=0", "--log_level=info"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            for line in process.stdout:
                if b" serving " in line:
                    break
            first = children(process.pid)[0]
            wait_until(lambda: len(children(first)) == 3, SOON, "orphans")
            process.stdin.close()  # they end
            wait_until(lambda: not children(first), 3, "the end of zombies")
            os.kill(first, signal.SIGTERM)
            assert process.wait(SOON) == 0
        finally:
            process.kill()


@test(**TFD)
def as_the_first_process_it_ends_however_early_it_is_told(server):
    """The kernel loses a signal that PID 1 has no handler for; one from before
    main() is ours only if it was blocked then.  Under nohup hangups are ignored
    from the beginning, so the script minds them again: main() is awaited by
    them."""
    early = "signal.signal(signal.SIGHUP, signal.SIG_DFL); print(flush=True); "
    blocked = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); "
    script = "import os, signal, sys; %sos.execvp(sys.argv[1], sys.argv[1:])"
    for turn in range(40):
        begins = [early, blocked + early][turn % 2]
        with subprocess.Popen(
                own_pids() + [sys.executable, "-c", script % begins]
                + server.command + ["--port=0"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL) as process:
            try:
                process.stdout.readline()
                first = children(process.pid)[0]
                while turn % 2 == 0 and not minds_hangups(first):
                    pass
                for _ in range(turn // 2 * 20):  # at another moment each
                    minds_hangups(first)
                os.kill(first, signal.SIGTERM)
                code = process.wait(SOON)
                assert code in (0, 128 + signal.SIGTERM), (turn, code)
            finally:
                process.kill()


def own_pids():
    """A command that starts another one as PID 1."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc",
               "--kill-child=SIGKILL"]
    if subprocess.run(unshare + ["true"], capture_output=True).returncode:
        raise Skip("unshare: no namespaces here")
    return unshare


def minds_hangups(pid):
    """Ignores them, as tfd does from the beginning of main() on, or takes
    them, as it does later; Python does neither."""
    with open("/proc/%d/status" % pid) as status:
        masks = re.findall(r"Sig(?:Ign|Cgt):\s*(\w+)", status.read())
    return any(int(mask, 16) >> signal.SIGHUP - 1 & 1 for mask in masks)


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as listed:
            return [int(word) for word in listed.read().split()]
    except FileNotFoundError as error:
        if os.path.exists("/proc/%d" % pid):
            raise Skip("no lists of children in /proc") from error
        raise


@test(**TFD)
def a_ps_ends_with_its_workers(server):
    """--exit_when=workers-exit, once a worker came and all have gone."""
    with Cluster(server, ["--exit_when=workers-exit"], ps=1,
                 worker=2) as cluster:
        for index in (0, 1):
            with graph(), tf.device("/job:ps"):
                run(cluster.target("worker", index), tf.constant(1) + 1)
        cluster["worker", 0].signal(signal.SIGTERM)
        assert cluster["worker", 0].exit_code(SOON) == 0
        with graph(), tf.Session(cluster.target("ps", 0), config=tf.ConfigProto(
                device_filters=["/job:ps"])) as session:
            assert session.run(tf.constant(3) + 1) == 4  # one is still there
        cluster["worker", 1].signal(signal.SIGTERM)
        assert cluster["ps", 0].exit_code(15) == 0


def stopping_by_itself(server, drain):
    """(cluster, ps): the workers of this ps have left, and all that it
    waits for is a step without end."""
    cluster = Cluster(server, ["--exit_when=workers-exit",
                               "--drain_timeout=" + drain], ps=1, worker=1)
    ps, worker = cluster["ps", 0], cluster["worker", 0]
    with graph(), tf.device("/job:ps"):
        run(worker.target, tf.constant(1) + 1)
    LongStep(ps.target, device="/job:ps",
             config=tf.ConfigProto(device_filters=["/job:ps"]))
    worker.signal(signal.SIGTERM)
    assert worker.exit_code(SOON) == 0, worker.log_tail()
    wait_until(lambda: " stopping why=" in ps.log_text(), 15, "the drain")
    assert "every worker has left" in ps.log_text(), ps.log_tail()
    return cluster, ps


@test(**TFD)
def a_first_signal_does_not_cut_off_who_stops_by_itself(server):
    """Whoever sends it cannot know; the drain goes on, and it is no failure."""
    for number in (signal.SIGTERM, signal.SIGINT):
        cluster, ps = stopping_by_itself(server, "3s")
        with cluster:
            ps.signal(number)
            assert ps.exit_code(3 + SOON) == 0, ps.log_tail()
            assert " drain_timeout " in ps.log_text(), ps.log_tail()


@test(**TFD)
def a_second_signal_ends_who_stops_by_itself(server):
    for first, second in ((signal.SIGTERM, signal.SIGTERM),
                          (signal.SIGTERM, signal.SIGINT),
                          (signal.SIGINT, signal.SIGTERM)):
        cluster, ps = stopping_by_itself(server, "50s")
        with cluster:
            ps.signal(first)
            wait_until(lambda: " stopping_already " in ps.log_text(), SOON,
                       "a line for the signal")
            assert ps.alive(), ps.log_tail()
            ps.signal(second)
            assert ps.exit_code(SOON) == 128 + second, ps.log_tail()


@test(**TFD)
def a_ps_ends_with_its_chief(server):
    with Cluster(server, ["--exit_when=chief-exit"], ps=1, chief=1,
                 worker=1) as cluster:
        for job in ("chief", "worker"):
            with graph(), tf.device("/job:ps"):
                run(cluster.target(job), tf.constant(1) + 1)
        cluster["chief", 0].signal(signal.SIGTERM)
        assert cluster["chief", 0].exit_code(SOON) == 0
        assert cluster["ps", 0].exit_code(15) == 0


@test(**TFD)
def an_idle_server_can_end_by_itself(server):
    with Cluster(server, ["--exit_when=idle:1s"], worker=1) as cluster:
        with graph():
            assert run(cluster.target(), tf.constant(1)) == 1
        assert cluster["worker", 0].exit_code(15) == 0


class Clients:
    """Clients in threads of their own, each with a session, that run steps
    over three tasks until one fails."""

    def __init__(self, cluster, count):
        with tf.Graph().as_default() as g:
            with tf.device("/job:ps"):
                v = tf.Variable(0.0, use_resource=True, name="shared")
                add = v.assign_add(1.0)
            with tf.device("/job:worker/task:1"):
                self.step = tf.reduce_sum(tf.ones([64, 64]) * v) + add
            init = v.initializer
        kept_session(cluster.target(), graph=g).run(init)
        config = plain_config(
            operation_timeout_in_ms=int(4000 * cluster.server.slow))
        self.errors, self.begun = [], threading.Semaphore(0)
        self.threads = [threading.Thread(
            target=self._work, daemon=True, args=(kept_session(
                cluster.target("worker", i % 2), graph=g, config=config),))
            for i in range(count)]
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            assert self.begun.acquire(timeout=120)

    def _work(self, session):
        try:
            session.run(self.step)
            self.begun.release()
            while True:
                session.run(self.step)
        except tf.errors.OpError as error:
            self.errors.append(error)

    def join(self, seconds):
        for thread in self.threads:
            thread.join(seconds)
            assert not thread.is_alive()
        wrong = [e for e in self.errors if not isinstance(e, RETRIED)]
        assert not wrong, wrong[0]
        assert len(self.errors) == len(self.threads)


@test(limit=120, tfd_only=True)
def tasks_stop_while_fifty_clients_run_steps(server):
    """One after the other and all at once; none is left waiting."""
    for first in (("ps", 0), ("worker", 0), None):
        with Cluster(server, ["--drain_timeout=2s"], ps=1,
                     worker=2) as cluster:
            clients = Clients(cluster, 50)
            if first:
                cluster[first].signal(signal.SIGTERM)
                assert cluster[first].exit_code(2 * SOON) == 0
            for task in cluster.tasks.values():
                if task.alive():
                    task.signal(signal.SIGTERM)
            for task in cluster.tasks.values():
                assert task.exit_code(2 * SOON) == 0, task.log_tail()
            clients.join(20 * server.slow)
