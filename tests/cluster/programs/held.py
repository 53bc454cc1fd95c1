"""Runs a player of programs, with ports that are handed out.

  python -m tests.cluster.programs.held PLAYER ARGUMENT...

The player asks the kernel for a free port and lets go of it; until its server
listens there, a connection that another test makes may have it.  Its port() is
taken for one of ports.py instead, which nobody gets meanwhile.  Runs under every
Python that has a TensorFlow, so it imports nothing else of the tests."""
import importlib.util
import sys

from tests.cluster.ports import free_ports


def main():
    path = sys.argv.pop(1)
    found = importlib.util.spec_from_file_location("player", path)
    player = importlib.util.module_from_spec(found)
    found.loader.exec_module(player)
    assert callable(player.port), path
    player.port = lambda: free_ports(1)[0]
    sys.argv[0] = path
    return player.main()


if __name__ == "__main__":
    sys.exit(main())
