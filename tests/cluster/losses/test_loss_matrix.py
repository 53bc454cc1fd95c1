"""What a coordinator of TensorFlow sees when a task is lost: each of {ps, worker,
chief}, at six points of a program, killed or stopped, and back at once, after ten
seconds, or never.

    worker   the program goes on, with the other worker or when this one is back
    ps       killed: an error that names it within 15 s, and a program that is
             started anew goes on from the checkpoint.  Stopped: the same, or it
             goes on when the ps does
    both     while the program connects it waits for all
    chief    a new one goes on from the checkpoint, and of the old one, once its
             context has ended, nothing is left
"""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import signal
import socket
import sys
import tempfile
import threading
import time

from tests.cluster import nursery
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.ports import free_ports
from tests.cluster.suite import test
from tests.cluster.watch import wait_metric

ROOT = pathlib.Path(__file__).parents[3]
PHASES = ("connecting", "creating", "tracing", "stepping", "dataset", "saving")
AT_ONCE, LATER, NEVER = "at once", "after 10 s", "never"
LATER_SECONDS = 10
NEVER_SECONDS = 30
NAMED_SECONDS = 15  # a lost ps
SIDE_BY_SIDE = 9
# TensorFlow's client keeps a pointer into a vector of its functions beyond the
# lock (EagerClusterFunctionLibraryRuntime::Run) while another thread makes the
# vector longer: now and then it asks for a device whose name is freed memory.
CLIENTS_RACE = "Malformed device specification "
LEFT = ("tfd_eager_contexts", "tfd_eager_handles", "tfd_eager_functions",
        "tfd_eager_runs_running")


@dataclasses.dataclass(frozen=True)
class Case:
    victim: str
    phase: str
    how: str  # "kill" or "stop"
    back: str

    def __str__(self):
        return "%s, %s, %s, back %s" % dataclasses.astuple(self)

    @property
    def kills(self):
        return self.how == "kill"


# ---- Coordinators -----------------------------------------------------------

