"""Bytes that no client sends: the server outlives them and serves others."""
import random
import struct

from tests.cluster.client import TensorProto, graph, run, tf
from tests.cluster.cluster import Cluster
from tests.cluster.faults import wire
from tests.cluster.raw import Raw, graph_of, message, node
from tests.cluster.suite import test

ONE = dict(worker=1)
STARTS = [b"", wire.PREFACE, wire.PREFACE[:9], b"TFD1", b"GET / ", b"POST ",
          b"\x16\x03\x01\x02\x00", wire.PREFACE + wire.frame(wire.SETTINGS)]
HANDSHAKE_SECONDS = 15  # a little over the server's limit of 10


def check(cluster):
    """The server still answers a real client."""
    with graph():
        assert run(cluster.target(), (tf.constant(1.0) + 2) * 3) == 9.0


def port_of(cluster):
    return cluster["worker", 0].port


@test(limit=60, **ONE)
def random_bytes_are_survived(cluster):
    rng = random.Random(5)
    for i in range(300):
        link = wire.connect(port_of(cluster))
        start = STARTS[i % len(STARTS)]
        try:
            link.sendall(start + rng.randbytes(rng.choice([1, 9, 100, 5000])))
        except ConnectionError:
            pass  # it was refused before all was sent
        (wire.close_hard if i % 3 else type(link).close)(link)
    check(cluster)


@test(limit=60, **ONE)
def half_open_connections_are_no_burden(cluster):
    links = []
    for i in range(200):
        links.append(wire.connect(port_of(cluster)))
        links[-1].sendall(STARTS[i % len(STARTS)][:i % 30])
    check(cluster)
    for link in links:
        wire.close_hard(link)
    check(cluster)


@test(limit=60, tfd_only=True, **ONE)
def who_says_nothing_is_hung_up_on(cluster):
    links = []
    for start in (b"", b"P", wire.PREFACE[:12], b"TF", b"GET /healthz HT",
                  b"TFD1", b"TFD1\1\0\x40\0\1\0\0\0"):
        links.append(wire.connect(port_of(cluster)))
        links[-1].sendall(start)
    for link in links:
        assert wire.read_to_end(link, HANDSHAKE_SECONDS) is not None
        link.close()
    check(cluster)


@test(limit=60, **ONE)
def a_call_may_come_byte_by_byte(cluster):
    """Slow, but within the limits, and answered in the end."""
    request = (wire.PREFACE + wire.frame(wire.SETTINGS) + wire.frame(
        wire.HEADERS, 4, 1, wire.grpc_headers(
            "/tensorflow.WorkerService/GetStatus"))
        + wire.frame(0, 1, 1, b"\0\0\0\0\0"))
    with wire.connect(port_of(cluster)) as link:
        for i in range(len(request)):
            link.sendall(request[i:i + 1])
        received = b""
        while b"/job:worker/replica:0/task:0/device:CPU:0" not in received:
            received += link.recv(65536)
    check(cluster)


@test(limit=60, **ONE)
def false_lengths_are_refused(cluster):
    start = wire.PREFACE + wire.frame(wire.SETTINGS)
    headers = wire.frame(wire.HEADERS, 4, 1, wire.grpc_headers(
        "/tensorflow.MasterService/CreateSession"))
    for rest in (
            b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 9000,
            headers + wire.frame(0, 0, 1, b"\0\xff\xff\xff\xff" + b"x" * 99),
            headers + wire.frame(0, 1, 1, b"\0\0\0\1\0" + b"x" * 10),
            headers + wire.frame(0, 1, 1, b"\1\0\0\0\1x"),
            headers + wire.frame(0, 1, 1, b"\0"),
            wire.frame(0, 1, 5, b"on a stream that is not open"),
            wire.frame(wire.HEADERS, 4, 2, b"\x82"),
            wire.frame(wire.HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"),
            wire.frame(wire.SETTINGS, 0, 0, b"12345"),
            wire.frame(wire.PING, 0, 0, b"short"),
            wire.frame(9, 4, 1, b"continues nothing"),
            wire.frame(8, 0, 0, b"\0\0\0\0"),
            wire.frame(255, 255, 2 ** 31 - 1, b"unknown kinds are fine")):
        with wire.connect(port_of(cluster)) as link:
            try:
                link.sendall(start + rest)
            except ConnectionError:
                pass
        check(cluster)


@test(tfd_only=True, **ONE)
def false_native_frames_are_refused(cluster):
    """Magic, then every length and kind that cannot be."""
    for body in (b"\xff" * 60, b"\x00" * 60, struct.pack("<7Q", *[2 ** 40] * 7),
                 b"\x01" + b"\xff" * 59):
        link = wire.connect(port_of(cluster))
        link.sendall(b"TFD1" + body)
        assert wire.read_to_end(link, HANDSHAKE_SECONDS) is not None
        link.close()
        check(cluster)


@test(limit=60, tfd_only=True, **ONE)
def a_flood_of_resets_ends_the_connection(cluster):
    link = wire.connect(port_of(cluster))
    link.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))
    headers = wire.grpc_headers("/tensorflow.WorkerService/GetStatus")
    try:
        for stream in range(1, 4000, 2):
            link.sendall(wire.frame(wire.HEADERS, 4, stream, headers)
                         + wire.frame(wire.RST_STREAM, 0, stream,
                                      b"\0\0\0\x08"))
    except ConnectionError:
        pass
    assert wire.read_to_end(link, HANDSHAKE_SECONDS) is not None
    link.close()
    check(cluster)


@test(limit=60, **ONE)
def a_peer_that_stops_reading_holds_up_nobody(cluster):
    """It asks for 64 MB and never opens its window."""
    raw = Raw(cluster["worker", 0].address)
    shape = TensorProto(dtype=1, float_val=[1.0])
    shape.tensor_shape.dim.add(size=16 << 20)
    handle = raw.create(graph_of(node("c", "Const", dtype=tf.float32,
                                      value=tf.AttrValue(tensor=shape))))
    request = message("RunStepRequest", session_handle=handle,
                      fetch=["c:0"]).SerializeToString()
    links = []
    for _ in range(5):
        link = wire.connect(port_of(cluster))
        link.sendall(
            wire.PREFACE + wire.frame(wire.SETTINGS) + wire.frame(
                wire.HEADERS, 4, 1,
                wire.grpc_headers("/tensorflow.MasterService/RunStep"))
            + wire.frame(0, 1, 1, b"\0" + struct.pack(">I", len(request))
                         + request))
        links.append(link)
    check(cluster)
    for link in links:
        wire.close_hard(link)
    check(cluster)
    raw.master("CloseSession", session_handle=handle)


@test(limit=60)
def a_thousand_connections_are_served(server):
    with Cluster(server, worker=1) as cluster:
        # tfd bounds what one address may open; this is below it.
        count = 200 if server.is_tfd else 1000
        links = [wire.connect(port_of(cluster)) for _ in range(count)]
        for link in links:
            link.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))
        for link in links:
            assert link.recv(9)  # its settings
        check(cluster)
        for link in links:
            link.close()
        check(cluster)
