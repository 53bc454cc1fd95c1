"""The worker service, as a TensorFlow master calls it."""
import contextlib
import functools
import threading

import grpc

from tests.cluster.client import tf
from tests.cluster.cluster import wait_until
from tests.cluster.raw import (Raw, code_of, constant, graph_of, message,
                               node)
from tests.cluster.suite import test

ONE = dict(ps=1, worker=1)
HERE = "/job:ps/replica:0/task:0/device:CPU:0"
THERE = "/job:worker/replica:0/task:0/device:CPU:0"
IN_SESSION = dict(create_worker_session_called=True)
RECV = "/tensorflow.WorkerService/RecvTensor"


class Worker(Raw):
    """A worker with one session, spoken to as its master does."""

    def __init__(self, cluster, handle):
        super().__init__(cluster["ps", 0].address)
        self.session = dict(session_handle=handle, **IN_SESSION)
        device = self.worker("GetStatus").device_attributes[0]
        self.incarnation = device.incarnation

    def register(self, *nodes):
        return self.worker("RegisterGraph", graph_def=graph_of(*nodes),
                           **self.session).graph_handle

    def run(self, graph, step, **fields):
        return self.worker("RunGraph", graph_handle=graph, step_id=step,
                           **self.session, **fields)

    def key(self, name="edge", source=HERE, incarnation=None):
        number = self.incarnation if incarnation is None else incarnation
        return "%s;%016x;%s;%s;0:0" % (source, number, THERE, name)

    def recv_later(self, step, key):
        return self.future(RECV, message(
            "RecvTensorRequest", step_id=step,
            rendezvous_key=key).SerializeToString())

    def sender(self, name="edge"):
        """Nodes that send [1, 2] to the other task."""
        signed = self.incarnation - (self.incarnation >> 63 << 64)
        return constant("a", [1.0, 2.0], device=HERE), node(
            "send", "_Send", ["a"], HERE, T=tf.float32,
            tensor_name=tf.AttrValue(s=name.encode()),
            send_device=tf.AttrValue(s=HERE.encode()),
            send_device_incarnation=tf.AttrValue(i=signed),
            recv_device=tf.AttrValue(s=THERE.encode()))


@contextlib.contextmanager
def session(cluster, handle):
    worker = Worker(cluster, handle)
    worker.worker("CreateWorkerSession", session_handle=handle)
    yield worker
    worker.worker("DeleteWorkerSession", session_handle=handle)


def values(reply):
    return tf.make_ndarray(reply.tensor).tolist()


@test(**ONE)
def status_describes_the_device(cluster):
    devices = Raw(cluster["ps", 0].address).worker(
        "GetStatus").device_attributes
    assert [d.name for d in devices] == [HERE]
    assert devices[0].device_type == "CPU"
    assert devices[0].memory_limit > 0 and devices[0].incarnation != 0


@test(**ONE)
def sessions_are_created_and_deleted_twice_over(cluster):
    worker = Worker(cluster, "twice")
    assert code_of(worker.worker, "CreateWorkerSession") == (
        "INVALID_ARGUMENT", "Session must be non-empty.")
    for method in ("CreateWorkerSession", "DeleteWorkerSession"):
        for _ in range(2):
            worker.worker(method, session_handle="twice")


@test(**ONE)
def bad_partitions_are_refused(cluster):
    with session(cluster, "bad_graphs") as worker:
        for bad, code, text in (
                (node("z"), "INVALID_ARGUMENT",
                 "Node 'z' is missing a device specification"),
                (node("z", device=THERE), "INVALID_ARGUMENT",
                 THERE + " unknown device."),
                (node("z", "Nope", device=HERE), "NOT_FOUND",
                 "Op type not registered 'Nope'")):
            got = code_of(worker.register, bad)
            assert got[0] == code and text in got[1], got


@test(**ONE)
def unknown_handles_are_aborted(cluster):
    with session(cluster, "known") as worker:
        graph = worker.register(*worker.sender())
        got = code_of(worker.run, "beef", 1)
        assert got == ("ABORTED", "Graph handle is not found: beef"), got
        got = code_of(worker.worker, "DeregisterGraph", graph_handle="beef",
                      **worker.session)
        assert got[0] == "ABORTED" and "Graph handle is not found" in got[1]
        for method, fields in (("RunGraph", dict(graph_handle=graph)),
                               ("RegisterGraph", {})):
            got = code_of(worker.worker, method, session_handle="unknown",
                          **IN_SESSION, **fields)
            assert got == (
                "ABORTED", "Session handle is not found: unknown. Possibly "
                'this worker ("/job:ps/replica:0/task:0") just restarted.')
        worker.worker("DeregisterGraph", graph_handle=graph, **worker.session)
        assert code_of(worker.run, graph, 2)[0] == "ABORTED"


