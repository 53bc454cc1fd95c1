"""Who of this host may connect: other users' programs at every door of a server.

Users are told apart by their number alone, so any number that is neither ours
nor root's is a stranger. Only root can be another user; elsewhere these tests
are skipped."""
import os
import socket
import subprocess

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.hosts import another_host
from tests.cluster.runner import Skip
from tests.cluster.suite import test

STRANGER, FRIEND = 65534, 54321

# Connects to ADDRESS (host:port, or the abstract name after "@"), says what a
# client of the protocol says first, and prints how many bytes came back. In
# "rude" mode it says it and is gone.
CLIENT = r"""
import socket, sys
address, protocol, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
hello = {
    "native": b"TFD1\x05\0\0\0\0\0\0\0\x08\0\0\0" + b"12345678",
    "grpc": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    "http": b"GET /healthz HTTP/1.1\r\n\r\n",
    "rude": b"GET /healthz HTTP/1.1\r\n\r\n",
    "silent": b"",
}[protocol]
total = 0
for _ in range(count):
    try:
        if address[0] == "@":
            s = socket.socket(socket.AF_UNIX)
            s.connect("\0" + address[1:])
        else:
            host, _, port = address.rpartition(":")
            s = socket.create_connection((host, int(port)), 20)
        s.settimeout(20)
        s.sendall(hello)
        if protocol == "silent":
            s.shutdown(socket.SHUT_WR)
        if protocol != "rude":
            total += len(s.recv(100))
    except ConnectionError:
        pass
    finally:
        s.close()
print(total)
"""


# Holds as many connections to an abstract name as it can, until its input ends.
# None of its connections falls silent, or it would give its place to the next.
HOARDER = r"""
import select, socket, sys
held = []
def say(words):
    for s in list(held):
        try:
            s.send(words)
        except OSError:
            held.remove(s)
for _ in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect("\0" + sys.argv[1])
    held.append(s)
say(b"GET / HTTP/1.1\r\nWords: ")
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.2)[0]:
    say(b"a")
"""


def only_root():
    if os.geteuid() != 0:
        raise Skip("only root can be another user")


def ask(user, address, protocol, count=1):
    """Bytes that a user's client hears, 0 where it was refused."""
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", CLIENT, address, protocol,
         str(count)], user=user, group=user, extra_groups=[], cwd="/",
        stdout=subprocess.PIPE, timeout=60, check=True)
    return int(done.stdout)


def own_addresses():
    """Addresses of this host that are not loopback."""
    found = []
    for family, far in ((socket.AF_INET, "198.51.100.1"),
                        (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))  # sends nothing
                found.append(probe.getsockname()[0])
        except OSError:
            pass
    return found


def doors(port):
    """Every way into a server that listens everywhere."""
    hosts = ["127.0.0.1", "127.8.8.8"] + own_addresses()
    if os.path.exists("/proc/net/tcp6"):
        hosts += ["::1", "::ffff:127.0.0.1"]
    return ["%s:%d" % (host, port) for host in hosts] + ["@tfd *:%d" % port]


def refusals(task):
    return task.log_text().count("user_refused")


@test(limit=60, tfd_only=True)
def strangers_are_refused_at_every_door(server):
    only_root()
    with Cluster(server, ["--bind=any"], worker=1) as cluster:
        task = cluster["worker", 0]
        for door in doors(task.port):
            for protocol in ("native", "grpc", "http"):
                assert ask(os.geteuid(), door, protocol) > 0, (door, protocol)
                heard = ask(STRANGER, door, protocol)
                assert heard == 0, (door, protocol, heard)
            for protocol in ("silent", "rude"):
                assert ask(STRANGER, door, protocol) == 0, (door, protocol)
        assert 'user="uid %d"' % STRANGER in task.log_text()
        assert "--allow_uid" in task.log_text()
        line = next(line for line in task.log_text().splitlines()
                    if "open_to_others" in line)
        assert "authentication=none" in line, line
        assert 'file_roots="none"' in line, line


@test(limit=60, tfd_only=True)
def a_flood_of_strangers_does_not_fill_the_log(server):
    only_root()
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        for door in (task.address, "@tfd " + task.address):
            assert ask(STRANGER, door, "http", 1000) == 0
            assert ask(os.geteuid(), door, "http") > 0
        assert 1 <= refusals(task) <= 15, task.log_tail(30)
        assert "open_to_others" not in task.log_text(), task.log_tail()


@test(limit=60, tfd_only=True)
def who_closes_at_once_is_not_taken_for_root(server):
    """The kernel says of a closed socket that it is user 0's."""
    only_root()
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        assert ask(STRANGER, task.address, "rude", 300) == 0
        page = ask(os.geteuid(), task.address, "http")
        assert page > 0
        with socket.create_connection(("127.0.0.1", task.port)) as own:
            own.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: own.recv(65536), b"")).decode()
        assert " 200 " in text.splitlines()[0], text[:200]


@test(limit=60, tfd_only=True)
def allow_uid_lets_in_whom_it_names(server):
    only_root()
    with Cluster(server, ["--allow_uid=%d" % FRIEND], worker=1) as cluster:
        task = cluster["worker", 0]
        for door in (task.address, "@tfd " + task.address):
            for protocol in ("native", "grpc", "http"):
                assert ask(FRIEND, door, protocol) > 0, (door, protocol)
                assert ask(STRANGER, door, protocol) == 0, (door, protocol)
        assert "open_to_others" in task.log_text(), task.log_tail()
    with Cluster(server, ["--allow_uid=any"], worker=1) as cluster:
        task = cluster["worker", 0]
        for door in (task.address, "@tfd " + task.address):
            assert ask(STRANGER, door, "http") > 0, door
        assert 'users="any of this host"' in task.log_text(), task.log_tail()


