"""Starts programs of Python that find TensorFlow imported.

To import it takes a processor three seconds, and a test starts up to five programs
that do.  The nursery is a process that has imported it and made nothing of it: no
thread of its pools, no context, no random number.  It forks for each request, and
what it forks runs as a program that `python` starts would: as __main__, with its
own arguments, environment, folder and streams, in the process group of whoever
asked.  Where there is no nursery, or a variable differs that TensorFlow reads while
it is imported, start() starts `python`.

A request is one datagram with an end of a pair of sockets, the line, and three
streams:

    asks      (arguments, environment, folder, group), pickled
    line      b"+" and the process's number, or b"-" where it is refused; later
              its exit status

The process is reaped when the line is closed, as a child is when it is waited for.
"""
import atexit
import gc
import importlib
import os
import pickle
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback

from tests.cluster.runner import WITH_PARENT, die_with_parent, selectors_ready

WHERE = "TFD_NURSERY"  # the number of the socket that takes requests
# Variables that may differ, beside tfd's: nothing reads them while it is imported.
OWN = {WHERE, "TF_CONFIG", "TF2_CONTROL", "TF2_DIR", "TMPDIR"}
REQUEST_MAX = 1 << 17  # bytes
NUMBER = struct.Struct("q")


# ---- The nursery ------------------------------------------------------------

class Nursery:
    def __init__(self, requests):
        self.requests = requests
        self.selector = selectors.DefaultSelector()
        self.on(requests, self.take)

    def on(self, source, call):
        self.selector.register(source, selectors.EVENT_READ, call)

    def off(self, source):
        self.selector.unregister(source)

    def serve(self):
        gc.freeze()  # it is no garbage of its children's
        while True:
            for key, _ in self.selector.select():
                key.data()

    def take(self):
        data, given, _, _ = socket.recv_fds(self.requests, REQUEST_MAX, 4)
        if not data:
            os._exit(0)  # nobody is left who could ask
        line = socket.socket(fileno=given[0])
        arguments, environment, folder, group = pickle.loads(data)
        if not like_ours(environment):
            line.send(b"-")
            line.close()
        else:
            pid = os.fork()
            if pid == 0:
                line.close()
                self.forget()
                become(arguments, environment, folder, given[1:], group)
            Kept(self, pid, line, group)
        for stream in given[1:]:
            os.close(stream)

    def forget(self):
        """In a child, which has use for none of these."""
        for key in list(self.selector.get_map().values()):
            os.close(key.fd)
        self.selector.close()


class Kept:
    """A process, until it has ended and nobody asks for it any more."""

    def __init__(self, nursery, pid, line, group):
        self.nursery, self.pid, self.line = nursery, pid, line
        self.ended = False
        try:  # the child does the same; whoever comes first
            os.setpgid(pid, group)
        except OSError:
            pass
        line.send(b"+" + NUMBER.pack(pid))
        self.pidfd = os.pidfd_open(pid)
        nursery.on(self.pidfd, self.tell)
        nursery.on(line, self.hang_up)

    def tell(self):
        """It has ended; its number stays its own until the line is closed."""
        self.ended = True
        self.nursery.off(self.pidfd)
        os.close(self.pidfd)
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        status = found.si_status
        if self.line is None:
            os.waitpid(self.pid, 0)
            return
        try:
            self.line.send(NUMBER.pack(
                status if found.si_code == os.CLD_EXITED else -status))
        except OSError:
            pass  # hang_up() follows

    def hang_up(self):
        self.nursery.off(self.line)
        self.line.close()
        self.line = None
        if self.ended:
            os.waitpid(self.pid, 0)


def like_ours(environment):
    def read_early(of):
        return {k: v for k, v in of.items()
                if k not in OWN and not k.startswith("TFD_")}
    return read_early(environment) == read_early(os.environ)


def become(arguments, environment, folder, streams, group):
    """Does not return."""
    status = 1
    try:
        die_with_parent()
        os.setpgid(0, group)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            number = ("stdin", "stdout", "stderr").index(name)
            made = open(number, mode, 1 if number == 2 else -1, closefd=False)
            setattr(sys, name, made)
            setattr(sys, "__%s__" % name, made)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.modules["numpy"].random.seed()
        run(arguments)
        status = 0
    except SystemExit as end:
        status = status_of(end.code)
    except BaseException:
        traceback.print_exc()
    # As an interpreter does when its program has ended.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status)


def status_of(code):
    if code is None or isinstance(code, int):
        return (code or 0) & 255
    print(code, file=sys.stderr)
    return 1


def run(arguments):
    """As `python` followed by these."""
    kind, *rest = arguments
    if kind == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.path[0] = ""
        sys.argv = ["-c"] + rest[1:]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(kind))
        sys.argv = [kind] + rest
        runpy.run_path(kind, run_name="__main__")


