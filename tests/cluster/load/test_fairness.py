"""What an honest client notices of one that wants everything for itself.

The honest one runs a null step every 10 ms, a step with a feed of 256 KiB
beside every tenth, and opens a session every 300 ms.  It is measured quiet and
beside an attack in turn; beside it the 99th percentile may be three times the
quiet one.

In life each has a machine of its own; here they share the processors, so the
scheduler gives the honest one its processor at once, the server what it wants
and attackers what is left over: the server alone is measured.  Where that is not
permitted, or others compute on this machine, every thread that an honest step
wakes waits for a slice of the scheduler's, and what is below FLOOR counts as that.
A round that somebody disturbed is made good by others.
"""
import collections
import os
import signal
import struct
import sys
import time
import traceback
import zlib

import grpc

from tests.cluster.client import graph, np, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.raw import Raw, graph_of, message, node
from tests.cluster.runner import die_with_parent
from tests.cluster.suite import test

LIMIT = dict(limit=90, tfd_only=True)
STEP_SECONDS, SESSION_SECONDS, FEED_STEPS = 0.01, 0.3, 10
ROUND_SECONDS, PAIRS, PAIRS_MAX = 0.9, 2, 10
TIMES, FLOOR = 3, 0.05  # of the quiet p99; seconds
CONNECTIONS = 40
CHILD_SECONDS = 80  # no process of a test lives longer


def child(function, *arguments):
    """Runs it in a process of its own; returns its id."""
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            signal.alarm(CHILD_SECONDS)
            function(*arguments)
        except (BrokenPipeError, ConnectionResetError, grpc.RpcError):
            os._exit(0)  # the server has ended it, as it may an attacker
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    return pid


def kill(pid):
    """One that failed by itself has measured, or attacked, nothing."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert not ended or status == 0, "a child failed, see above"


def schedule(policy, priority=0):
    """This process from now on; True where that is permitted."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except PermissionError:
        return False
    return True


def prefer(pid):
    """To whatever else runs on this machine."""
    for thread in os.listdir("/proc/%d/task" % pid):
        os.setpriority(os.PRIO_PROCESS, int(thread), -10)


def may_schedule():
    pid = child(lambda: os._exit(0 if schedule(os.SCHED_RR, 1) else 1))
    return os.waitpid(pid, 0)[1] == 0


def processor_time():
    """(idle, all) of this machine so far."""
    with open("/proc/stat") as stat:
        times = [int(word) for word in stat.readline().split()[1:]]
    return times[3], sum(times)


# ---- The honest client -------------------------------------------------------

def feed_graph():
    return graph_of(node("null"), node("x", "Placeholder", dtype=tf.float32),
                    node("y", "Shape", ["x"], T=tf.float32))


def timed(out, kind, function, *arguments, **fields):
    began = time.monotonic()
    try:
        function(*arguments, **fields)
        took = time.monotonic() - began
    except grpc.RpcError:
        took = 99.0
    os.write(out, struct.pack("<cdd", kind, began, took))


def open_session(raw):
    handle = raw.create(feed_graph())
    raw.step(handle, target=["null"])
    raw.close_session(handle)


def honest(address, out):
    """Writes (kind, when, seconds) of all it does, for ever."""
    schedule(os.SCHED_RR, 1)
    raw = Raw(address)
    handle = raw.create(feed_graph())
    feed = message("NamedTensor", name="x:0", tensor=tf.make_tensor_proto(
        np.zeros(1 << 16, np.float32)))
    count, session_at = 0, 0
    while True:
        began = time.monotonic()
        timed(out, b"n", raw.step, handle, target=["null"])
        count += 1
        if count % FEED_STEPS == 0:
            timed(out, b"f", raw.step, handle, feed=[feed], fetch=["y:0"])
        if began >= session_at:
            session_at = began + SESSION_SECONDS
            timed(out, b"s", open_session, raw)
        time.sleep(max(0, began + STEP_SECONDS - time.monotonic()))


