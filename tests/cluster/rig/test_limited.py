"""tests/limited: a command within its time, and nothing of it left behind."""
import pathlib
import subprocess
import sys
import time

from tests.cluster.suite import test

LIMITED = pathlib.Path(__file__).parents[2] / "limited"

# Children that leave children behind, which all end at about the same time.
ORPHANS = """
import os
for _ in range(20):
    for _ in range(30):
        if os.fork() == 0:
            for _ in range(5):
                if os.fork() == 0:
                    os._exit(0)
            os._exit(0)
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        pass
"""


def limited(seconds, *command):
    """What it ended with and printed, and the seconds that it took."""
    begun = time.monotonic()
    done = subprocess.run([LIMITED, str(seconds)] + list(command), text=True,
                          stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                          stdout=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout, time.monotonic() - begun


def running(mark):
    """Processes that have the mark among their arguments."""
    return subprocess.run(["pgrep", "-f", mark], stdout=subprocess.PIPE,
                          text=True).stdout.split()


@test()
def it_ends_as_its_command_does(server):
    for command, code in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137),
                          ("kill -15 $$", 143)):
        assert limited(20, "bash", "-c", command)[:2] == (code, ""), command


@test()
def a_command_that_is_late_is_killed(server):
    code, text, took = limited(0.2, "sleep", "1000")
    assert code == 124 and text == "killed at its limit of 0.2 s\n", text
    assert took < 9, took


@test()
def a_command_that_is_missing_is_named(server):
    code, text, _ = limited(20, "/no/such/command")
    assert code == 127, code
    assert text == "limited: /no/such/command: No such file or directory\n"


@test()
def children_that_end_while_others_are_reaped_do_no_harm(server):
    assert limited(50, sys.executable, "-c", ORPHANS)[:2] == (0, "")


@test()
def nothing_stays_of_what_was_just_starting(server):
    for mark in ("1000.%03d" % i for i in range(10)):
        code, _, took = limited(20, "bash", "-c", "sleep %s & (sleep %s & "
                                "setsid sleep %s) & exit 3" % (3 * (mark,)))
        assert code == 3 and took < 15, (code, took)
        assert not running("sleep " + mark), mark
