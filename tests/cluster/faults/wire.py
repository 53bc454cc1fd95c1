"""Bytes on sockets: HTTP/1, HTTP/2 frames by hand, garbage."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, RST_STREAM, PING, GOAWAY = 4, 1, 3, 6, 7


def connect(port, timeout=10):
    link = socket.create_connection(("127.0.0.1", port), timeout)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def close_hard(link):
    """Closes with a reset instead of an end."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    link.close()


def read_to_end(link, timeout):
    """What comes until the peer closes; None if it has not in time."""
    link.settimeout(timeout)
    received = b""
    try:
        while True:
            part = link.recv(65536)
            if not part:
                return received
            received += part
    except ConnectionResetError:
        return received
    except TimeoutError:
        return None


def http(port, request, timeout=10):
    """(status, headers in lower case, body) of one HTTP/1 exchange."""
    with connect(port) as link:
        link.sendall(request)
        received = read_to_end(link, timeout)
    assert received is not None, "the connection was not closed"
    return parse_http(received)


def parse_http(received):
    assert received.startswith(b"HTTP/1."), received[:100]
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def get(port, path, method="GET"):
    return http(port, b"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                % (method.encode(), path.encode()))


def frame(kind, flags=0, stream=0, body=b""):
    """An HTTP/2 frame."""
    return (len(body).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + body)


def literal(name, value):
    """An HPACK header field: literal, never indexed, not compressed."""
    return (b"\x10" + bytes([len(name)]) + name.encode()
            + bytes([len(value)]) + value.encode())


def grpc_headers(path):
    return b"".join(literal(*pair) for pair in (
        (":method", "POST"), (":scheme", "http"), (":path", path),
        (":authority", "x"), ("content-type", "application/grpc"),
        ("te", "trailers")))