def open_nursery():
    """Before this process has done anything with TensorFlow.  The nursery ends
    with it."""
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # as the programs do
    import tensorflow  # noqa: F401
    asks, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        die_with_parent()
        asks.close()
        Nursery(requests).serve()
    requests.close()
    os.environ[WHERE] = str(asks.detach())


def open_another(environment, *modules):
    """One of a process that starts anew, as TensorFlow reads something of this
    environment early; it imports the modules."""
    asks, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(WITH_PARENT + [
        sys.executable, "-m", "tests.cluster.nursery", *modules],
        stdin=requests, env=environment)
    requests.close()
    os.environ[WHERE] = str(asks.detach())


def main():
    for name in sys.argv[1:]:
        importlib.import_module(name)
    Nursery(socket.socket(fileno=os.dup(0))).serve()


# ---- Whoever asks -----------------------------------------------------------

class Program:
    """What is used of a subprocess.Popen."""

    def __init__(self, pid, line, stdin, stdout):
        self.pid, self.line = pid, line
        self.stdin, self.stdout = stdin, stdout
        self.returncode = None
        self.lock = threading.Lock()

    def poll(self):
        return self._ended(0)

    def wait(self, timeout=None):
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired("a program", timeout)
        return self.returncode

    def _ended(self, timeout):
        with self.lock:
            if self.returncode is None and selectors_ready(self.line, timeout):
                said = self.line.recv(NUMBER.size)
                assert len(said) == NUMBER.size, "the nursery has ended"
                self.returncode, = NUMBER.unpack(said)
                self.line.close()
            return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """(what it still prints, None), when it has ended."""
        if self.stdin:
            self.stdin.close()
        said = []
        reader = threading.Thread(
            target=lambda: said.append(self.stdout.read()), daemon=True)
        reader.start()
        reader.join(timeout)
        if reader.is_alive():
            raise subprocess.TimeoutExpired("a program", timeout)
        self.wait(timeout)
        return said[0], None


def is_open():
    """Whether this process can ask: the number may be of another's files."""
    try:
        with socket.socket(fileno=os.dup(int(os.environ[WHERE]))) as asks:
            return asks.type == socket.SOCK_SEQPACKET
    except (KeyError, OSError):
        return False


def start(command, env=None, cwd=None, stdin=None, stdout=None, stderr=None,
          text=False):
    """A Popen of it, or a Program where it begins with sys.executable and the
    nursery takes it.  stderr is a file or STDOUT."""
    if command[0] == sys.executable and is_open():
        found = forked(command[1:], dict(os.environ if env is None else env),
                       cwd or os.getcwd(), stdin, stdout, stderr, text)
        if found:
            return found
    return subprocess.Popen(
        WITH_PARENT + [str(word) for word in command], env=env, cwd=cwd,
        stdin=stdin, stdout=stdout, stderr=stderr, text=text)


def forked(arguments, environment, folder, stdin, stdout, stderr, text):
    """A Program; None: it was refused."""
    ours, theirs = [], []  # ends of pipes

    def stream(given, number):
        if given is None:
            return number
        if given == subprocess.DEVNULL:
            theirs.append(os.open(os.devnull, os.O_RDWR))
            return theirs[-1]
        if given == subprocess.PIPE:
            ends = os.pipe()  # (to be read, to be written)
            ours.append(open(ends[number == 0], "w" if number == 0 else "r",
                             encoding=None) if text else
                        open(ends[number == 0], "wb" if number == 0 else "rb"))
            theirs.append(ends[number != 0])
            return theirs[-1]
        return given if isinstance(given, int) else given.fileno()

    given_in = stream(stdin, 0)
    given_out = stream(stdout, 1)
    given_err = given_out if stderr == subprocess.STDOUT else stream(stderr, 2)
    line, end = socket.socketpair()
    asked = pickle.dumps(([str(word) for word in arguments], environment,
                          str(folder), os.getpgrp()))
    with socket.socket(fileno=os.dup(int(os.environ[WHERE]))) as asks:
        socket.send_fds(asks, [asked], [end.fileno(), given_in, given_out,
                                        given_err])
    end.close()
    for number in theirs:
        os.close(number)
    if line.recv(1) != b"+":
        line.close()
        for file in ours:
            file.close()
        return None
    pid, = NUMBER.unpack(line.recv(NUMBER.size))
    return Program(pid, line, ours[0] if stdin == subprocess.PIPE else None,
                   ours[-1] if stdout == subprocess.PIPE else None)


def passed_on():
    """Options of a subprocess.Popen that starts programs itself."""
    number = os.environ.get(WHERE)
    return {"pass_fds": [int(number)]} if number else {}


def ran(command, timeout=None, **options):
    """A CompletedProcess; its stdout is all that was printed."""
    process = start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, **options)
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(command, process.returncode, said)


if __name__ == "__main__":
    main()
