"""The processes that tests/bench/gpu measures with: a tfd, which is a server;
nets, which ends after its answer; PyTorch, which answers until it is stopped.

Each runs in a process group of its own, is killed with this one, and ends
before what it was started for returns.  What goes wrong is a Failure, whose
text is for the table."""
import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time

from tests.cluster.runner import die_with_parent

READY_SECONDS = 60  # for a server to open its port
DRAIN_SECONDS = 15  # for one to end


class Failure(Exception):
    """Why there is no measurement."""


def wait(seconds, *files):
    """Those of the descriptors that are ready, within that time."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return {file for file, _ in poll.poll(max(0, seconds) * 1000)}


def last_line(path):
    with open(path, errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


class Process:
    """A program in a process group of its own, which ends with it."""

    def __init__(self, command, log, environment=None, serves=False,
                 answers=True):
        self.name, self.log = os.path.basename(command[0]), log
        if self.name.startswith("python") and len(command) > 1:
            self.name = os.path.basename(command[1])
        try:
            with open(log, "w") as errors:
                self.popen = subprocess.Popen(
                    command, stderr=errors, env=environment, text=True,
                    stdin=subprocess.PIPE if serves else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if answers else errors,
                    start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            raise Failure("%s cannot be started: %s" % (
                command[0], error.strerror)) from None
        self.pidfd = os.pidfd_open(self.popen.pid)

    def ended(self, seconds=0):
        return bool(wait(seconds, self.pidfd))

    def how_it_ended(self):
        code = self.popen.wait()
        how = "signal %d" % -code if code < 0 else "code %d" % code
        return "%s ended with %s: %s" % (self.name, how, last_line(self.log))

    def end(self, seconds=0):
        """Asks it to end where there is time, and sees to it."""
        if seconds and not self.ended():
            self.popen.terminate()
            self.ended(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def close(self):
        self.end()
        os.close(self.pidfd)
        for file in (self.popen.stdin, self.popen.stdout):
            if file:
                with contextlib.suppress(OSError):
                    file.close()


class Server:
    """A tfd, started when it is first needed."""

    def __init__(self, options, folder, name):
        self.command = [options.tfd, "--port=0", "--gpu_allow_growth",
                        "--drain_timeout=5s",
                        "--port_file=" + os.path.join(folder, name + ".port")]
        self.command += shlex.split(options.tfd_flags)
        self.file = os.path.join(folder, name + ".port")
        self.log = os.path.join(folder, name + ".log")
        self.needs_gpu = name == "gpu" and not options.cpu
        self.environment = dict(os.environ)
        if not self.needs_gpu:
            self.environment["CUDA_VISIBLE_DEVICES"] = ""
        self.process = self.port = None

    def target(self):
        if not self.process:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.file)
            self.process = Process(self.command, self.log, self.environment,
                                   answers=False)
            self.port = self._port()
            if self.needs_gpu:
                self.card()
        self.check()
        return "tfd://127.0.0.1:" + self.port

    def _port(self):
        stop = time.monotonic() + READY_SECONDS
        while time.monotonic() < stop:
            self.check(0.02)
            with contextlib.suppress(FileNotFoundError):
                with open(self.file) as file:
                    port = file.read().strip()
                if port:
                    return port
        raise Failure("%s has opened no port in %d s" % (
            self.process.name, READY_SECONDS))

    def card(self):
        """What it calls its GPU; it says so before it opens its port."""
        with open(self.log, errors="replace") as file:
            said = file.read()
        taken = re.search(r'taken="GPU:0 \((.*?), \d+ MiB', said)
        if taken:
            return taken.group(1)
        why = re.search(r'no_gpu why="(.*)"', said)
        raise Failure("tfd has no GPU: " + (
            why.group(1) if why else last_line(self.log)))

    def check(self, seconds=0):
        if self.process.ended(seconds):
            raise Failure(self.process.how_it_ended())

    def stop(self):
        """Fails where it had ended before, or ends badly now."""
        process, self.process = self.process, None
        if not process:
            return
        early = process.ended()
        process.end(DRAIN_SECONDS)
        how, code = process.how_it_ended(), process.popen.returncode
        process.close()
        if early or code != 0:
            raise Failure(how)


class PyTorch:
    """A process that answers commands, started when it is first needed."""

    def __init__(self, options, folder, name, environment):
        self.command = options.torch + ["serve"]
        self.log = os.path.join(folder, name + ".log")
        self.environment = environment
        self.process, self.read = None, ""

    def ask(self, words, seconds):
        if not self.process:
            self.process, self.read = Process(
                self.command, self.log, self.environment, serves=True), ""
        with contextlib.suppress(BrokenPipeError):
            self.process.popen.stdin.write(words + "\n")
            self.process.popen.stdin.flush()
        try:
            line = self._line(seconds)
        except Failure:
            self.stop()
            raise
        if line.startswith("error "):
            self.stop()  # an error of the device may stay with its process
            raise Failure(line[6:])
        return line

    def _line(self, seconds):
        output = self.process.popen.stdout.fileno()
        stop = time.monotonic() + seconds
        while "\n" not in self.read:
            if not wait(stop - time.monotonic(), output):
                raise Failure("no answer in %.0f s" % seconds)
            data = os.read(output, 4096).decode(errors="replace")
            if not data:
                raise Failure(self.process.how_it_ended())
            self.read += data
        line, self.read = self.read.split("\n", 1)
        return line

    def stop(self):
        if self.process:
            self.process.close()
            self.process = None
