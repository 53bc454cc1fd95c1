"""Runs a player of programs, with ports that are handed out.

  python -m tests.cluster.programs.held PLAYER ARGUMENT...

The player asks the kernel for a free port and lets go of it; until its server
listens there, a connection that another test makes may have it.  Its port() is
taken for one of ports.py instead, which nobody gets meanwhile.

TensorFlow's client has a race after a failed function that was sent without
waiting: it wakes the caller before it has noted the failure, and gives the
failure to what the caller sends meanwhile too.  The next use of such a result
raises the old error.  It happens with TensorFlow's own servers (15 of 4,803 times,
126 of 10,064 with tfd); the client mostly logs then that this should never
happen.  t02 alone has such a function: where it ends with that function's error, it
is played once more.

Programs and servers of the Python that the tests have, too, are forked by the
nursery (nursery.py), if there is one.

Runs under every Python that has a TensorFlow, so it imports nothing else of the
tests."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import types

from tests.cluster import nursery
from tests.cluster.ports import free_ports

LATE = ("t02_functions", "Input is not invertible.")
PLAYS = 3


def is_late(name, logs):
    """Whether the program's last words are those of the earlier failure."""
    out = pathlib.Path(logs, name + ".out")
    return (name == LATE[0] and out.exists()
            and LATE[1] in out.read_text(errors="replace")[-600:])


def patient(run):
    """run() of the player, again where the client's race ended the program."""
    def played(script, args, logs):
        name = os.path.basename(script)[:-3]
        for _ in range(PLAYS):
            outcome = run(script, args, logs)
            if outcome[0] != "FAIL" or not is_late(name, logs):
                break
            print("%s: the client's race, played again" % name, flush=True)
        return outcome
    return played


def popen(command, start_new_session=False, **options):
    """A subprocess.Popen, or what the nursery has made of it, in this group."""
    if command[0] == sys.executable:
        return nursery.start(command, **options)
    return subprocess.Popen(command, start_new_session=start_new_session,
                            **options)


def main():
    path = sys.argv.pop(1)
    found = importlib.util.spec_from_file_location("player", path)
    player = importlib.util.module_from_spec(found)
    found.loader.exec_module(player)
    assert callable(player.port), path
    if nursery.is_open():
        player.subprocess = types.SimpleNamespace(
            **{**vars(subprocess), "Popen": popen})
    player.port = lambda: free_ports(1)[0]
    player.run = patient(player.run)
    sys.argv[0] = path
    return player.main()


if __name__ == "__main__":
    sys.exit(main())
