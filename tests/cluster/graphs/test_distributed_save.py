"""DistributedSave and the dispatchers that it waits for.

TensorFlow's kernel blocks a thread for as long as there is none, and cannot be
cancelled, so most is tfd's alone.  What is saved, and what is refused, is
compared in tests/conformance/cases/data_graph/distributed_save.py."""
import concurrent.futures
import os
import tempfile
import threading
import time

import grpc
from tests.cluster.client import plain_config, tf
from tests.cluster.data_service import Service, elements_of, save
from tests.cluster.ports import free_ports
from tests.cluster.suite import test

SNAPSHOT = "/tensorflow.data.DispatcherService/Snapshot"
ONE = dict(worker=1)


class Dispatcher(grpc.GenericRpcHandler):
    """One that answers as it is told: answer(context) returns or aborts."""

    def __init__(self, port, answer):
        self.answer, self.requests = answer, []
        self.called = threading.Event()
        self.server = grpc.server(
            concurrent.futures.ThreadPoolExecutor(4), handlers=[self],
            options=[("grpc.so_reuseport", 0)])
        assert self.server.add_insecure_port("127.0.0.1:%d" % port) == port
        self.server.start()

    def service(self, details):
        if details.method == SNAPSHOT:
            return grpc.unary_unary_rpc_method_handler(self.snapshot)
        return None

    def snapshot(self, request, context):
        self.requests.append(request)
        self.called.set()
        return self.answer(context) or b""

    def stop(self):
        self.server.stop(0).wait(10)


def step(cluster, address, path="/nowhere", timeout_ms=20000, metadata=None):
    """The error's class and text, or "" and how long the step took."""
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(6).map(lambda x: x * 2)
        saved = save(dataset, path, address, metadata)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            start = time.monotonic()
            try:
                session.run(saved, options=tf.RunOptions(
                    timeout_in_ms=timeout_ms))
                return "", "", time.monotonic() - start
            except tf.errors.OpError as error:
                return (type(error).__name__, error.message,
                        time.monotonic() - start)


def started(cluster, address, **fields):
    """The step on a thread, as a future."""
    return concurrent.futures.ThreadPoolExecutor(1).submit(
        step, cluster, address, **fields)


def works(cluster):
    with tf.Graph().as_default():
        four = tf.add(tf.constant(1), 3)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            return session.run(four) == 4


@test(**ONE)
def a_dispatcher_of_tensorflow_saves(cluster):
    with tempfile.TemporaryDirectory() as folder, Service() as service:
        path = os.path.join(folder, "saved")
        assert step(cluster, service.address, path)[0] == ""
        assert sorted(elements_of(path)) == [0, 2, 4, 6, 8, 10]
        name, text, _ = step(cluster, service.address, path)
        assert name == "AlreadyExistsError", name
        assert ("Failed to snapshot: tf.data snapshot at %s is already started "
                "or completed" % path) in text, text


@test(tfd_only=True, **ONE)
def nobody_is_waited_for_until_the_step_ends(cluster):
    address = "127.0.0.1:%d" % next(iter(free_ports(1)))
    name, _, seconds = step(cluster, address, timeout_ms=700)
    assert name == "DeadlineExceededError" and seconds < 10, (name, seconds)
    assert works(cluster)


@test(tfd_only=True, **ONE)
def a_dispatcher_may_come_late(cluster):
    port = next(iter(free_ports(1)))
    running = started(cluster, "127.0.0.1:%d" % port)
    assert works(cluster) and not running.done()
    dispatcher = Dispatcher(port, lambda context: b"")
    try:
        assert running.result(20)[0] == ""
        assert b"/nowhere" in dispatcher.requests[0]
    finally:
        dispatcher.stop()


@test(tfd_only=True, **ONE)
def a_dispatcher_that_dies_is_asked_again(cluster):
    port = next(iter(free_ports(1)))
    released = threading.Event()
    first = Dispatcher(port, lambda context: released.wait(20) and b"")
    running = started(cluster, "127.0.0.1:%d" % port)
    assert first.called.wait(20)
    first.stop()
    assert not running.done()
    second = Dispatcher(port, lambda context: b"")
    try:
        assert running.result(20)[0] == ""
        assert second.requests == first.requests[:1]
    finally:
        released.set()
        second.stop()


@test(tfd_only=True, **ONE)
def a_step_that_ends_tells_the_dispatcher(cluster):
    port = next(iter(free_ports(1)))
    gone = threading.Event()

    def answer(context):
        context.add_callback(gone.set)
        assert gone.wait(20)

    dispatcher = Dispatcher(port, answer)
    try:
        name, _, seconds = step(cluster, "127.0.0.1:%d" % port, timeout_ms=700)
        assert name == "DeadlineExceededError" and seconds < 10, (name, seconds)
        assert gone.wait(10)
        assert works(cluster)
    finally:
        dispatcher.stop()


@test(**ONE)
def refusals_are_told(cluster):
    for code, name in (("FAILED_PRECONDITION", "FailedPreconditionError"),
                       ("NOT_FOUND", "NotFoundError"),
                       ("RESOURCE_EXHAUSTED", "ResourceExhaustedError")):
        if not cluster.server.is_tfd:
            break
        port = next(iter(free_ports(1)))
        dispatcher = Dispatcher(port, lambda context, c=code: context.abort(
            getattr(grpc.StatusCode, c), "not today"))
        found = step(cluster, "127.0.0.1:%d" % port)
        dispatcher.stop()
        assert found[0] == name, found
        assert "Failed to snapshot: not today" in found[1], found
        assert len(dispatcher.requests) == 1
    # No dispatcher, but a server.
    found = step(cluster, cluster["worker", 0].address)
    assert found[0] == "UnimplementedError", found


@test(tfd_only=True, **ONE)
def addresses_that_are_none(cluster):
    for address in ("nonsense", ":1", "localhost:", "localhost:0",
                    "localhost:65536", "localhost:x", "grpc://", "a" * 5000,
                    "a" * 2000 + ":80", "local\0host:80"):
        name, text, _ = step(cluster, address)
        assert name == "InvalidArgumentError", (address[:20], name, text)
    assert works(cluster)


@test(tfd_only=True, **ONE)
def metadata_that_is_damaged(cluster):
    """TensorFlow says so in bytes that its client cannot read."""
    for metadata in (b"\xff", b"\x12\x01\xff", b"\x12\x02\xc0\x80",
                     b"\x12\x03\xed\xa0\x80", b"\x12\x04\xf5\x80\x80\x80",
                     b"\x12\x02\xe2\x82"):
        name, text, _ = step(cluster, "localhost:1", metadata=metadata)
        assert name == "InvalidArgumentError", (metadata, name, text)
        assert "Failed to parse DistributedSnapshotMetadata" in text, text


@test(tfd_only=True, **ONE)
def many_wait_without_a_thread(cluster):
    port = next(iter(free_ports(1)))
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        running = [pool.submit(step, cluster, "127.0.0.1:%d" % port)
                   for _ in range(40)]
        assert works(cluster)
        dispatcher = Dispatcher(port, lambda context: b"")
        try:
            assert [one.result(30)[0] for one in running] == [""] * 40
        finally:
            dispatcher.stop()
