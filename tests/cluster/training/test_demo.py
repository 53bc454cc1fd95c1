"""How the demo shows its progress: the bytes on a terminal and elsewhere."""
import os
import pathlib
import signal
import subprocess
import tempfile

from tests.cluster.ports import free_ports
from tests.cluster.suite import test
from tests.cluster.terminal import Terminal, screen

MNIST = pathlib.Path(__file__).parents[3] / "examples/mnist"
SHOW = str(MNIST / "show")


class Logs:
    """Logs of tasks, which grow while they are shown."""

    def __init__(self, *names):
        self.folder = tempfile.mkdtemp()
        self.path = {name: os.path.join(self.folder, name) for name in names}
        for path in self.path.values():
            open(path, "w").close()

    def add(self, name, text):
        with open(self.path[name], "a") as log:
            log.write(text)

    def arguments(self):
        return [SHOW] + ["%s=%s" % item for item in self.path.items()]


def end(process):
    process.send_signal(signal.SIGTERM)


@test(limit=20, tfd_only=True)
def a_terminal_has_one_line_per_task(server):
    logs = Logs("ps 0", "chief 0", "worker 0")
    shown = Terminal(logs.arguments())
    shown.read(b"worker 0: started")
    logs.add("chief 0", "chief 0: saved step 0 to d\nchief 0: step 1/9\n")
    shown.read(b"step 1/9")
    logs.add("worker 0", "worker 0: step 2/9  loss 10.125\n")
    shown.read(b"step 2/9")
    logs.add("worker 0", "worker 0: step 3/9  loss 1.5\nworker 0: st")
    shown.read(b"step 3/9")
    logs.add("worker 0", "ep 4/9\n")
    shown.read(b"step 4/9")
    end(shown.process)
    assert shown.exit_code() == 0
    assert screen(shown.bytes) == [
        "chief 0: saved step 0 to d", "ps 0: started", "chief 0: step 1/9",
        "worker 0: step 4/9", ""], shown.bytes


@test(limit=20, tfd_only=True)
def a_terminal_is_drawn_over_and_never_cleared(server):
    logs = Logs("chief 0", "worker 0")
    shown = Terminal(logs.arguments())
    shown.read(b"worker 0: started")
    logs.add("worker 0", "worker 0: step 2\n")
    shown.read(b"step 2\x1b[K\n\x1b[?7h")
    end(shown.process)
    shown.exit_code()
    lines = b"\rchief 0: started\x1b[K\n\rworker 0: %s\x1b[K\n\x1b[?7h"
    assert shown.bytes == (b"\x1b[?7l" + lines % b"started" +
                           b"\x1b[?7l\x1b[2A" + lines % b"step 2"), shown.bytes


@test(limit=20, tfd_only=True)
def what_the_logs_hold_at_the_end_is_shown(server):
    logs = Logs("chief 0", "worker 0")
    shown = Terminal(logs.arguments())
    shown.read(b"worker 0: started")
    logs.add("chief 0", "chief 0: step 9/9\nchief 0: accuracy 0.9\n")
    logs.add("worker 0", "killed in mid-li")
    end(shown.process)
    assert shown.exit_code() == 0
    assert screen(shown.bytes) == [
        "chief 0: accuracy 0.9", "killed in mid-li", "chief 0: step 9/9",
        "worker 0: started", ""], shown.bytes


def piped(logs):
    shown = subprocess.Popen(logs.arguments(), stdout=subprocess.PIPE)
    first = shown.stdout.readline()
    end(shown)
    rest = shown.stdout.read()
    assert shown.wait() == 0
    return (first + rest).decode()


@test(limit=20, tfd_only=True)
def elsewhere_every_line_of_the_logs_is_printed(server):
    logs = Logs("chief 0", "worker 0")
    logs.add("chief 0", "chief 0: step 1\nchief 0: saved\nchief 0: step 2\n")
    logs.add("worker 0", "worker 0: step 1\nworker 0: step 3")
    assert piped(logs) == (
        "chief 0: step 1\nchief 0: saved\nchief 0: step 2\n"
        "worker 0: step 1\nworker 0: step 3\n")


@test(limit=20, tfd_only=True)
def a_dumb_terminal_gets_plain_lines(server):
    logs = Logs("chief 0")
    logs.add("chief 0", "chief 0: step 1\nchief 0: step 2\n")
    shown = Terminal(["env", "TERM=dumb"] + logs.arguments())
    shown.read(b"step 2\n")
    end(shown.process)
    shown.exit_code()
    assert shown.bytes == b"chief 0: step 1\nchief 0: step 2\n", shown.bytes


@test(limit=20, tfd_only=True)
def a_log_that_is_not_there_is_a_failure(server):
    logs = Logs("chief 0")
    os.remove(logs.path["chief 0"])
    shown = subprocess.run(logs.arguments(), stderr=subprocess.PIPE)
    assert shown.returncode == 1
    assert logs.path["chief 0"] in shown.stderr.decode()


def demo(server, folder, steps, *flags, accuracy="0.3"):
    build = pathlib.Path(server.command[0]).resolve().parent
    return Terminal([str(MNIST / "run"), *flags], BUILD=str(build),
                    STEPS=str(steps), DEMO_DIR=folder, ACCURACY=accuracy,
                    PORTS=" ".join(map(str, free_ports(3))))


@test(limit=90, tfd_only=True)
def the_demo_on_a_terminal_and_once_more(server):
    with tempfile.TemporaryDirectory() as folder:
        shown = demo(server, folder, 300)
        assert shown.exit_code() == 0, shown.bytes
        text = screen(shown.bytes)
        tasks = [line.partition(":")[0] for line in text[-5:-2]]
        assert tasks == ["ps 0", "chief 0", "worker 0"], text
        # On a busy machine one of the two may make all of the steps.
        assert any("/300" in line and "loss" in line
                   for line in text[-4:-2]), text
        assert text[-2].startswith("demo: accuracy 0."), text
        shown = demo(server, folder, 100)
        assert shown.exit_code() == 0, shown.bytes
        assert any("restored" in line for line in screen(shown.bytes))


@test(limit=60, tfd_only=True)
def a_task_that_fails_is_reported_below_its_line(server):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/checkpoints")
        with open(folder + "/checkpoints/checkpoint", "w") as index:
            index.write('model_checkpoint_path: "model.ckpt-5"\n')
        shown = demo(server, folder, 100)
        assert shown.exit_code() == 1, shown.bytes
        text = screen(shown.bytes)
        said = [line for line in text if "chief-0 failed with exit code" in
                line]
        assert said, text
        below = text[text.index(said[0]) - 3:]
        assert below[0].startswith("ps 0"), text
        assert "model.ckpt-5" in "".join(below[4:]), text


@test(limit=150, tfd_only=True)
def the_demo_trains_convolutions(server):
    """A few steps; the whole run must reach 99 %."""
    with tempfile.TemporaryDirectory() as folder:
        shown = demo(server, folder, 250, "--model=cnn", accuracy="0.85")
        assert shown.exit_code() == 0, shown.bytes


@test(limit=20, tfd_only=True)
def an_unknown_model_is_refused(server):
    shown = subprocess.run([str(MNIST / "run"), "--model=rnn"],
                           stderr=subprocess.PIPE)
    assert shown.returncode == 64
    assert b"usage: run [--model=mlp|cnn]" in shown.stderr
