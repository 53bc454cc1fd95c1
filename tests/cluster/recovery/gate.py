"""A gate between tasks that stops all traffic at a moment of the protocol.

The tasks of a cluster reach each other through it: one listening port for each
task.  It knows tfd's native frames (rpc/native/frame.h), and can be armed to stop at
one of them; then nothing moves any more until it is released, and the test has
all the time it wants to kill somebody.  It is a process of its own, forked
before anything else, so that no other process holds its sockets.
"""
import dataclasses
import glob
import json
import os
import selectors
import socket
import struct

from tests.cluster.runner import die_with_parent

HEADER = struct.Struct("<4sBBHII")  # magic, kind, flags, method, call, length
MAGIC, REQUEST = b"TFD1", 1
METHODS = {"CreateWorkerSession": 33, "RegisterGraph": 35, "RunGraph": 37,
           "Hello": 64, "PushTensors": 65}
PART = 1 << 16
QUEUE_MAX = 1 << 20  # bytes on their way to one socket
HELLO_MAX = 4096


@dataclasses.dataclass
class Moment:
    """Where to stop: at a frame from `caller` to `target`.

    where: "before" it is passed on, "after", or in the "half" of its body,
    which has `size` bytes at least; only while a file matches one of `exists`,
    and once a frame of `behind` bytes at least went the same way before it."""

    target: str
    caller: str
    method: str
    where: str = "after"
    size: int = 0
    exists: tuple = ()
    behind: int = 0


class Pipe:
    """One direction of a connection: from -> to."""

    def __init__(self, source, sink, parser=None):
        self.source, self.sink, self.parser = source, sink, parser
        self.queue = bytearray()  # not looked at
        self.ready = bytearray()  # may pass
        self.ended = False


