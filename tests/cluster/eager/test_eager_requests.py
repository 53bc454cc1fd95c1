"""Every request of EagerService with each of its fields missing, wrong, huge, of
another context or of another wire type: asked of TensorFlow's server and of tfd.

What tfd answers otherwise stands in a table, with the reason; TensorFlow's server
is not asked what ends it."""
import re
import threading
import time

import grpc

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.eager.contexts import (
    GONE, HERE, NO_VALUE, SERVICE, Context, drop, fails, give, message, run)
from tests.cluster.eager.requests import OTHER, changes, prepared, requests
from tests.cluster.suite import test
from tests.cluster.watch import wait_metric

PARSE = r"Unable to parse|damaged|is no protobuf"
# Rows, what tfd says to them, and why TensorFlow's answer is none to have.
OTHERWISE = [(re.compile(rows), code, re.compile(text)) for rows, code, text in (
    # A field of another wire type is damage, not a field that is not there.
    (r" damaged$", "INTERNAL|INVALID_ARGUMENT", PARSE),
    (r"attrs.value damaged", "INVALID_ARGUMENT", "AttrValue missing value"),
    # Coordinators try for ever what is "neither a type of a primitive".
    (r"operation.name ", "NOT_FOUND", "Op type not registered"),
    # TensorFlow prints the operation, and the definition of the op.
    (r"operation.device (wrong|huge)", "INVALID_ARGUMENT",
     "Malformed device specification '.*' in eager op"),
    (r"Enqueue.*op_inputs (missing|twice|many)", "INVALID_ARGUMENT",
     r"expected [12] inputs, got \d"),
    (r"Component.*op_inputs (missing|twice|many)", "INVALID_ARGUMENT",
     r"expected 1 inputs, got \d"),
    (r"send: .*attrs missing", "INVALID_ARGUMENT", "No attr named"),
    # An attribute twice has no value that both sides are sure of.
    (r"attrs twice", "INVALID_ARGUMENT", "attribute .* comes twice"),
    (r"attrs many", "INVALID_ARGUMENT", "3[0-9]* attributes; .* possible"),
    (r"attrs.value missing", "INVALID_ARGUMENT", "AttrValue missing value"),
    # TensorFlow prints the message that it could not read.
    (r"op_inputs.(remote_handle|tensor) missing", "INVALID_ARGUMENT",
     "an input without a value"),
    (r"handles.(local_handle|remote_handle) missing", "INVALID_ARGUMENT",
     NO_VALUE),
    (r"tensor[s]?\.", "INVALID_ARGUMENT",
     "TensorProto has invalid dtype|tensor_content has|was passed|"
     "Input 0 of node"),
    (r"tensor missing", "INVALID_ARGUMENT", "TensorProto has invalid dtype"),
    (r"function_def(.signature)?(.name)? missing", "INVALID_ARGUMENT",
     "a function without a name"),
    # A coordinator's own step, and those of sessions, are no function's.
    (r"func_step_id (missing|wrong|huge)", "INVALID_ARGUMENT",
     "which is none of a function"),
    # A context without a cluster could run nothing.
    (r"server_def(.cluster)?(.job)? missing", "INVALID_ARGUMENT",
     "server_def names no task|has no cluster"),
    (r"(job.name|job.tasks.(key|value)|tasks|job_name|task_index) "
     "(missing|wrong|huge|negative|twice|many)", "INVALID_ARGUMENT",
     "host-port pair|cluster_def: |server_def names no task"),
    (r"Context: cluster_device_attributes (twice|many)", "OK", ""),
    (r"cluster_device_attributes.name missing", "INTERNAL",
     "Worker sent device name ''"),
    (r"cluster_device_attributes.name (wrong|huge)", "INVALID_ARGUMENT",
     "Malformed device specification"),
    # The task that the context was made for stays what it is.
    (r"Update.*(job_name|task_index) ", "OK", ""),
)]
# What ends TensorFlow's server; UpdateContext without a chief is all of it.
DEADLY = re.compile(
    r"Enqueue.op: .*op_inputs (twice|many)|packed.*device_name (wrong|huge)|"
    r"attributes.name (wrong|huge)|UpdateContext")
ALWAYS = 2**64 - 1


class Asked:
    """A server, a context that lives beside, and a context for each request."""

    def __init__(self, cluster):
        self.task = cluster["worker", 0]
        self.other = Context(self.task.address, OTHER)
        self.last = 5000
        self.views = 0

    def fresh(self):
        self.last += 1
        made = Context(self.task.address, self.last)
        made.enqueue(*prepared())
        return made

    def renew(self):
        self.views += 100
        self.other.create(context_view_id=self.views)
        self.other.enqueue(*prepared())

    def ask(self, name, what, apply, send):
        """(code, text) of a request in a context of its own."""
        if what.endswith("other"):
            self.renew()
        context = self.fresh()
        try:
            method, request = requests(context)[name]
            apply(request)
            try:
                send(context, method, request.SerializeToString())
            except grpc.RpcError as error:
                return error.code().name, error.details()
            return "OK", ""
        finally:
            context.close(view=ALWAYS)
            context.channel.close()

    def end(self):
        self.other.close(view=ALWAYS)


def unary(context, method, body):
    context.bytes(SERVICE + method, body, timeout=10)


def streamed(context, _, body):
    """The same in a stream that stays open until its answer is there."""
    over = threading.Event()

    def send():
        yield body
        over.wait(10)
    call = context.channel.stream_stream(SERVICE + "StreamingEnqueue")
    try:
        next(call(send(), timeout=10), None)
    finally:
        over.set()


