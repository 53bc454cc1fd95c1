"""tfdctl as a person calls it."""
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

from tests.cluster.runner import WITH_PARENT

DONE, NO, UNREADABLE = 0, 1, 2
USAGE, UNREACHABLE, REFUSED, CONFIG = 64, 69, 70, 78
PROGRAM = os.environ.get("TFDCTL", "build/tfdctl")


def call(*arguments, seconds=30, **environment):
    """(exit code, what it printed, what it complained of)."""
    inherited = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], env={**inherited, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=seconds)
    assert done.returncode >= 0, "killed by signal %d" % -done.returncode
    for line in done.stderr.splitlines():
        assert line.startswith("tfdctl: "), done.stderr
    return done.returncode, done.stdout, done.stderr


def good(*arguments, **options):
    """What it printed."""
    code, said, complained = call(*arguments, **options)
    assert code == DONE, (arguments, code, said, complained)
    return said


def document(*arguments, code=DONE, **options):
    """The JSON of a call that ends with this code."""
    got, said, complained = call(*arguments, "--json", **options)
    assert got == code, (arguments, got, said, complained)
    return json.loads(said)


def bad(code, words, *arguments, **options):
    """It ends with this code, says nothing, and complains of all these."""
    got, said, complained = call(*arguments, **options)
    assert got == code, (arguments, got, said, complained)
    for word in words if isinstance(words, (list, tuple)) else [words]:
        assert word in complained, "%r is not in: %s" % (word, complained)
    return complained


def on_terminal(*arguments, columns=80):
    """The bytes that a terminal of this width gets, and the exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        WITH_PARENT + [PROGRAM, *map(str, arguments)], stdin=slave,
        stdout=slave, stderr=slave)
    os.close(slave)
    data = b""
    while True:
        try:
            more = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        data += more
    os.close(master)
    return data, process.wait(10)