class Parser:
    """Follows the frames of a caller; says how much may be passed on."""

    def __init__(self, gate, target):
        self.gate, self.target, self.caller = gate, target, None
        self.head, self.left, self.hello = b"", 0, None
        self.native = None
        self.stop_at = None  # bytes of the body that still pass
        self.stop_after = False

    def feed(self, data):
        """The bytes of data that may pass before the gate stops; it is asked
        again for the rest."""
        at = 0
        if self.native is False:
            return len(data)
        while at < len(data):
            if self.left:
                n = min(self.left, len(data) - at)
                if self.stop_at is not None:
                    n = min(n, self.stop_at)
                    self.stop_at -= n
                if self.hello is not None:
                    self.hello += data[at:at + n]
                at, self.left = at + n, self.left - n
                if self.stop_at == 0:
                    self.stop_at = None
                    self.gate.caught()
                    return at
                if not self.left and self.end_frame():
                    return at
                continue
            n = min(HEADER.size - len(self.head), len(data) - at)
            self.head += data[at:at + n]
            at += n
            if self.native is None and not MAGIC.startswith(self.head[:4]):
                self.native = False
                return len(data)
            if len(self.head) < HEADER.size:
                continue
            self.native = True
            if not self.begin_frame():
                return at
        return at

    def begin_frame(self):
        """False when the gate stops here; its header is passed on already."""
        _, kind, _, method, _, self.left = HEADER.unpack(self.head)
        self.head = b""
        if kind == REQUEST and method == METHODS["Hello"]:
            self.hello = b""
        moment = self.gate.moment
        if (kind != REQUEST or moment is None or self.gate.holding
                or moment.target != self.target
                or moment.caller != self.caller
                or not self.is_moment(moment, method)):
            return True if self.left else not self.end_frame()
        if moment.where == "before" or not self.left:
            self.gate.caught()
            return False
        if moment.where == "half":
            self.stop_at = max(1, self.left // 2)
        else:
            self.stop_after = True
        return True

    def is_moment(self, moment, method):
        """Of a frame on the moment's way."""
        self.gate.largest = max(self.gate.largest, self.left)
        return (METHODS[moment.method] == method and self.left >= moment.size
                and self.gate.largest >= moment.behind
                and (not moment.exists
                     or any(map(glob.glob, moment.exists))))

    def end_frame(self):
        """True when the gate stops here."""
        if self.hello is not None:
            found = self.hello[:HELLO_MAX].partition(b"/job:")[2]
            job, _, rest = found.partition(b"/replica:0/task:")
            digits = rest[:len(rest) - len(rest.lstrip(b"0123456789"))]
            self.caller = (job + digits).decode("latin1")
            self.hello = None
        if self.stop_after:
            self.stop_after = False
            self.gate.caught()
            return True
        return False


class Loop:
    """The process: sockets in, sockets out, commands of the test."""

    def __init__(self, control, ports):
        self.selector = selectors.DefaultSelector()
        self.control, self.moment = control, None
        self.holding = self.untold = False
        self.largest = 0
        self.pipes = {}  # socket -> [pipe it feeds, pipe it drains]
        self.selector.register(control, selectors.EVENT_READ, self.command)
        for name, (port, real) in ports.items():
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(100)
            self.selector.register(
                listener, selectors.EVENT_READ,
                lambda mask, s=listener, n=name, r=real: self.accept(s, n, r))

    def command(self, _):
        line = self.control.recv(PART)
        if not line:
            os._exit(0)
        order = json.loads(line)
        self.moment = Moment(**order["moment"]) if order["moment"] else None
        self.largest = 0  # frame on the moment's way since then
        self.holding = False
        self.control.send(b"done")
        for sock in list(self.pipes):
            self.update(sock)

    def caught(self):
        """Nothing more is looked at; told when what may pass has passed."""
        self.moment, self.holding, self.untold = None, True, True

    def accept(self, listener, name, real):
        down, _ = listener.accept()
        up = socket.socket()
        try:
            up.connect(("127.0.0.1", real))
        except OSError:
            down.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack("ii", 1, 0))
            down.close()
            up.close()
            return
        there = Pipe(down, up, Parser(self, name))
        back = Pipe(up, down)
        for sock in (down, up):
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pipes[down], self.pipes[up] = [there, back], [back, there]
        for sock in (down, up):
            self.selector.register(sock, selectors.EVENT_READ,
                                   lambda mask, s=sock: self.move(s, mask))

    def update(self, sock):
        """What the selector must watch for."""
        feeds, drains = self.pipes[sock]
        mask = 0
        if len(feeds.queue) < QUEUE_MAX and not feeds.ended:
            mask |= selectors.EVENT_READ
        if drains.ready or drains.queue and not self.holding:
            mask |= selectors.EVENT_WRITE
        known = self.selector.get_map().get(sock)
        if not mask and known:
            self.selector.unregister(sock)
        elif mask and known:
            self.selector.modify(sock, mask, known.data)
        elif mask:
            self.selector.register(sock, mask,
                                   lambda m, s=sock: self.move(s, m))

    def move(self, sock, mask):
        if sock not in self.pipes:
            return
        feeds, drains = self.pipes[sock]
        try:
            if mask & selectors.EVENT_READ:
                data = sock.recv(PART)
                feeds.queue += data
                feeds.ended = not data
            if mask & selectors.EVENT_WRITE:
                self.send(sock, drains)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(sock)
            return
        for pipe in (feeds, drains):
            if pipe.ended and not pipe.queue and not pipe.ready:
                self.drop(sock)
                return
        self.update(sock)
        self.update(feeds.sink)

    def send(self, sock, pipe):
        if not pipe.ready and not self.holding:
            part = bytes(pipe.queue[:PART])
            allowed = pipe.parser.feed(part) if pipe.parser else len(part)
            pipe.ready += part[:allowed]
            del pipe.queue[:allowed]
        if pipe.ready:
            del pipe.ready[:sock.send(pipe.ready)]
        if self.untold and not pipe.ready:
            self.untold = False
            self.control.send(b"caught")

    def drop(self, sock):
        feeds, _ = self.pipes[sock]
        for end in (sock, feeds.sink):
            if self.selector.get_map().get(end):
                self.selector.unregister(end)
            self.pipes.pop(end, None)
            end.close()

    def run(self):
        while True:
            for key, mask in self.selector.select():
                key.data(mask)


class Gate:
    """The gate as a test sees it: Gate({name: (port, real port)})."""

    def __init__(self, ports):
        self.control, theirs = socket.socketpair(socket.AF_UNIX,
                                                 socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            self.control.close()
            try:
                Loop(theirs, ports).run()
            finally:
                os._exit(1)
        theirs.close()

    def order(self, moment):
        self.control.send(json.dumps({"moment": moment}).encode())
        # A moment that was caught just before was not waited for.
        self.control.settimeout(20)
        while self.control.recv(100) != b"done":
            pass

    def arm(self, moment):
        self.order(dataclasses.asdict(moment))

    def release(self):
        self.order(None)

    def wait_caught(self, seconds):
        self.control.settimeout(seconds)
        assert self.control.recv(100) == b"caught"

    def close(self):
        self.control.close()
        os.waitpid(self.pid, 0)