def start_honest(address):
    """Its id, and where the records come."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    return child(honest, address, writing), reading


def records(reading):
    """{kind: seconds of each} that have come since the last call."""
    got, size = collections.defaultdict(list), struct.calcsize("<cdd")
    while True:
        try:
            part = os.read(reading, size)
        except BlockingIOError:
            return got
        kind, _, took = struct.unpack("<cdd", part)
        got[kind].append(took)


def p99(values):
    values = sorted(values)
    return values[int(len(values) * 0.99)] if values else 99.0


# ---- Measuring ---------------------------------------------------------------

def attack_idly(attack, *arguments):
    schedule(os.SCHED_IDLE)
    attack(*arguments)


def measure_round(reading, seconds, attack=None, *arguments):
    """What the honest client saw, from when the attack has begun."""
    pid = attack and child(attack_idly, attack, *arguments)
    time.sleep(0.2)  # what was under way before is of neither kind
    records(reading)
    time.sleep(seconds)
    got = records(reading)
    if pid:
        kill(pid)
        time.sleep(0.1)
    return got


def check_fair(server, attack, *arguments, kinds=b"nfs", seconds=ROUND_SECONDS,
               elsewhere=False):
    """p99 beside attack(port, ...) is at most TIMES the quiet one.  elsewhere:
    one whose own work on this machine is as much as the server's; quiet is
    beside the same attack on another server, then."""
    own, busy = may_schedule(), False
    quiet, beside = (collections.defaultdict(list) for _ in range(2))
    with Cluster(server, worker=1 + elsewhere) as cluster:
        task = cluster["worker", 0]
        if own:
            for index in range(1 + elsewhere):
                prefer(cluster["worker", index].process.pid)
        pid, reading = start_honest(task.address)
        wait_until(lambda: records(reading)[b"n"], 20, "an honest step")
        for pair in range(PAIRS_MAX):
            rounds = ((quiet, attack if elsewhere else None, int(elsewhere)),
                      (beside, attack, 0))
            for into, what, index in rounds:
                idle, total = processor_time()
                got = measure_round(reading, seconds, what,
                                    cluster["worker", index].port, *arguments)
                now_idle, now_total = processor_time()
                busy |= not what and now_idle - idle < (now_total - total) / 2
                for kind in kinds:
                    # No sample: one call that took all of the round.
                    into[kind] += got[bytes([kind])] or [seconds]
            wrong = unfair(quiet, beside, 0 if own and not busy else FLOOR)
            if pair + 1 >= PAIRS and not wrong:
                break
            if pair + 1 >= PAIRS:  # disturbed, or unfair: look once more
                for kept in (quiet, beside):
                    for kind in kept:
                        kept[kind] = kept[kind][len(kept[kind]) // PAIRS:]
        kill(pid)
        assert not wrong, "\n".join(wrong)


def unfair(quiet, beside, floor):
    """A line for each kind of call that the attack holds up."""
    wrong = []
    for kind in quiet:
        most = max(TIMES * p99(quiet[kind]), floor)
        print("%c: quiet %.1f ms, beside %.1f ms" % (
            kind, p99(quiet[kind]) * 1e3, p99(beside[kind]) * 1e3))
        if p99(beside[kind]) > most:
            wrong.append("%c: p99 %.1f ms beside the attack, %.1f ms quiet" % (
                kind, p99(beside[kind]) * 1e3, p99(quiet[kind]) * 1e3))
    return wrong


# ---- Announced is not received -----------------------------------------------

def announce_grpc(port):
    links = []
    for _ in range(16):
        link = wire.connect(port)
        link.sendall(
            wire.PREFACE + wire.frame(wire.SETTINGS) + wire.frame(
                wire.HEADERS, 4, 1, wire.grpc_headers(
                    "/tensorflow.MasterService/RunStep"))
            + wire.frame(0, 0, 1, b"\0\x7f\xff\xff\xffx"))
        links.append(link)
    signal.pause()


def announce_native(port):
    """The first frame of a message: 1 GiB, of which nothing comes."""
    links = []
    for _ in range(16):
        link = wire.connect(port)
        link.sendall(struct.pack("<IBBHII", 0x31444654, 1, 0, 1, 1, 1 << 30)
                     + b"x")
        links.append(link)
    signal.pause()


def announce_payloads(port):
    """One of 8 GiB beside a message; a byte of it comes."""
    links = []
    for _ in range(16):
        link = wire.connect(port)
        link.sendall(struct.pack("<IBBHII", 0x31444654, 1, 1, 1, 1, 12)
                     + struct.pack("<IQ", 1, 8 << 30)
                     + struct.pack("<IBBHII", 0x31444654, 1, 0, 1, 1, 1 << 20)
                     + b"x")
        links.append(link)
    signal.pause()


@test(**LIMIT)
def who_announces_much_holds_up_nobody(server):
    check_fair(server, announce_grpc)


@test(**LIMIT)
def native_announcements_hold_up_nobody(server):
    check_fair(server, announce_native)


@test(**LIMIT)
def native_payloads_announced_hold_up_nobody(server):
    check_fair(server, announce_payloads)


def send_compressed(port):
    """2,000 messages of 60 KB that grow to 60 MB each."""
    plain = zlib.compress(bytes(60_000_000))
    body = b"\1" + struct.pack(">I", len(plain)) + plain
    parts = [body[at:at + 16384] for at in range(0, len(body), 16384)]
    headers = wire.grpc_headers("/tensorflow.MasterService/RunStep"
                                ) + wire.literal("grpc-encoding", "deflate")
    links = [wire.connect(port) for _ in range(4)]
    for link in links:
        link.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))
    for stream in range(1, 1001, 2):
        for link in links:
            link.sendall(wire.frame(wire.HEADERS, 4, stream, headers) + b"".join(
                wire.frame(0, part is parts[-1], stream, part)
                for part in parts))
    signal.pause()


@test(**LIMIT)
def who_sends_compressed_messages_holds_up_nobody(server):
    check_fair(server, send_compressed, seconds=2.5)  # it takes two to send


# ---- Steps that never end ----------------------------------------------------

def endless_graph():
    with graph() as g:
        i = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 100,
                          [tf.constant(0)], name="w")
        tf.identity(i, name="end")
        return g.as_graph_def()


def run_endless(port, graph_def, count):
    raw = Raw("127.0.0.1:%d" % port)
    handle = raw.create(graph_def)
    request = message("RunStepRequest", session_handle=handle,
                      target=["end"]).SerializeToString()
    calls = [raw.future("/tensorflow.MasterService/RunStep", request, 60)
             for _ in range(count)]
    for call in calls:
        call.result()


@test(**LIMIT)
def endless_loops_hold_up_nobody(server):
    check_fair(server, run_endless, endless_graph(), 3)


@test(**LIMIT)
def hundreds_of_endless_steps_hold_up_nobody(server):
    check_fair(server, run_endless, endless_graph(), 300)


# ---- Cheap to send, dear to handle -------------------------------------------

GREETING = wire.PREFACE + wire.frame(wire.SETTINGS)
HEADERS = wire.grpc_headers("/tensorflow.WorkerService/GetStatus")
OPEN = wire.frame(wire.HEADERS, 4, 1, HEADERS)


def native_frame(kind, call=0, body=b"", method=0):
    return struct.pack("<IBBHII", 0x31444654, kind, 0, method, call,
                       len(body)) + body


# name: what is said first, and then again and again
FLOODS = {
    "window updates of a stream": (GREETING + OPEN,
                                   wire.frame(8, 0, 1, b"\0\0\0\1")),
    "trailers": (GREETING + OPEN, wire.frame(wire.HEADERS, 5, 1,
                                             wire.literal("a", "b"))),
    "unknown frames": (GREETING, wire.frame(200)),
    "native pings": (b"", native_frame(5, 0, bytes(8))),
    "native cancels": (b"", native_frame(4, 77)),
    "pages": (b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
}


class Flood:
    """One connection; a new one when it was ended."""

    def __init__(self, port, first, again):
        self.port, self.first = port, first
        self.again = again * max(1, (1 << 14) // len(again))
        self.link, self.out, self.dials = None, b"", 0

    def _dial(self):
        self.dials += 1
        self.link = wire.connect(self.port)
        self.link.setblocking(False)
        self.out = self.first

    def go_on(self):
        """Sends until nothing more is taken."""
        try:
            if self.link is None and self.dials < 100:
                self._dial()
            while self.link:
                self.out = self.out or self.again
                self.out = self.out[self.link.send(self.out):]
                self._drain()
        except BlockingIOError:
            pass
        except OSError:
            self.link = None

    def _drain(self):
        try:
            while self.link.recv(1 << 16):
                pass
            self.link = None
        except BlockingIOError:
            pass


def flood_all(port, first, again):
    floods = [Flood(port, first, again) for _ in range(CONNECTIONS)]
    while True:
        for one in floods:
            one.go_on()
        time.sleep(0.002)


def register_floods():
    for name, (first, again) in FLOODS.items():
        def check(server, first=first, again=again):
            check_fair(server, flood_all, first, again, elsewhere=True)
        check.__name__ = "floods_hold_up_nobody_" + name.replace(" ", "_")
        test(**LIMIT)(check)


register_floods()
