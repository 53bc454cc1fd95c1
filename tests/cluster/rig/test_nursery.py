"""The nursery: a program that it forks is one that `python` starts."""
import os
import signal
import subprocess
import sys
import tempfile

from tests.cluster import nursery
from tests.cluster.cluster import wait_until
from tests.cluster.suite import test

SAYS = """import os, sys
print(__name__, sys.argv, os.getcwd(), os.environ.get("TF_CONFIG"), sys.path[0])
print("loaded" if "tensorflow" in sys.modules else "not loaded")
"""


def said(code, *arguments, **options):
    done = nursery.ran([sys.executable, "-c", code, *arguments], **options)
    return done.returncode, done.stdout


@test(tfd_only=True)
def a_program_has_what_python_would_give_it(server):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(SAYS)
        done = nursery.ran([sys.executable, path, "a", "b c"], cwd="/",
                           env=dict(os.environ, TF_CONFIG="{}"))
        assert done.returncode == 0, done.stdout
        assert done.stdout.splitlines() == [
            "__main__ %s / {} %s" % ([path, "a", "b c"], folder), "loaded"]
    assert said("import sys; print(sys.argv)", "x") == (0, "['-c', 'x']\n")
    done = nursery.ran([sys.executable, "-m", "tests.cluster.ports", "1",
                        "sh", "-c", "echo $PORTS"])
    assert done.returncode == 0 and int(done.stdout) > 0, done.stdout


@test(tfd_only=True)
def streams_are_the_askers(server):
    code = "import sys\nfor line in sys.stdin: print(line.upper(), end='')"
    program = nursery.start([sys.executable, "-c", code], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert isinstance(program, nursery.Program)
    program.stdin.write("one\ntwo\n")
    assert program.communicate(20) == ("ONE\nTWO\n", None)
    assert program.returncode == program.poll() == 0
    with tempfile.TemporaryFile() as log:
        program = nursery.start(
            [sys.executable, "-c", "import os; os.write(2, b'error')"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        assert program.wait(20) == 0
        log.seek(0)
        assert log.read() == b"error"


@test(tfd_only=True)
def an_end_is_told_as_it_was(server):
    assert said("import sys; sys.exit(3)") == (3, "")
    assert said("import sys; sys.exit('why')") == (1, "why\n")
    assert said("import os; os._exit(7)") == (7, "")
    code, text = said("raise ValueError('no good')")
    assert code == 1 and "ValueError: no good" in text, text
    assert said("import os; os.abort()")[0] == -signal.SIGABRT
    assert said("import atexit; atexit.register(print, 'last')") == (
        0, "last\n")
    code, text = said("import threading\n"
                      "threading.Thread(target=print, args=('its',)).start()")
    assert (code, text) == (0, "its\n")
    done = nursery.ran([sys.executable, "/no/such/file.py"])
    assert done.returncode == 1 and "FileNotFoundError" in done.stdout


@test(tfd_only=True)
def a_program_is_killed_and_waited_for(server):
    program = nursery.start([sys.executable, "-c",
                             "import signal; signal.pause()"])
    assert program.poll() is None
    try:
        program.wait(0.05)
        raise AssertionError("it has ended")
    except subprocess.TimeoutExpired:
        pass
    program.send_signal(signal.SIGTERM)
    assert program.wait(20) == -signal.SIGTERM
    program.kill()  # of nobody
    wait_until(lambda: not os.path.exists("/proc/%d" % program.pid), 20,
               "its number is free")


@test(tfd_only=True)
def it_ends_with_the_group_of_who_asked(server):
    heard, says = os.pipe()
    asker = os.fork()
    if asker == 0:
        os.setpgid(0, 0)
        program = nursery.start([sys.executable, "-c",
                                 "import signal; signal.pause()"])
        os.write(says, b"%d" % program.pid)
        signal.pause()
    path = "/proc/%d" % int(os.read(heard, 20))
    assert os.path.exists(path)
    os.killpg(asker, signal.SIGKILL)
    os.waitpid(asker, 0)
    wait_until(lambda: not os.path.exists(path), 20, "it has ended")


@test(tfd_only=True)
def programs_draw_apart(server):
    code = ("import numpy, random, uuid\n"
            "print(numpy.random.rand(), random.random(), uuid.uuid4())")
    one, other = (said(code)[1].split() for _ in range(2))
    assert not set(one) & set(other), (one, other)


@test(tfd_only=True)
def what_tensorflow_reads_early_is_heeded(server):
    """By a python that imports it anew."""
    env = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="1")
    program = nursery.start([sys.executable, "-c", SAYS], env=env, text=True,
                            stdout=subprocess.PIPE)
    assert isinstance(program, subprocess.Popen)
    assert "not loaded" in program.communicate(timeout=20)[0]
    del os.environ[nursery.WHERE]
    assert "not loaded" in said(SAYS)[1]
    os.environ[nursery.WHERE] = "1"  # the log, which is no socket
    assert "not loaded" in said(SAYS)[1]