def rows(context):
    for name, (_, request) in requests(context).items():
        yield name, "good", lambda request: None
        for what, apply in changes(request):
            yield name, what, apply


def same(got, want):
    """Texts are cut at some 2000 bytes, in the middle."""
    return want and got[0] == want[0] and got[1][:900] == want[1][:900]


def is_otherwise(row, got):
    return any(rows.search(row) and re.fullmatch(code, got[0])
               and text.search(got[1]) for rows, code, text in OTHERWISE)


def serves(task):
    """A good client, and nothing is left of those before."""
    wait_metric(task, "tfd_eager_contexts", 0, 10)
    wait_metric(task, "tfd_eager_handles", 0, 10)
    made = Context(task.address, 77)
    made.enqueue(*prepared(), run(10, "AddV2", 1, (2, 1)), run(11, "f", 10))
    assert made.value(11) == 12.0
    made.close(view=ALWAYS)
    wait_metric(task, "tfd_eager_contexts", 0, 10)
    wait_metric(task, "tfd_eager_handles", 0, 10)


@test(limit=200, tfd_only=True)
def every_field_is_answered_as_tensorflow_does(server):
    wrong = []
    with Cluster(server, worker=1) as ours, Cluster(
            tensorflow_server(server.slow), worker=1) as theirs:
        tfd, real = Asked(ours), Asked(theirs)
        count = 0
        for name, what, apply in rows(tfd.other):
            row, count = "%s: %s" % (name, what), count + 1
            got = tfd.ask(name, what, apply, unary)
            want = None if DEADLY.search(row) else real.ask(
                name, what, apply, unary)
            if same(got, want) or is_otherwise(row, got):
                continue
            if want is None and got[0] in ("OK", "INVALID_ARGUMENT",
                                           "ABORTED", "INTERNAL"):
                continue
            wrong.append((row, got, want))
        tfd.end()
        serves(ours["worker", 0])
    assert count > 900, count
    assert not wrong, "%d of %d\n%s" % (len(wrong), count, "\n".join(
        "%s\n   tfd        %.300s\n   TensorFlow %.300s" % w for w in wrong))


@test(limit=100, tfd_only=True, worker=1)
def streams_answer_as_single_requests_do(cluster):
    asked, wrong = Asked(cluster), []
    for name, what, apply in rows(asked.other):
        if name.startswith("Enqueue"):
            one, many = (asked.ask(name, what, apply, send)
                         for send in (unary, streamed))
            if one != many:
                wrong.append((name, what, one, many))
    asked.end()
    serves(cluster["worker", 0])
    assert not wrong, "\n".join(map(str, wrong))


@test(limit=100, tfd_only=True, worker=1)
def bytes_of_any_length_are_refused(cluster):
    """A request that ends early: at each byte of each kind of request."""
    asked = Asked(cluster)
    for name in requests(asked.other):
        context = asked.fresh()
        method, request = requests(context)[name]
        body = request.SerializeToString()
        for size in range(len(body)):
            try:
                unary(context, method, body[:size])
            except grpc.RpcError as error:
                assert error.code().name in (
                    "INTERNAL", "INVALID_ARGUMENT", "ABORTED", "NOT_FOUND"), (
                        name, size, error)
        context.close(view=ALWAYS)
    asked.end()
    serves(cluster["worker", 0])


def many_tensors(count):
    return message("EagerItem", send_tensor=message(
        "EagerTensors", op_id=900, device_name=HERE,
        tensors=[tf.make_tensor_proto(1.0)] * count))


LARGE = {
    "tensors of one operation": lambda: [many_tensors(60000)],
    "values": lambda: [give(n, 1.0) for n in range(1000, 21000)],
    "nothing": lambda: [message("EagerItem")] * 300000,
    "operations": lambda: [run(100000 + n, "Identity", 1, T=tf.float32)
                           for n in range(4000)],
}


@test(limit=100, tfd_only=True, worker=1)
def large_requests_hold_up_nobody(cluster):
    task, slow = cluster["worker", 0], []
    beside = Context(task.address, 78)
    for number, (name, items) in enumerate(LARGE.items(), 7000):
        context = Context(task.address, number)
        context.enqueue(*prepared())
        call = context.begin(*items())
        count = 0
        while not call.done() or count < 3:
            begun = time.monotonic()
            beside.eager("KeepAlive", context_id=78)
            count += 1
            if time.monotonic() - begun > 1:
                slow.append((name, time.monotonic() - begun))
        call.result()
        context.close(view=ALWAYS)
    beside.close(view=ALWAYS)
    serves(task)
    assert not slow, slow


@test(limit=100, tfd_only=True, worker=1)
def large_requests_end_amid_their_items(cluster):
    """By a failure, their caller, their context."""
    task = cluster["worker", 0]
    context = Context(task.address, 79)
    context.enqueue(*prepared())
    failed = context.begin(many_tensors(60000), drop(5000), give(5001, 1.0))
    fails("INVALID_ARGUMENT", NO_VALUE, failed.result)
    fails("INVALID_ARGUMENT", NO_VALUE, context.enqueue, drop(5001))
    context.enqueue(drop(900, 59999))
    left = context.begin(*[message("EagerItem")] * 300000)
    left.cancel()
    closed = context.begin(*[run(100000 + n, "Identity", 1, T=tf.float32)
                             for n in range(8000)])
    context.close(view=ALWAYS)
    error = closed.exception(20)
    assert error is None or GONE in error.details(), error
    serves(task)
