"""Connections that come by the thousand, at once: each gets its page, and the
event loop comes back to sessions in between."""
import os
import selectors
import signal
import socket
import time

from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.load.test_fairness import (FLOOR, kill, may_schedule, prefer,
                                              records, start_honest)
from tests.cluster.suite import test
from tests.cluster.watch import metrics

CROWD, LET_IN, ROUNDS = 1000, 400, 2
CROWD_SECONDS = 30  # the kernel asks again a second later where its line is full
# Turns of the loop above that, in seconds: each is shorter by far, but a thread
# may have to wait for its processor.  What a turn serves at most,
# tests/unit/rpc/test_strangers.c says by a clock of its own.
LONG, LONG_SHARE = "0.05", 0.01

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


class Visitor:
    """Asks for one page, and reads until the server ends."""

    def __init__(self, port, request):
        self.request, self.received = request, b""
        self.link = socket.socket()
        self.link.setblocking(False)
        self.link.connect_ex(("127.0.0.1", port))

    def go_on(self, selector):
        """True when there is nothing more to come."""
        if self.request:
            self.link.sendall(self.request)
            self.request = b""
            selector.modify(self.link, selectors.EVENT_READ, self)
            return False
        part = self.link.recv(1 << 16)
        self.received += part
        return not part


def serve(selector, left):
    """All who can go on do; returns how many are left."""
    for key, _ in selector.select(1):
        if key.data.go_on(selector):
            selector.unregister(key.fileobj)
            key.fileobj.close()
            left -= 1
    return left


def crowd(task, request):
    """The answers to as many, whose requests the server finds there all at
    once: it is stopped meanwhile.  The kernel lets in half of them."""
    end = time.monotonic() + CROWD_SECONDS
    with selectors.DefaultSelector() as selector:
        task.signal(signal.SIGSTOP)
        try:
            visitors = [Visitor(task.port, request) for _ in range(CROWD)]
            for one in visitors:
                selector.register(one.link, selectors.EVENT_WRITE, one)
            for _ in visitors:
                serve(selector, 0)
                if sum(not one.request for one in visitors) >= LET_IN:
                    break
        finally:
            task.signal(signal.SIGCONT)
        left = CROWD
        while left:
            assert time.monotonic() < end, "%d were not answered" % left
            left = serve(selector, left)
    return [one.received for one in visitors]


def turns(task):
    """(all, long ones) of the loop's turns so far."""
    said = metrics(task)
    count = said["tfd_loop_turn_seconds_count"]
    return count, count - said['tfd_loop_turn_seconds_bucket{le="%s"}' % LONG]


@test(limit=90, tfd_only=True)
def crowds_get_their_pages_between_steps(server):
    # The ends of one crowd may not have been read when the next comes.
    places = 2 * CROWD + 10
    with Cluster(server, ["--connections_per_peer=%d" % places],
                 worker=1) as cluster:
        task = cluster["worker", 0]
        if may_schedule():
            prefer(task.process.pid)
        pid, reading = start_honest(task.address)
        wait_until(lambda: records(reading)[b"n"], 20, "an honest step")
        before, began = turns(task), time.monotonic()
        for _ in range(ROUNDS):
            for received in crowd(task, REQUEST):
                assert wire.parse_http(received)[0] == 200, received[:100]
        seconds, after = time.monotonic() - began, turns(task)
        steps = records(reading)[b"n"]
        kill(pid)
        os.close(reading)
    count, long = (b - a for a, b in zip(before, after))
    print("%d turns, %d long, in %.1f s; %d steps, the longest %.1f ms" % (
        count, long, seconds, len(steps), max(steps) * 1e3))
    assert long <= LONG_SHARE * server.slow * count, (
        "%d of %d turns are long" % (long, count))
    assert len(steps) * FLOOR >= seconds, "%d steps in %.1f s" % (
        len(steps), seconds)