@test(**ONE)
def a_sent_tensor_is_received_once(cluster):
    with session(cluster, "once") as worker:
        graph = worker.register(*worker.sender())
        worker.run(graph, 501)
        recv = dict(step_id=501, rendezvous_key=worker.key())
        assert values(worker.worker("RecvTensor", **recv)) == [1.0, 2.0]
        code, _ = code_of(worker.worker, "RecvTensor", timeout=0.5, **recv)
        assert code == "DEADLINE_EXCEEDED"
        worker.worker("CleanupGraph", step_id=501)


@test(**ONE)
def a_receiver_may_come_before_the_step(cluster):
    with session(cluster, "early") as worker:
        waiting = worker.recv_later(502, worker.key())
        graph = worker.register(*worker.sender())
        worker.run(graph, 502)
        reply = message("RecvTensorResponse").FromString(waiting.result())
        assert values(reply) == [1.0, 2.0] and not reply.is_dead
        worker.worker("CleanupGraph", step_id=502)


@test(**ONE)
def a_failing_step_fails_its_receivers(cluster):
    with session(cluster, "failing") as worker:
        send = worker.sender()[1]
        send.input[0] = "read"
        send.attr["T"].type = tf.string.as_datatype_enum
        graph = worker.register(
            constant("name", b"/no/such", tf.string, device=HERE),
            node("read", "ReadFile", ["name"], HERE), send)
        waiting = worker.recv_later(503, worker.key())
        code, text = code_of(worker.run, graph, 503)
        assert code == "NOT_FOUND", code
        assert text == ("/no/such; No such file or directory\n\t "
                        "[[{{node read}}]]"), text
        assert waiting.exception().code() == grpc.StatusCode.NOT_FOUND
        reply = worker.run(graph, 504, store_errors_in_response_body=True)
        assert reply.status_code == 5 and reply.status_error_message == text
        for step in (503, 504):
            worker.worker("CleanupGraph", step_id=step)


def refused(method, number, function, *args, **fields):
    """A call must be refused for its request id; TensorFlow's text has the
    whole request between these two, ours nothing."""
    code, text = code_of(function, *args, request_id=number, **fields)
    assert code == "ABORTED", (code, text)
    assert text.startswith("The same %s request was received twice. " %
                           method), text
    assert text.endswith("request_id: %d" % number), text


def no_tensor(worker, step):
    code, text = code_of(worker.worker, "RecvTensor", step_id=step,
                         rendezvous_key=worker.key(), timeout=0.3)
    assert code == "DEADLINE_EXCEEDED", (code, text)


@test(**ONE)
def a_step_is_run_once_for_a_request_id(cluster):
    with session(cluster, "ids") as worker, session(cluster, "more") as more:
        graph, other = worker.register(*worker.sender()), more.register(
            *more.sender())
        seen = functools.partial(refused, "RunGraph (Worker)")
        for step, number in enumerate((7001, 2 ** 63 - 1, -5), 507):
            worker.run(graph, step, request_id=number)
            for handle, run in ((graph, worker.run), ("beef", worker.run),
                                (other, more.run)):
                seen(number, run, handle, 511)
        reply = worker.run(graph, 511, request_id=7001,
                           store_errors_in_response_body=True)
        assert reply.status_code == 10 and reply.status_error_message \
            .startswith("The same RunGraph (Worker) request was"), reply
        no_tensor(worker, 511)
        # A failed call counts, as nobody knows how far it came.
        assert code_of(worker.run, "beef", 512, request_id=7002) == (
            "ABORTED", "Graph handle is not found: beef")
        seen(7002, worker.run, graph, 512)
        unknown = dict(session_handle="unknown", graph_handle=graph,
                       request_id=7003, **IN_SESSION)
        assert "Session handle is not found" in code_of(
            worker.worker, "RunGraph", **unknown)[1]
        seen(7003, worker.run, graph, 513)
        for step in range(514, 517):  # 0 means none
            worker.run(graph, step, request_id=0)
    with session(cluster, "later") as worker:
        seen(7001, worker.run, worker.register(*worker.sender()), 517)
        for step in range(507, 518):
            worker.worker("CleanupGraph", step_id=step)


def sent_twice(worker, path, body):
    """Of two equal calls at once, the one that goes on: the other is ABORTED
    before it ends."""
    calls = [worker.future(path, body) for _ in range(2)]
    ended = wait_until(lambda: [c for c in calls if c.done()], 10, "one ends")
    assert len(ended) == 1, [call.code() for call in ended]
    assert ended[0].code() == grpc.StatusCode.ABORTED, ended[0].details()
    calls.remove(ended[0])
    return calls[0]


