"""Clusters of server processes on this host, each started from TF_CONFIG."""
import dataclasses
import itertools
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from tests.cluster import nursery
from tests.cluster.ports import free_ports
from tests.cluster.runner import selectors_ready

READY_SECONDS = 60
DRAIN_SECONDS = 20
PAUSE = threading.Event()  # never set


@dataclasses.dataclass
class Server:
    """How to start a server: tfd, or the real one it is compared with."""

    command: list
    is_tfd: bool
    slow: float = 1.0  # factor on time limits (sanitizer builds)


def add_server_options(parser):
    parser.add_argument(
        "--server", default=os.environ.get("TFD_SERVER", "./build/tfd"),
        help="command that starts a tfd from TF_CONFIG")
    parser.add_argument(
        "--tensorflow", action="store_true",
        help="use a real TensorFlow server, and skip what tfd adds to it")
    parser.add_argument("--slow", type=float, default=1.0,
                        help="factor on all time limits")
    parser.add_argument("--only", default="", metavar="TEXT,...",
                        help="run what has one of these in its name")
    parser.add_argument("--list", action="store_true",
                        help="print the names and stop")


def tensorflow_server(slow=1.0):
    """A real TensorFlow server."""
    script = os.path.join(os.path.dirname(__file__), "tensorflow_server.py")
    return Server([sys.executable, script], False, slow)


def server_from(options):
    if options.tensorflow:
        return tensorflow_server(options.slow)
    return Server(shlex.split(options.server), True, options.slow)


def wait_until(condition, seconds, what, wake=None):
    """Polls condition() until it is true; wake: a descriptor that ends a pause
    early.  The one waiting loop of these tests."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError("%s: not within %g s" % (what, seconds))
        if wake is None:
            PAUSE.wait(0.005)
        else:
            selectors_ready(wake, 0.005)


def listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Task:
    """One server process."""

    def __init__(self, server, name, port, log_path):
        self.server, self.name, self.port = server, name, port
        self.log_path, self.process = log_path, None
        self.address = "127.0.0.1:%d" % port
        self.target = "grpc://" + self.address

    def start(self, tf_config, flags=(), wait=True, env=None):
        environment = dict(os.environ, TF_CONFIG=json.dumps(tf_config))
        environment.update(env or {})
        with open(self.log_path, "ab") as log:
            self.process = nursery.start(
                self.server.command + list(flags), env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        pidfd = os.pidfd_open(self.process.pid)
        try:
            wait_until(lambda: self.process.poll() is not None
                       or listening(self.port),
                       READY_SECONDS * self.server.slow, self.name, pidfd)
        finally:
            os.close(pidfd)
        if self.process.poll() is not None:
            raise AssertionError("%s exited with %d at start:\n%s" % (
                self.name, self.process.returncode, self.log_tail()))

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """SIGKILL, and waits until it is gone."""
        if self.alive():
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def exit_code(self, seconds=DRAIN_SECONDS):
        """The exit status, which must come within the limit."""
        return self.process.wait(seconds * self.server.slow)

    def log_text(self):
        if not os.path.exists(self.log_path):
            return "never started"
        with open(self.log_path, "rb") as log:
            return log.read().decode("utf8", "replace")

    def log_tail(self, lines=15):
        return "\n".join("  %s| %s" % (self.name, line) for line
                         in self.log_text().splitlines()[-lines:])


class Cluster:
    """Tasks of one cluster: Cluster(server, ps=1, worker=2).

    others gives the tasks that another Server runs, by (job, index).
    A context manager: an exception inside shows the last lines of each log;
    at the end every process still running is stopped (tfd by SIGTERM, and
    must then exit with 0)."""

    def __init__(self, server, flags=(), start=True, env=None, others=None,
                 **jobs):
        self.server, self.flags, self.env = server, list(flags), env
        others = others or {}
        self.folder = tempfile.TemporaryDirectory(prefix="tfd-cluster-")
        ports = iter(free_ports(sum(jobs.values())))
        self.tasks = {
            (job, index): Task(others.get((job, index), server),
                               "%s%d" % (job, index), next(ports),
                               "%s/%s%d.log" % (self.folder.name, job, index))
            for job, count in jobs.items() for index in range(count)}
        self.spec = {
            job: [task.address for _, task in tasks] for job, tasks in
            itertools.groupby(self.tasks.items(), lambda item: item[0][0])}
        if start:
            self.start_all()

    def start_all(self):
        """Starts every task, then waits for all: they start side by side."""
        for key in self.tasks:
            self.start(*key, wait=False)
        for task in self.tasks.values():
            task.wait_ready()

    def config(self, job, index):
        return {"cluster": self.spec, "task": {"type": job, "index": index}}

    def start(self, job, index, wait=True, flags=()):
        task = self[job, index]
        task.start(self.config(job, index), self.flags + list(flags), wait,
                   self.env)
        return task

    def __getitem__(self, key):
        return self.tasks[key]

    def target(self, job="worker", index=0):
        return self[job, index].target

    def alive(self):
        return all(task.alive() for task in self.tasks.values())

    def logs(self):
        return "\n".join(task.log_tail() for task in self.tasks.values())

    def close(self):
        """Stops what still runs; names each tfd that did not exit with 0."""
        running = [t for t in self.tasks.values() if t.alive()]
        problems = []
        for task in running:
            task.signal(signal.SIGTERM if task.server.is_tfd
                        else signal.SIGKILL)
        for task in running:
            try:
                code = task.exit_code()
            except subprocess.TimeoutExpired:
                code = "nothing for %d s" % DRAIN_SECONDS
                task.kill()
            if task.server.is_tfd and code != 0:
                problems.append("%s: exit after SIGTERM: %s\n%s" % (
                    task.name, code, task.log_tail()))
        self.folder.cleanup()
        assert not problems, "\n".join(problems)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
            return
        print("\n" + self.logs())
        for task in self.tasks.values():
            task.kill()
        self.folder.cleanup()
