"""Other hosts, as network namespaces beside ours with a line of their own."""
import contextlib
import os
import shutil
import socket
import subprocess

from tests.cluster.runner import Skip

# 198.18.0.0/15 is for tests of networks; a line takes four addresses.
FIRST, LINES = (198 << 24) + (18 << 16), 1 << 15


def ip(command):
    """Runs ip(8); where it may not, the test is skipped."""
    done = subprocess.run(["ip"] + command.split(), check=False, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise Skip("no network namespaces: ip %s: %s" % (
            command, done.stderr.strip()))


def text_of(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


@contextlib.contextmanager
def line_of_our_own():
    """A line's number that no other test has: it holds a name, which the
    kernel gives to one socket at a time and takes back when that is gone."""
    for i in range(LINES):
        line = (os.getpid() * 4 + i) % LINES
        with socket.socket(socket.AF_UNIX) as holder:
            try:
                holder.bind("\0tfd-test-line-%d" % line)
            except OSError:
                continue
            yield line
            return
    raise RuntimeError("no line is free")


@contextlib.contextmanager
def another_host(number=0):
    """Its name, our address on the line to it, and its own.

    A test with several of them numbers them."""
    if not shutil.which("ip"):
        raise Skip("no ip command")
    name = "tfd%d.%d" % (os.getpid(), number)
    ours, theirs = name + "a", name + "b"
    with contextlib.ExitStack() as held:
        line = FIRST + held.enter_context(line_of_our_own()) * 4
        our_address, address = text_of(line + 1), text_of(line + 2)
        ip("netns add " + name)
        try:
            ip("link add %s type veth peer name %s netns %s" % (
                ours, theirs, name))
            ip("addr add %s/30 dev %s" % (our_address, ours))
            ip("link set %s up" % ours)
            ip("-n %s addr add %s/30 dev %s" % (name, address, theirs))
            ip("-n %s link set lo up" % name)
            ip("-n %s link set %s up" % (name, theirs))
            ip("-n %s route add default via %s" % (name, our_address))
            yield name, our_address, address
        finally:
            ip("netns del " + name)
