"""Runs tests, each in a process of its own that is killed at its time limit.

The parent imports TensorFlow once and forks before every test, so a test
starts in milliseconds, may change TensorFlow's global switches, may hang or
crash, and leaves nothing behind: its process group is killed when it ends.
"""
import ctypes
import dataclasses
import faulthandler
import gc
import os
import pickle
import selectors
import signal
import sys
import tempfile
import time
import traceback

LOG_TAIL = 6000  # characters of a failed test's output that are shown
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


@dataclasses.dataclass
class Outcome:
    verdict: str  # "ok", "FAIL" or "skip"
    text: str
    seconds: float
    value: object = None


def die_with_parent():
    """To be called in a child: it is killed when its parent goes."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# Before a command: the same of one that Popen starts.  Without a preexec_fn there
# is no fork(), whose handlers in gRPC end the child when a call is under way.
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


class Child:
    """One call of a function in a forked process."""

    def __init__(self, function, limit):
        self.log = tempfile.TemporaryFile()
        self.result = tempfile.TemporaryFile()
        self.folder = tempfile.TemporaryDirectory(prefix="tfd-test-")
        self.limit, self.start = limit, time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(function)
        try:  # the child does the same; whoever comes first
            os.setpgid(self.pid, self.pid)
        except PermissionError:
            pass
        self.pidfd = os.pidfd_open(self.pid)

    def _run(self, function):
        try:
            os.setpgid(0, 0)
            die_with_parent()
            for fd in (1, 2):
                os.dup2(self.log.fileno(), fd)
            # What it leaves in temporary files goes when it does.
            tempfile.tempdir = os.environ["TMPDIR"] = self.folder.name
            # Says where it hangs, just before the parent ends it.
            faulthandler.dump_traceback_later(max(0.1, self.limit - 0.3))
            pickle.dump(("ok", function()), self.result)
        except Skip as reason:
            pickle.dump(("skip", str(reason)), self.result)
        except BaseException:  # whatever it was, the parent must hear of it
            traceback.print_exc()
            # Here, while the exception lives: with it go the test's sessions,
            # and a session may wait long for a server that is gone.
            self._leave(1)
        self._leave(0)

    def _leave(self, status):
        sys.stdout.flush()
        sys.stderr.flush()
        self.result.flush()
        os._exit(status)

    def left(self):
        return max(0.0, self.start + self.limit - time.monotonic())

    def finish(self):
        """Ends the child's whole process group and says how it went."""
        late = not selectors_ready(self.pidfd)
        os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        self.folder.cleanup()
        seconds = time.monotonic() - self.start
        text = self._log_text()
        if late:
            text += "\nkilled at its time limit of %g s" % self.limit
        elif os.WIFSIGNALED(status):
            text += "\ndied of signal %d" % os.WTERMSIG(status)
        if late or status != 0:
            return Outcome("FAIL", text.strip(), seconds)
        self.result.seek(0)
        verdict, value = pickle.load(self.result)
        return Outcome(verdict, value if verdict == "skip" else text, seconds,
                       value)

    def _log_text(self):
        self.log.seek(0)
        return self.log.read().decode("utf8", "replace")[-LOG_TAIL:]


def selectors_ready(fd, timeout=0):
    """Whether fd becomes readable within timeout seconds."""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        return bool(selector.select(timeout))


def run_children(functions, limit, jobs=1):
    """Yields (index, Outcome) as the calls end, `jobs` of them at a time."""
    # What is imported is not garbage: a child that looks it through copies it.
    gc.freeze()
    waiting = list(enumerate(functions))[::-1]
    running = {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < jobs:
                index, function = waiting.pop()
                child = Child(function, limit)
                running[child.pidfd] = (index, child)
                selector.register(child.pidfd, selectors.EVENT_READ)
            nearest = min(child.left() for _, child in running.values())
            ready = {key.fd for key, _ in selector.select(nearest)}
            for fd, (index, child) in list(running.items()):
                if fd in ready or not child.left():
                    selector.unregister(fd)
                    del running[fd]
                    yield index, child.finish()


def isolated(function, limit):
    """Calls function() in a child process and returns the Outcome."""
    return next(run_children([function], limit))[1]


class Tally:
    """Counts verdicts, prints a line each and the closing line."""

    def __init__(self):
        self.count = {"ok": 0, "FAIL": 0, "skip": 0}

    def add(self, verdict, name, text="", seconds=None):
        self.count[verdict] += 1
        took = "" if seconds is None else " (%.1f s)" % seconds
        note = " - " + text if verdict == "skip" else ""
        print("%-4s %s%s%s" % (verdict, name, took, note), flush=True)
        if verdict == "FAIL":
            print("     " + text.replace("\n", "\n     "), flush=True)

    def close(self):
        """Prints the closing line and returns the exit status."""
        print("%d passed, %d failed, %d skipped" % (
            self.count["ok"], self.count["FAIL"], self.count["skip"]))
        return 1 if self.count["FAIL"] else 0
