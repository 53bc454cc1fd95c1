"""Those who look at a cluster while tests/bench/sight measures it: a browser with
the page of a worker, a Prometheus that reads every task each second, `tfdctl
top`.

They are stopped for a turn without them, so the servers, the client and its
session are the same in both."""
import contextlib
import os
import shutil
import signal
import threading
import time

from tests.cluster.cluster import PAUSE, wait_until
from tests.cluster.server.prometheus import Prometheus
from tests.cluster.status.browser import Browser
from tests.cluster.terminal import Terminal

SOON = 60  # the first looks after a pause, at the lowest priority
LOOK_SECONDS = 0.1  # between questions whether they have looked
FRAME = b"\x1b[H"  # with which top begins each screen


def processor_ns(pid):
    """What all threads of a process have had; 0 of one that has gone."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # CPUCLOCK_SCHED
    except OSError:
        return 0


def family(pid):
    """A process and all that it started, and those."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % name) as file:
                parent = file.read().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


class Top:
    """tfdctl top on a terminal that somebody reads."""

    def __init__(self, command):
        self.terminal, self.frames = Terminal(command), 0
        self.process = self.terminal.process
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        rest = b""
        while True:
            try:
                rest += os.read(self.terminal.master, 4096)
            except OSError:  # it has ended
                return
            self.frames += rest.count(FRAME)
            rest = rest[-len(FRAME) + 1:]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(SOON)
        os.close(self.terminal.master)


def place(kind):
    """(What stands before a watcher's command, where it runs in words.)  With
    four processors or more the last is the watchers' alone from now on."""
    before, words = [], "at the priority of the servers"
    if kind == "idle":
        before, words = ["chrt", "--idle", "0"], (
            "when a processor has nothing else to do (SCHED_IDLE)")
    own = sorted(os.sched_getaffinity(0))
    if len(own) < 4 or not shutil.which("taskset"):
        return before, words + ", on the %d processors of all" % len(own)
    os.sched_setaffinity(0, own[:-1])
    return ["taskset", "--cpu-list", str(own[-1])] + before, (
        words + ", on a processor of their own")


class Watchers:
    """Start running."""

    def __init__(self, cluster, folder, before, tfdctl):
        tasks = list(cluster.tasks.values())
        self.tasks = len(tasks)
        with contextlib.ExitStack() as stack:
            self.prometheus = stack.enter_context(
                Prometheus(folder, tasks, before))
            self.top = Top(before + [tfdctl, "top",
                                     "--target=" + cluster["worker", 0].address])
            stack.callback(self.top.close)
            self.browser = stack.enter_context(Browser(before=before))
            self.page = "http://%s/" % cluster["worker", 0].address
            self.browser.open(self.page)
            self.parents = [one.process.pid for one in (
                self.prometheus, self.top, self.browser)]
            self.running, self.rest_seconds = True, 2
            wait_until(lambda: PAUSE.wait(LOOK_SECONDS) or all(self.looks()),
                       SOON, "all to look")
            self.stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._signal(signal.SIGCONT)
        self.stack.close()

    def _signal(self, number):
        for parent in self.parents:
            for pid in family(parent):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def looks(self):
        """How often each has looked so far: the page, Prometheus, top."""
        self.browser.value("0")  # takes in what it has told
        asked = self.browser.requests().count(self.page + "status.json")
        reads = self.prometheus.query(
            'sum(count_over_time(up{job="tfd"}[1d]))')
        return asked, (reads[0][1] / self.tasks if reads else 0), self.top.frames

    def processor_ns(self):
        return sum(processor_ns(pid) for parent in self.parents
                   for pid in family(parent))

    def pause(self):
        """Returns after as long a rest as go_on() gave the servers: who has
        rested gets more of a busy processor."""
        if not self.running:
            return
        self._signal(signal.SIGSTOP)
        self.running = False
        PAUSE.wait(self.rest_seconds)

    def go_on(self):
        """Returns after a look of each."""
        if self.running:
            return
        began = time.monotonic()
        self._signal(signal.SIGCONT)
        self.running, before = True, self.looks()
        wait_until(lambda: PAUSE.wait(LOOK_SECONDS) or all(
            now > was for now, was in zip(self.looks(), before)),
                   SOON, "all to look again")
        self.rest_seconds = time.monotonic() - began