def read_file(target, name):
    with tf.Graph().as_default(), tf.Session(target) as session:
        return session.run(tf.io.read_file(name))


@test(limit=60, tfd_only=True)
def files_are_open_where_only_the_own_user_can_connect(server):
    with open("/etc/hostname", "rb") as file:
        text = file.read()
    with Cluster(server, worker=1) as cluster:
        assert read_file(cluster.target(), "/etc/hostname") == text
    for flag in ("--allow_uid=any", "--bind=any"):
        with Cluster(server, [flag], worker=1) as cluster:
            try:
                read_file(cluster.target(), "/etc/hostname")
                raise AssertionError("%s: read it" % flag)
            except tf.errors.PermissionDeniedError as error:
                assert "--file_root" in str(error), error
    with Cluster(server, ["--bind=any", "--file_root=/etc"],
                 worker=1) as cluster:
        assert read_file(cluster.target(), "/etc/hostname") == text


@test(limit=60, tfd_only=True)
def a_server_of_another_user_serves_that_user_and_root(server):
    only_root()
    as_friend = type(server)(["/usr/bin/setpriv", "--reuid=%d" % FRIEND,
                              "--clear-groups", "--"] + [
                                  os.path.abspath(server.command[0])
                              ] + server.command[1:], True, server.slow)
    if subprocess.run(["setpriv", "--reuid=%d" % FRIEND, "--clear-groups",
                       "test", "-x", os.path.abspath(server.command[0])],
                      check=False).returncode:
        raise Skip("the server cannot be run by another user")
    with Cluster(as_friend, worker=1) as cluster:
        task = cluster["worker", 0]
        for door in (task.address, "@tfd " + task.address):
            for protocol in ("native", "grpc", "http"):
                assert ask(FRIEND, door, protocol) > 0, (door, protocol)
                assert ask(0, door, protocol) > 0, (door, protocol)
                assert ask(STRANGER, door, protocol) == 0, (door, protocol)
        wait_until(lambda: refusals(task), 5, "a refusal")


@test(limit=60, tfd_only=True)
def a_hoarder_of_unix_sockets_takes_its_own_quota_only(server):
    only_root()
    with Cluster(server, ["--allow_uid=any", "--connections_per_peer=50"],
                 worker=1) as cluster:
        task = cluster["worker", 0]
        door = "@tfd " + task.address
        with subprocess.Popen(
                ["/usr/bin/env", "python3", "-c", HOARDER, door[1:], "80"],
                user=STRANGER, group=STRANGER, extra_groups=[], cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hoarder:
            assert hoarder.stdout.readline() == b"ready\n"
            wait_until(lambda: "connection_refused" in task.log_text(), 10,
                       "a refusal")
            for protocol in ("native", "grpc", "http"):
                for way in (door, task.address):
                    assert ask(os.geteuid(), way, protocol) > 0, (way,
                                                                  protocol)
                    assert ask(STRANGER, way, protocol) == 0, (way, protocol)
            assert 'counted_as="uid %d"' % STRANGER in task.log_text()
            hoarder.stdin.close()
            hoarder.wait(20)
        wait_until(lambda: ask(STRANGER, door, "http"), 10, "room again")


# Takes the abstract name beside a port before its server starts, and counts
# who comes.
SQUATTER = r"""
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + sys.argv[1])
s.listen(100)
print("ready", flush=True)
sys.stdin.read()
s.settimeout(0)
heard = 0
try:
    while True:
        other, _ = s.accept()
        other.settimeout(5)
        heard += len(other.recv(100))
except BlockingIOError:
    print(heard)
"""


@test(limit=60, tfd_only=True)
def a_stranger_on_the_name_of_a_task_hears_nothing(server):
    """A session across tasks whose short way another user has taken."""
    only_root()
    with Cluster(server, start=False, ps=1, worker=1) as cluster:
        with subprocess.Popen(
                ["/usr/bin/env", "python3", "-c", SQUATTER,
                 "tfd " + cluster["ps", 0].address],
                user=STRANGER, group=STRANGER, extra_groups=[], cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
            assert squatter.stdout.readline() == b"ready\n"
            cluster.start_all()
            with tf.Graph().as_default():
                with tf.device("/job:ps/task:0"):
                    value = tf.constant(20) + 1
                with tf.Session(cluster.target()) as session:
                    assert session.run(2 * value) == 42
            assert "unix_name_taken" in cluster["ps", 0].log_text()
            squatter.stdin.close()
            assert squatter.stdout.read() == b"0\n"


@test(limit=60, tfd_only=True)
def another_hosts_clients_are_nobodys_users(server):
    """--bind decides about them; a user's number there means nothing here."""
    only_root()
    with another_host() as (host, address, _):
        with Cluster(server, ["--bind=any"], worker=1) as cluster:
            task = cluster["worker", 0]
            for protocol in ("native", "grpc", "http"):
                done = subprocess.run(
                    ["ip", "netns", "exec", host, "setpriv", "--clear-groups",
                     "--reuid=%d" % STRANGER, "/usr/bin/python3", "-c", CLIENT,
                     "%s:%d" % (address, task.port), protocol, "1"],
                    stdout=subprocess.PIPE, timeout=60, check=True)
                assert int(done.stdout) > 0, protocol
            assert not refusals(task), task.log_tail()
            # The same number here is a stranger, by that address too.
            own = "%s:%d" % (address, task.port)
            assert ask(STRANGER, own, "http") == 0
