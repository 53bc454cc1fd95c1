"""A gRPC call whose request is larger than a client would like to hold.

The request is bytes, and numbers that stand for so many zeros; it goes out
frame by frame as the server's windows allow."""
import struct

from tests.cluster.faults import wire

DATA, WINDOW_UPDATE = 0, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 4, 5
BLOCK = memoryview(bytes(1 << 20))
PREFIX = 5  # bytes before a gRPC message


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(tag, *parts):
    """A field of a message made of such parts, as parts."""
    size = sum(p if isinstance(p, int) else len(p) for p in parts)
    return (varint(tag << 3 | 2) + varint(size),) + parts


class Call:
    """One call on a connection of its own."""

    def __init__(self, port, path):
        self.link = wire.connect(port, 600)
        self.received, self.reply, self.ended = b"", b"", False
        self.frame_max = 16384
        self.windows = {0: 65535, 1: 65535}
        self.link.sendall(wire.PREFACE + wire.frame(wire.SETTINGS) +
                          wire.frame(wire.HEADERS, END_HEADERS, 1,
                                     wire.grpc_headers(path)))

    def _setting(self, number, value):
        if number == INITIAL_WINDOW_SIZE:
            self.windows[1] += value - 65535
        elif number == MAX_FRAME_SIZE:
            self.frame_max = value

    def _take(self, kind, flags, stream, body):
        if kind == wire.SETTINGS and not flags & ACK:
            for setting in struct.iter_unpack(">HI", body):
                self._setting(*setting)
            self.link.sendall(wire.frame(wire.SETTINGS, ACK))
        elif kind == WINDOW_UPDATE:
            self.windows[stream] += int.from_bytes(body, "big")
        elif kind == DATA:
            self.reply += body
        assert kind != wire.GOAWAY, body
        if stream and kind in (DATA, wire.HEADERS) and flags & END_STREAM:
            self.ended = True

    def _read(self):
        """What has come, or waits for something."""
        part = self.link.recv(1 << 16)
        assert part, "the server has hung up"
        self.received += part
        while len(self.received) >= 9:
            end = 9 + int.from_bytes(self.received[:3], "big")
            if len(self.received) < end:
                return
            head, body = self.received[:9], self.received[9:end]
            self.received = self.received[end:]
            self._take(head[3], head[4], int.from_bytes(head[5:], "big"), body)

    def _send(self, part):
        at, size = 0, part if isinstance(part, int) else len(part)
        while at < size and not self.ended:
            n = min(size - at, self.frame_max, len(BLOCK),
                    *self.windows.values())
            if n <= 0:
                self._read()
                continue
            body = BLOCK[:n] if isinstance(part, int) else part[at:at + n]
            self.link.sendall(n.to_bytes(3, "big") + bytes([DATA, 0]) +
                              (1).to_bytes(4, "big"))
            self.link.sendall(body)
            for window in self.windows:
                self.windows[window] -= n
            at += n

    def send(self, parts, claimed=None):
        """The reply's message.  claimed: a size to announce instead."""
        size = sum(p if isinstance(p, int) else len(p) for p in parts)
        self._send(b"\0" + struct.pack(">I", claimed or size))
        for part in parts:
            self._send(part)
        if not claimed and not self.ended:
            self.link.sendall(wire.frame(DATA, END_STREAM, 1))
        while not self.ended:
            self._read()
        self.link.close()
        return self.reply[PREFIX:]