@contextlib.contextmanager
def coordinators():
    """Where they are started."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/socket"
        process = nursery.start(
            [sys.executable, "-m", "tests.cluster.losses.coordinator", path],
            cwd=ROOT)
        try:
            wait_until(lambda: os.path.exists(path + ".ready"), 60, path)
            yield path
        finally:
            process.kill()
            process.wait()


class Chief:
    """One program."""

    def __init__(self, path, cluster, folder, case, phase):
        spec = dict(cluster.spec, chief=["127.0.0.1:%d" % free_ports(1)[0]])
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.line = self.socket.makefile("rw")
        self.words = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.tell(json.dumps(dict(
            cluster=spec, phase=phase, folder=folder, victim=case.victim,
            kills=case.kills)))
        self.pid = int(self.hears(30).split()[1])

    def listen(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.line:
                self.words.put(line.strip())
        self.words.put("gone")

    def tell(self, words):
        self.line.write(words + "\n")
        self.line.flush()

    def hears(self, seconds):
        """What it says next; None if nothing."""
        try:
            return self.words.get(timeout=seconds)
        except queue.Empty:
            return None

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self):
        self.signal(signal.SIGKILL)
        self.socket.close()


# ---- Losses -----------------------------------------------------------------

class Play:
    def __init__(self, case, path, cluster, folder):
        self.case, self.path = case, path
        self.cluster, self.folder = cluster, folder
        self.chiefs = []

    def chief(self, phase):
        self.chiefs.append(Chief(self.path, self.cluster, self.folder,
                                 self.case, phase))
        return self.chiefs[-1]

    def goes_on(self, phase="nothing", seconds=60):
        """A new program, from the checkpoint."""
        said = self.chief(phase).hears(seconds)
        assert said and said.startswith("ok"), "started anew: %s" % said

    def lose(self):
        victim = (self.first if self.case.victim == "chief"
                  else self.cluster[self.case.victim, 0])
        if not self.case.kills:
            victim.signal(signal.SIGSTOP)
        elif victim is self.first:
            victim.signal(signal.SIGKILL)
        else:
            victim.kill()

    def bring_back(self):
        if not self.case.kills:
            victim = (self.first if self.case.victim == "chief"
                      else self.cluster[self.case.victim, 0])
            victim.signal(signal.SIGCONT)
        elif self.case.victim != "chief":
            self.cluster.start(self.case.victim, 0)

    def outcome(self):
        """What the program says after the loss; None: nothing."""
        if self.case.back == AT_ONCE:
            self.bring_back()
        self.first.tell("go")
        self.told = time.monotonic()
        if self.case.back == AT_ONCE:
            return self.first.hears(60)
        said = self.first.hears(LATER_SECONDS)
        if said is None and self.case.back == LATER:
            self.bring_back()
            said = self.first.hears(60)
        elif said is None:
            said = self.first.hears(NEVER_SECONDS - LATER_SECONDS)
            if said is None and not self.case.kills:
                said = self.ends_stopped()
        return said

    def ends_stopped(self):
        """A program waits for a task that is stopped, as its own calls have no
        end; a stopped task that is killed is a task that is killed."""
        if self.case.phase == "connecting":
            return None
        self.lose_for_good()
        return self.first.hears(60)

    def lose_for_good(self):
        self.cluster[self.case.victim, 0].kill()
        self.told = time.monotonic()

    def run(self):
        self.first = self.chief(self.case.phase)
        said = self.first.hears(60)
        assert said == "at", said
        self.lose()
        getattr(self, "lost_" + self.case.victim)()

    # ---- What must come of it -----------------------------------------------

    def lost_worker(self):
        said = self.outcome()
        if self.case.phase == "connecting" and self.case.back == NEVER:
            assert said is None, said
            return
        assert said and said.startswith("ok"), said

    def lost_ps(self):
        said = self.outcome()
        took = time.monotonic() - self.told
        if self.case.phase == "connecting" and self.case.back == NEVER:
            assert said is None, said
            return
        if said and said.startswith("ok") and (
                self.case.phase == "connecting" or not self.case.kills):
            return
        assert said and said.startswith("lost "), said
        assert took < NAMED_SECONDS, took
        if not self.cluster["ps", 0].alive():
            self.cluster.start("ps", 0)
        elif not self.case.kills:
            self.bring_back()
        self.goes_on()

    def lost_chief(self):
        if not self.case.kills:
            self.stopped_chief()
        elif self.case.back == AT_ONCE:
            self.goes_on()
        else:
            tasks = self.cluster.tasks.values()
            for task in tasks:
                for name in LEFT:
                    wait_metric(task, name, 0, 15)
            if self.case.back == LATER:
                self.goes_on()

    def stopped_chief(self):
        if self.case.back == NEVER:
            self.goes_on()
            return
        self.first.tell("go")
        if self.case.back == LATER:
            assert self.first.hears(LATER_SECONDS) is None
        self.bring_back()
        said = self.first.hears(60)
        assert said and said.startswith("ok"), said


def play(server, path, case):
    """"" or why it fails; once more where it was the client."""
    words = play_once(server, path, case)
    if CLIENTS_RACE in words:
        print("%s: once more after %s" % (case, words))
        words = play_once(server, path, case)
    return words


def play_once(server, path, case):
    try:
        with Cluster(server, ps=1, worker=2) as cluster, \
                tempfile.TemporaryDirectory() as folder:
            one = Play(case, path, cluster, folder)
            try:
                one.run()
            finally:
                for chief in one.chiefs:
                    chief.end()
                for task in cluster.tasks.values():
                    if task.alive():
                        task.signal(signal.SIGCONT)
    except (AssertionError, TimeoutError, OSError) as error:
        return "%s: %s" % (type(error).__name__, error)
    return ""


def matrix(server, victim):
    cases = [Case(victim, phase, how, back) for phase in PHASES
             for how in ("kill", "stop") for back in (AT_ONCE, LATER, NEVER)]
    wanted = os.environ.get("TFD_LOSSES", "")
    cases = [case for case in cases if wanted in str(case)]
    with coordinators() as path, concurrent.futures.ThreadPoolExecutor(
            SIDE_BY_SIDE) as pool:
        begin = time.monotonic()

        def timed(case):
            start = time.monotonic()
            words = play(server, path, case)
            print("%5.1f %5.1f s %s%s" % (
                start - begin, time.monotonic() - start, case,
                ": " + words if words else ""))
            return words
        said = list(pool.map(timed, cases))
    failed = ["%s: %s" % (c, words) for c, words in zip(cases, said) if words]
    assert not failed, "%d of %d\n%s" % (
        len(failed), len(cases), "\n".join(failed))


@test(limit=240, tfd_only=True)
def a_lost_worker_is_recovered_from(server):
    matrix(server, "worker")


@test(limit=240, tfd_only=True)
def a_lost_ps_is_named(server):
    matrix(server, "ps")


@test(limit=240, tfd_only=True)
def a_lost_chief_leaves_nothing(server):
    matrix(server, "chief")