def queue_nodes(last, *inputs):
    """A queue of floats and one operation on it."""
    floats = tf.AttrValue()
    floats.list.type.append(tf.float32.as_datatype_enum)
    listed = "component_types" if last == "QueueDequeueV2" else "Tcomponents"
    return (node("q", "FIFOQueueV2", component_types=floats, device=HERE,
                 shared_name=tf.AttrValue(s=b"ids")),
            node(last, last, ("q",) + inputs, HERE, **{listed: floats}))


@test(**ONE)
def a_step_that_still_runs_is_not_run_again(cluster):
    with session(cluster, "waits") as worker:
        take = worker.register(*queue_nodes("QueueDequeueV2"))
        put = worker.register(constant("a", 1.5, device=HERE),
                              *queue_nodes("QueueEnqueueV2", "a"))
        waits = sent_twice(
            worker, "/tensorflow.WorkerService/RunGraph", message(
                "RunGraphRequest", graph_handle=take, step_id=520,
                request_id=7010, **worker.session).SerializeToString())
        worker.run(put, 521)
        assert waits.exception() is None
        for step in (520, 521):
            worker.worker("CleanupGraph", step_id=step)


@test(**ONE)
def a_tensor_is_received_once_for_a_request_id(cluster):
    with session(cluster, "recv_ids") as worker:
        graph = worker.register(*worker.sender())
        seen = functools.partial(refused, "RecvTensor (GrpcWorker)")
        recv = functools.partial(worker.worker, "RecvTensor")
        worker.run(graph, 530)
        fields = dict(step_id=530, rendezvous_key=worker.key())
        assert values(recv(request_id=8001, **fields)) == [1.0, 2.0]
        worker.run(graph, 531)
        for key in (worker.key(), "abc", worker.key(incarnation=1234)):
            seen(8001, recv, step_id=531, rendezvous_key=key)
        assert "Invalid" in code_of(recv, step_id=531, rendezvous_key="abc",
                                    request_id=8002)[1]
        fields["step_id"] = 531
        seen(8002, recv, **fields)
        # What was refused took nothing away.
        assert values(recv(request_id=8003, **fields)) == [1.0, 2.0]
        fields["step_id"] = 532
        waits = sent_twice(worker, RECV, message(
            "RecvTensorRequest", request_id=8004,
            **fields).SerializeToString())
        worker.run(graph, 532)
        reply = message("RecvTensorResponse").FromString(waits.result())
        assert values(reply) == [1.0, 2.0]
        for step in (530, 531, 532):
            worker.worker("CleanupGraph", step_id=step)


@test(**ONE)
def wrong_rendezvous_keys_are_refused(cluster):
    worker = Worker(cluster, "")
    gpu = HERE.replace("CPU:0", "GPU:7")
    for key, code, text in (
            ("abc", "INVALID_ARGUMENT", "Invalid  rendezvous key: abc"),
            ("", "INVALID_ARGUMENT", "Invalid  rendezvous key: "),
            (worker.key() + ";x", "INVALID_ARGUMENT", "Invalid"),
            (worker.key(source=gpu), "INVALID_ARGUMENT", "unknown device."),
            (worker.key(incarnation=1234), "ABORTED",
             "RecvTensor expects a different device incarnation: 1234 vs. "
             "%d. Your worker job (\"/job:ps/replica:0/task:0\") was probably "
             "restarted." % worker.incarnation)):
        got = code_of(worker.worker, "RecvTensor", step_id=505,
                      rendezvous_key=key)
        assert got[0] == code and text in got[1], got


@test(**ONE)
def cleaning_up_what_never_was_is_fine(cluster):
    worker = Worker(cluster, "")
    worker.worker("CleanupGraph", step_id=987654321)
    worker.worker("CleanupAll", container=["never_was"])
    worker.worker("DeleteWorkerSession", session_handle="never_was")


@test(**ONE)
def steps_with_one_graph_run_side_by_side(cluster):
    with session(cluster, "parallel") as worker:
        graph = worker.register(*worker.sender())
        results = []

        def one_step(step):
            waiting = worker.recv_later(step, worker.key())
            worker.run(graph, step)
            reply = message("RecvTensorResponse").FromString(waiting.result())
            results.append(values(reply))
            worker.worker("CleanupGraph", step_id=step)

        threads = [threading.Thread(target=one_step, args=[600 + i])
                   for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [[1.0, 2.0]] * 40, len(results)
