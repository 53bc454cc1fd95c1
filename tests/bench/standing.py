"""What a tfd takes before anybody has asked it anything, and what a large cluster
takes to be seen: figures of tests/bench/sight that have a limit."""
import collections
import os
import resource
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from tests.cluster.cluster import PAUSE, Cluster, wait_until
from tests.cluster.ports import free_ports
from tests.cluster.runner import WITH_PARENT
from tests.cluster.status.browser import Browser
from tests.cluster.status.document import read, states

READY_SECONDS = 30
SETTLE_SECONDS = 0.3
LOADS = 5            # of the page
TASK_BYTES = 24 << 20  # a task of a large cluster, of what is free

# what, value, unit, limit or None
Figure = collections.namedtuple("Figure", "what value unit limit")


class CannotMeasure(Exception):
    """The machine lacks what it takes."""


def memory(pid):
    """{"Rss": bytes, "Pss": bytes}"""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        rows = [line.split() for line in file]
    return {row[0][:-1]: int(row[1]) << 10 for row in rows
            if row[0] in ("Rss:", "Pss:")}


def idle(server, options):
    """A task that is alone, to which nobody has connected."""
    del options
    with tempfile.TemporaryDirectory(prefix="tfd-idle-") as folder:
        path = os.path.join(folder, "port")
        with open(os.path.join(folder, "log"), "w") as log:
            process = subprocess.Popen(
                WITH_PARENT + server.command + ["--port=0",
                                                "--port_file=" + path],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(lambda: os.path.exists(path), READY_SECONDS, "a port")
            PAUSE.wait(SETTLE_SECONDS)
            taken = memory(process.pid)
        finally:
            process.kill()
            process.wait()
    return [Figure("idle memory, resident (RSS)", taken["Rss"] / 1e6, "MB", 12),
            Figure("idle memory, its share (PSS)", taken["Pss"] / 1e6, "MB",
                   None)]


def answers(port):
    """Whether it says that it serves."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            return b" 200 " in s.recv(4096)
    except OSError:
        return False


def start_ms(command):
    port, nothing = free_ports(1)[0], os.open(os.devnull, os.O_RDWR)
    command = command + ["--port=%d" % port, "--log_level=error"]
    began = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, nothing, fd) for fd in range(3)])
    try:
        while not answers(port):
            if time.perf_counter() - began > READY_SECONDS:
                raise TimeoutError("no answer within %d s" % READY_SECONDS)
            time.sleep(0.0002)
        return (time.perf_counter() - began) * 1e3
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(nothing)


def start(server, options):
    """From before the exec until /healthz says 200."""
    took = sorted(start_ms(server.command) for _ in range(options.starts))
    return [Figure("start until it says that it serves, median",
                   statistics.median(took), "ms", 20),
            Figure("the longest of %d starts" % len(took), took[-1], "ms",
                   None)]


def can_have(tasks):
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) << 10 for line in file
                    if line.startswith("MemAvailable"))
    if free < tasks * TASK_BYTES:
        raise CannotMeasure("%d tasks want %d MB of memory, %d MB are free" % (
            tasks, tasks * TASK_BYTES >> 20, free >> 20))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files < 4 * tasks:
        raise CannotMeasure("%d tasks want %d open files, the limit is %d" % (
            tasks, 4 * tasks, files))


def page(server, options):
    """A cluster of that many tasks, all up, in a browser."""
    count = options.tasks
    can_have(count)
    with Cluster(server, flags=["--log_level=warn"], worker=count) as cluster, \
            Browser() as browser:
        task = cluster["worker", 0]
        wait_until(lambda: set(states(read(task)[0]).values()) == {"up"},
                   READY_SECONDS, "all tasks up")
        loads = [browser.drawn(
            "http://%s/" % task.address, "document.querySelectorAll("
            "'#map .up').length === %d" % count, READY_SECONDS)
                 for _ in range(LOADS)]
        took, size = [], 0
        for _ in range(LOADS):
            began = time.perf_counter()
            size = len(read(task)[1])
            took.append((time.perf_counter() - began) * 1e3)

    def median(get):
        return statistics.median(map(get, loads))

    name = "the page with %d tasks, " % count
    return [
        Figure(name + "drawn", median(lambda x: x["drawn"]), "ms", 1000),
        Figure(name + "first paint", median(lambda x: x["first"]), "ms", None),
        Figure(name + "the page itself", median(
            lambda x: x["answers"]["/"]), "ms", None),
        Figure("/status.json with %d tasks, size" % count, size / 1e6, "MB", 2),
        Figure("/status.json with %d tasks, its answer" % count,
               statistics.median(took), "ms", None)]


PARTS = {"idle": idle, "start": start, "page": page}
