"""How tests come by their ports: no two of them ever by the same one."""
import contextlib
import errno
import socket
import subprocess
import sys

from tests.cluster import ports
from tests.cluster.client import graph, run, tf
from tests.cluster.cluster import Cluster
from tests.cluster.recovery.gate import Gate
from tests.cluster.suite import test

WITH_PORTS = [sys.executable, "-m", "tests.cluster.ports"]


@contextlib.contextmanager
def command_with(count):
    """(ports, process) of a command that runs until its input ends."""
    with subprocess.Popen(
            WITH_PORTS + [str(count), "sh", "-c", 'echo "$PORTS"; read end'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield list(map(int, process.stdout.readline().split())), process
        finally:
            process.stdin.close()


@test(limit=60)
def no_two_takers_get_the_same_port(server):
    """In a process one after the other, and in others at the same time."""
    taken = [p for _ in range(100) for p in ports.free_ports(4)]
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            taken += stack.enter_context(command_with(400))[0]
        assert len(taken) == 2000
        assert len(set(taken)) == 2000
        assert not any(map(ports.take, taken))


@test()
def a_port_is_free_again_when_its_command_has_ended(server):
    with command_with(1) as ((port,), process):
        assert ports.take(port) is None
        process.stdin.close()
        assert process.wait(10) == 1  # what `read` says at the end
        with ports.take(port):
            assert ports.take(port) is None


@test()
def a_port_that_is_served_or_used_is_not_taken(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        assert ports.take(address[1]) is None
        with socket.create_connection(address) as link:
            assert ports.take(link.getsockname()[1]) is None


@test()
def a_command_that_is_not_there_is_an_error(server):
    for wrong in (["1", "/no/such/command"], ["1"], [], ["many", "true"],
                  [str(len(ports.PORTS) + 1), "true"]):
        done = subprocess.run(WITH_PORTS + wrong, stderr=subprocess.PIPE)
        assert done.returncode == 1 and done.stderr, wrong


@test()
def a_held_port_refuses_as_if_nothing_were_there(server):
    with socket.socket() as link:
        code = link.connect_ex(("127.0.0.1", ports.free_ports(1)[0]))
        assert code == errno.ECONNREFUSED, errno.errorcode[code]


@test(limit=90)
def one_server_can_listen_on_a_held_port(server):
    """One after the other; the second at a time is told that it is in use."""
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        for _ in range(2):
            with graph():
                assert run(task.target, tf.constant(1)) == 1
            assert ports.take(task.port) is None
            with socket.socket() as second:
                second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    second.bind(("127.0.0.1", task.port))
                    second.listen()
                    raise AssertionError("two listen on port %d" % task.port)
                except OSError as error:
                    assert error.errno == errno.EADDRINUSE, error
            task.kill()
            cluster.start("worker", 0)


@test(tfd_only=True)
def a_gate_can_listen_on_a_held_port(server):
    with Cluster(server, worker=1) as cluster:
        port = ports.free_ports(1)[0]
        gate = Gate({"worker0": (port, cluster["worker", 0].port)})
        with graph():
            assert run("grpc://127.0.0.1:%d" % port, tf.constant(1)) == 1
        gate.close()
