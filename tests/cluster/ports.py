"""Ports for servers that start later, each held until its taker has ended.

  python3 -m tests.cluster.ports COUNT COMMAND...

runs the command with that many in the variable PORTS.

A port is held by a socket that is bound to it and never listens.  While it
lives, nobody who asks for a port gets this one, not this process a second time
nor another, and the kernel gives it to no outgoing connection; a connection to
it is refused as if nothing were there.  Bound without SO_REUSEADDR it excludes
the others, marked with it afterwards it lets a server in: servers that listen
say SO_REUSEADDR, and of those the kernel lets one."""
import os
import random
import socket
import sys

# Below the range that outgoing connections have, of which tests make many.
PORTS = range(12000, 30000)
_HELD = []  # sockets; they end with the process and those it was copied to


def take(port):
    """The socket that holds the port, or None where another has it."""
    holder = socket.socket()
    try:
        holder.bind(("", port))  # on every address, as a server may
    except OSError:
        holder.close()
        return None
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return holder


def free_ports(count):
    """Ports that are nobody else's until this process ends."""
    ports = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(ports) == count:
            return ports
        holder = take(port)
        if holder:
            _HELD.append(holder)
            ports.append(port)
    raise RuntimeError("no %d free ports in %s" % (count, PORTS))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: python3 -m tests.cluster.ports COUNT COMMAND...")
    ports = free_ports(int(sys.argv[1]))
    for holder in _HELD:
        holder.set_inheritable(True)
    os.environ["PORTS"] = " ".join(map(str, ports))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
