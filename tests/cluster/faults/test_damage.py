"""A ps and a worker on two hosts, and on the line between them something that
flips a bit which TCP does not notice: a value is right, or there is none.

The hosts are network namespaces. This one is the client's, and the router
between them: each task is known by an address here, where a relay takes the
connections of the other and passes them on."""
import contextlib
import dataclasses
import re
import socket
import threading

from tests.cluster.client import equal, kept_session, np, tf
from tests.cluster.cluster import Cluster, Server, wait_until
from tests.cluster.hosts import another_host
from tests.cluster.suite import test

MAGIC = b"TFD1"  # how a native frame begins
SIDE = 1024      # of the matrix that is moved: 4 MiB
SUMMED = 0x80    # the flag of a frame that has checksums
DAMAGED = re.compile(r"frame_damaged peer=\S+ why=\"the \w+ frame of call \d+, "
                     r"\d+ bytes, was damaged on its way: checksum ")
TROUBLES = (tf.errors.UnavailableError, tf.errors.AbortedError)


class Relay:
    """Passes on what comes to an address to the same port of another one.

    Once told so it flips one bit, in the first direction of a connection that
    has moved so many bytes since: far inside a frame."""

    def __init__(self, address, port, to):
        self.to, self.port = to, port
        self.lock, self.due, self.flips = threading.Lock(), None, 0
        self.plain = self.summed = 0  # native directions, by their first frame
        self.listener = socket.create_server((address, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def flip_after(self, size):
        with self.lock:
            self.due, self.flips = size, 0

    def close(self):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                far = socket.create_connection((self.to, self.port), 20)
                far.settimeout(None)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair,
                                     daemon=True).start()

    def _carry(self, source, sink):
        passed, since, first = 0, None, True
        with contextlib.suppress(OSError):
            while part := bytearray(source.recv(1 << 16)):
                if first and part.startswith(MAGIC) and len(part) > 5:
                    self._count(part[5])
                first = False
                with self.lock:
                    if self.due is None:
                        since = None
                    elif since is None:
                        since = passed
                    elif passed - since >= self.due:
                        part[len(part) // 2] ^= 16
                        self.flips, self.due = self.flips + 1, None
                passed += len(part)
                sink.sendall(part)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _count(self, flags):
        with self.lock:
            if flags & SUMMED:
                self.summed += 1
            else:
                self.plain += 1


@dataclasses.dataclass
class Hosts:
    """A running cluster of a ps and a worker, each on a host of its own."""

    cluster: Cluster
    relays: dict  # by the job that it leads to
    target: str   # of the worker, past the relay

    def logs(self):
        return "".join(t.log_text() for t in self.cluster.tasks.values())

    def flip(self, after):
        for relay in self.relays.values():
            relay.flip_after(after)

    def flips(self):
        return sum(relay.flips for relay in self.relays.values())


def reachable(address, port):
    try:
        socket.create_connection((address, port), 1).close()
        return True
    except OSError:
        return False


@contextlib.contextmanager
def two_hosts(server):
    with contextlib.ExitStack() as stack:
        others, ends = {}, {}
        for number, job in enumerate(("ps", "worker")):
            name, ours, its = stack.enter_context(another_host(number))
            others[job, 0] = Server(
                ["ip", "netns", "exec", name] + server.command, True,
                server.slow)
            ends[job] = ours, its
        cluster = stack.enter_context(Cluster(
            server, ["--bind=any"], start=False, others=others, ps=1, worker=1))
        relays = {}
        for (job, _), task in cluster.tasks.items():
            ours, its = ends[job]
            cluster.spec[job] = ["%s:%d" % (ours, task.port)]
            relays[job] = Relay(ours, task.port, its)
            stack.callback(relays[job].close)
        for key, task in cluster.tasks.items():
            cluster.start(*key, wait=False)
            wait_until(lambda: not task.alive()
                       or reachable(ends[key[0]][1], task.port), 60, task.name)
        yield Hosts(cluster, relays, "grpc://%s:%d" % (
            ends["worker"][1], cluster["worker", 0].port))


class Matrix:
    """A variable on the ps; put and got by the worker, over the line."""

    def __init__(self, hosts):
        with tf.Graph().as_default() as g:
            with tf.device("/job:ps/task:0"):
                self.variable = tf.get_variable(
                    "v", [SIDE, SIDE], initializer=tf.zeros_initializer(),
                    use_resource=True)
            with tf.device("/job:worker/task:0"):
                self.value = tf.placeholder(tf.float32, [])
                steps = tf.reshape(tf.range(float(SIDE * SIDE)), [SIDE, SIDE])
                put = self.variable.assign(steps * self.value,
                                           read_value=False)
                got = self.variable.read_value() * 1.0
            self.put, self.got, start = put, got, self.variable.initializer
        self.open = lambda: kept_session(hosts.target, graph=g)
        self.session = self.open()
        self.session.run(start)

    def read(self):
        return self.session.run(self.got)

    def write(self, factor):
        self.session.run(self.put, {self.value: factor})

    def again(self):
        """Another session, as one ends with the connection to its ps."""
        self.session = self.open()
        return not in_trouble(self.session.run, self.got)

    def check(self, *factors):
        """It holds one of these as a whole."""
        got = self.session.run(self.got)
        steps = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
        for factor in factors[:-1]:
            if got[0, 1] == factor:
                break
        else:
            factor = factors[-1]
        equal(got, steps * np.float32(factor))


def in_trouble(step, *arguments):
    """True when the step failed as a connection does that has ended."""
    try:
        step(*arguments)
    except TROUBLES as error:
        print("%s: %s" % (type(error).__name__, error.message[:200]))
        return True
    return False


@test(limit=60, tfd_only=True)
def values_cross_two_hosts_with_checksums(server):
    with two_hosts(server) as hosts:
        matrix = Matrix(hosts)
        for factor in (1, 2, 3):
            matrix.write(factor)
            matrix.check(factor)
        assert hosts.flips() == 0
        assert sum(relay.summed for relay in hosts.relays.values()) >= 2
        assert sum(relay.plain for relay in hosts.relays.values()) == 0
        assert "frame_damaged" not in hosts.logs()


@test(limit=60, tfd_only=True)
def a_damaged_value_is_never_stored_or_read(server):
    """On its way to the ps when it is written, or to the worker when read."""
    with two_hosts(server) as hosts:
        matrix = Matrix(hosts)
        matrix.write(1)
        stored = 1
        for factor in (2, 3, 4):
            for step in (lambda: matrix.write(factor), matrix.read):
                hosts.flip(1 << 20)
                assert in_trouble(step)
                assert hosts.flips() > 0
                hosts.flip(None)
                wait_until(matrix.again, 20, "the ps is reached again")
                matrix.check(stored, factor)
            matrix.write(factor)
            matrix.check(factor)
            stored = factor
        assert DAMAGED.search(hosts.logs()), hosts.logs()
