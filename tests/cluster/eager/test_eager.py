"""TensorFlow 2's EagerService: a real coordinator, and requests that none
sends."""
import json
import pathlib
import queue
import sys

import grpc

from tests.cluster import nursery
from tests.cluster.client import tf
from tests.cluster.eager.contexts import (
    CHIEF, GONE, HERE, NO_VALUE, SERVICE, attrs, context, drop, fails,
    function, give, handle, operation, run)
from tests.cluster.programs.player import play, real_server
from tests.cluster.raw import code_of, message
from tests.cluster.suite import test

ROOT = pathlib.Path(__file__).parents[3]
@test(limit=200, tfd_only=True, ps=1, worker=2)
def a_coordinator_runs_ops_on_every_task(cluster):
    """TensorFlow's own client, without a strategy: it streams.  Packed handles
    are part of it, which no strategy sends."""
    spec = {job: [cluster[job, i].address for i in range(count)]
            for job, count in (("ps", 1), ("worker", 2))}
    done = nursery.ran(
        [sys.executable, "-m", "tests.cluster.eager.eager_client",
         json.dumps(spec)], cwd=ROOT, timeout=190)
    assert done.returncode == 0 and "ok" in done.stdout.splitlines(), (
        done.stdout[-2000:])


@test(limit=400, tfd_only=True)
def variables_of_a_strategy_lie_on_tfd(server):
    """ParameterServerStrategy, its ps a tfd, its workers TensorFlow's own."""
    play(server, "--worker-server", real_server(), only=["t03", "t04"])


@test(limit=400, tfd_only=True)
def workers_of_a_strategy_are_tfds(server):
    """The same the other way round."""
    play(server, "--ps-server", real_server(), only=["t02", "t04"])


@test(tfd_only=True, worker=1)
def single_ops_give_shapes_and_values(cluster):
    with context(cluster, 1001) as c:
        made = c.enqueue(give(1, [[1, 2], [3, 4]]),
                         run(2, "MatMul", 1, 1, T=tf.float32),
                         run(3, "AddV2", 2, 1))  # T is that of its inputs
        assert [d.size for d in made[1].shape[0].dim] == [2, 2]
        assert c.value(3) == [[8, 12], [18, 26]]
        c.enqueue(give(4, 1.0, 2.0), run(5, "AddV2", (4, 0), (4, 1)))
        assert c.value(5) == 3.0


@test(tfd_only=True, worker=1)
def the_first_failure_ends_a_request(cluster):
    with context(cluster, 1002) as c:
        fails("INVALID_ARGUMENT", NO_VALUE + ": Op ID: 50", c.enqueue,
              give(1, 1.0), run(2, "AddV2", 1, 50), give(3, 1.0))
        c.enqueue(drop(1))
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(3))
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(2))


@test(tfd_only=True, worker=1)
def wrong_operations_are_refused(cluster):
    with context(cluster, 1003) as c:
        c.enqueue(give(1, [[0, 0], [0, 0]]))
        fails("NOT_FOUND", "Op type not registered 'Nope'", c.enqueue,
              run(2, "Nope", 1))
        fails("INVALID_ARGUMENT", "expected 2 inputs, got 1", c.enqueue,
              run(2, "MatMul", 1, T=tf.float32))
        fails("INVALID_ARGUMENT", "Could not satisfy device specification",
              c.enqueue, run(2, "AddV2", 1, 1,
                             device="/job:worker/replica:0/task:7"))
        fails("INVALID_ARGUMENT", "unknown device", c.enqueue,
              give(3, 1.0, device="/job:ps/task:0"))
        fails("INVALID_ARGUMENT", "Input is not invertible.", c.enqueue,
              run(2, "MatrixInverse", 1, T=tf.float32))
        fails("INVALID_ARGUMENT", "comes twice", c.enqueue,
              run(2, "MatMul", 1, 1, more=attrs(T=tf.float32),
                  T=tf.float32))
        fails("INVALID_ARGUMENT", "", c.enqueue, run(
            2, "AddV2", 1, 1, T=tf.int32))
        away = run(2, "AddV2", 1, 1)
        away.operation.op_inputs[1].remote_handle.CopyFrom(handle(
            1, device="/job:ps/replica:0/task:0/device:CPU:0"))
        fails("INVALID_ARGUMENT", "task:0/device:CPU:0 unknown device.",
              c.enqueue, away)
        assert c.value(1) == [[0, 0], [0, 0]]


@test(tfd_only=True, worker=1)
def anonymous_variables_are_apart(cluster):
    name = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"
    shape = [message("EagerAttr", key="shape", value=tf.AttrValue(
        shape=tf.TensorShape([]).as_proto()))]
    with context(cluster, 1004) as c:
        for number in (10, 20):
            c.enqueue(give(number, float(number)),
                      run(number + 1, "VarHandleOp", dtype=tf.float32,
                          shared_name=name, more=shape),
                      run(number + 2, "AssignVariableOp", number + 1, number,
                          dtype=tf.float32))
        for number in (10, 20):
            c.enqueue(run(number + 3, "ReadVariableOp", number + 1,
                          dtype=tf.float32))
            assert c.value(number + 3) == float(number)
        c.enqueue(drop(11))
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue,
              run(30, "ReadVariableOp", 11, dtype=tf.float32))


@test(tfd_only=True, worker=1)
def functions_are_found_when_they_run(cluster):
    with context(cluster, 1005) as c:
        def register(made):
            return message("EagerItem", register_function=message(
                "EagerFunction", function_def=made))
        caller = function("caller", "callee")
        del caller.node_def[0].input[1], caller.node_def[0].attr["T"]
        caller.ret["y"] = "sum:y:0"
        c.enqueue(register(caller), give(1, 2.0))
        fails("NOT_FOUND", "Op type not registered 'callee'", c.enqueue,
              run(2, "caller", 1))
        c.enqueue(register(function("callee")), register(function("callee")))
        answer = c.enqueue(run(2, "caller", 1))
        assert list(answer[0].device) == [""]
        assert c.value(2) == 4.0
        fails("INVALID_ARGUMENT", "Attempting to add a duplicate function",
              c.enqueue, register(function("callee", "Mul")))

        def remove(name):
            return message("EagerItem", remove_function=message(
                "EagerName", function_name=name))
        c.enqueue(remove("callee"))
        fails("INVALID_ARGUMENT", "Tried to remove non-existent function",
              c.enqueue, remove("callee"))


def difference(*order):
    made = function("difference", "Sub")
    made.signature.input_arg.add(name="y", type=1)
    made.node_def[0].input[:] = order
    return made


@test(tfd_only=True, worker=1)
def names_of_functions_are_taken(cluster):
    with context(cluster, 1013) as c:
        def register(made, component=False):
            c.enqueue(message("EagerItem", register_function=message(
                "EagerFunction", function_def=made,
                is_component_function=component)))
        register(difference("x", "y"))
        register(difference("x", "y"))
        fails("INVALID_ARGUMENT", "where the previous and current definitions "
              "differ", register, difference("y", "x"))
        for component in (False, True):
            fails("INVALID_ARGUMENT", "Cannot add function 'Neg' because an op "
                  "with the same name already exists.", register,
                  function("Neg"), component)
        c.enqueue(give(1, 5.0), give(2, 3.0), run(3, "Neg", 1))
        called = run(4, "difference", 1, 2)
        called.operation.is_function = True
        c.enqueue(called)
        assert (c.value(3), c.value(4)) == (-5.0, 2.0)


@test(tfd_only=True, worker=1)
def values_of_no_operation_are_the_answer(cluster):
    with context(cluster, 1014) as c:
        c.enqueue(give(1, 5.0), give(2, 3.0), message(
            "EagerItem", register_function=message(
                "EagerFunction", function_def=function("twice"))))
        for number, value in ((1, -5.0), (2, -3.0)):
            answer, = c.enqueue(run(-1, "Neg", number))
            assert not answer.shape
            assert tf.make_ndarray(answer.tensor[0]) == value
        called = run(-1, "twice", 1)
        called.operation.is_function = True
        answer, = c.enqueue(called)
        assert tf.make_ndarray(answer.tensor[0]) == 10.0
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(-1))


@test(tfd_only=True, worker=1)
def components_leave_results_where_they_are_told(cluster):
    with context(cluster, 1006) as c:
        c.enqueue(give(1, 2.0), message(
            "EagerItem", register_function=message(
                "EagerFunction", function_def=function("part"),
                is_component_function=True)))
        c.component(operation(2, "part", 1), 5)
        assert c.value(2, 5) == 4.0
        kept = c.component(operation(-1, "part", 1), 0)
        assert tf.make_ndarray(kept.tensor[0]) == 4.0
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(2, 0))
        fails("INTERNAL", "Could not find function library", c.component,
              operation(3, "nothing", 1))
        fails("INTERNAL", "can only be used to execute component functions",
              c.component, operation(3, "part", 1), flags=(True, False))
        fails("INVALID_ARGUMENT", "expected 1 inputs, got 2", c.component,
              operation(3, "part", 1, 1))
        fails("INVALID_ARGUMENT", "which is none of a function",
              c.component, operation(3, "part", 1), step=7)


def enqueues():
    """enqueues(q, x): q must be open."""
    made = message("tensorflow.FunctionDef")
    made.signature.name = "enqueues"
    made.signature.is_stateful = True
    made.signature.input_arg.add(name="q", type=20)
    made.signature.input_arg.add(name="x", type=1)
    node = made.node_def.add(name="put", op="QueueEnqueueV2", input=["q", "x"])
    node.attr["Tcomponents"].list.type.append(1)
    made.signature.control_output.append("put")
    made.control_ret["put"] = "put"
    return made


@test(tfd_only=True, worker=1)
def what_an_op_cancels_is_no_echo(cluster):
    """Of a function; who asks for a single op sees the op's own code."""
    with context(cluster, 1016) as c:
        types = [message("EagerAttr", key="component_types", value=tf.AttrValue(
            list=tf.AttrValue.ListValue(type=[1])))]
        c.enqueue(give(1, 1.0), run(2, "FIFOQueueV2", more=types),
                  message("EagerItem", register_function=message(
                      "EagerFunction", function_def=enqueues())),
                  run(3, "enqueues", 2, 1),
                  run(4, "QueueCloseV2", 2, cancel_pending_enqueues=True))
        code, words = code_of(c.enqueue, run(5, "enqueues", 2, 1))
        assert code == "FAILED_PRECONDITION", (code, words)
        assert "is closed" in words and "CANCELLED by an op" in words, words
        types[0].key = "Tcomponents"
        fails("CANCELLED", "is closed", c.enqueue, run(
            6, "QueueEnqueueV2", 2, 1, more=types))


class Stream:
    """One StreamingEnqueue."""

    def __init__(self, made):
        self.context, self.items = made, queue.Queue()
        call = made.channel.stream_stream(SERVICE + "StreamingEnqueue")
        self.answers = call(iter(self.items.get, None), timeout=20)

    def send(self, *items, number=None):
        self.items.put(message(
            "EnqueueRequest", context_id=number or self.context.number,
            queue=items).SerializeToString())

    def answer(self):
        return message.type("EnqueueResponse").FromString(
            next(self.answers)).queue_response


@test(tfd_only=True, worker=1)
def streams_answer_in_order_and_end_with_a_failure(cluster):
    with context(cluster, 1007) as c:
        stream = Stream(c)
        stream.send(give(1, 1.0))
        for number in range(2, 50):
            stream.send(run(number, "AddV2", number - 1, 1))
        for number in range(1, 50):
            assert len(stream.answer()) == 1
        c.enqueue(drop(48))
        assert c.value(49) == 49.0
        stream.send(run(60, "AddV2", 900, 1))
        stream.send(give(61, 1.0))
        fails("INVALID_ARGUMENT", NO_VALUE, stream.answer)
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(61))
        stream.items.put(None)
        ended = Stream(c)
        ended.items.put(None)
        assert list(ended.answers) == []
        stranger = Stream(c)
        stranger.send(number=5)
        fails("ABORTED", GONE, stranger.answer)
        stranger.items.put(None)


@test(tfd_only=True, worker=1)
def values_of_a_failed_operation_say_why_it_failed(cluster):
    """A client asks for them in a new stream before it knows of the failure."""
    with context(cluster, 1017) as c:
        c.enqueue(give(1, [[0.0, 0.0], [0.0, 0.0]]))
        broken = Stream(c)
        broken.send(run(2, "MatrixInverse", 1))
        why = code_of(broken.answer)
        assert why[0] == "INVALID_ARGUMENT", why
        assert "Input is not invertible" in why[1], why
        broken.items.put(None)
        later = Stream(c)
        later.send(run(3, "AddV2", 2, 2))
        again = code_of(later.answer)
        assert again == why, (why, again)
        later.items.put(None)
        # What the stream had no time for is as little there, and for as long
        # as nothing else was made, for the same reason.
        for number in 3, 2, 4:
            assert code_of(c.value, number) == why
        c.enqueue(give(5, 5.0))
        for number in 3, 2:
            assert code_of(c.value, number) == why
        # There is still nothing to let go of, and elsewhere nothing to tell.
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(2))
        for number in 4, 6:
            fails("INVALID_ARGUMENT", NO_VALUE, c.value, number)
        with context(cluster, 1018) as other:
            fails("INVALID_ARGUMENT", NO_VALUE, other.value, 2)
        # A value that came in spite of it is one.
        c.enqueue(give(2, 5.0))
        assert c.value(2) == 5.0
        c.enqueue(drop(2))
        # A _Send that fails is not one of those that are remembered.
        for number in range(20):
            assert code_of(c.value, 3) == why
        for number in range(100, 200):
            fails("INVALID_ARGUMENT", "Op ID: 900", c.enqueue,
                  run(number, "AddV2", 900, 1))
        fails("INVALID_ARGUMENT", NO_VALUE + ": Op ID: 2", c.value, 2)
        fails("INVALID_ARGUMENT", NO_VALUE + ": Op ID: 900", c.value, 199)


@test(tfd_only=True, worker=1)
def damaged_streams_end(cluster):
    with context(cluster, 1008) as c:
        for body in (b"\xff\xff\xff", b"\x1a\x7f"):
            stream = Stream(c)
            stream.items.put(body)
            fails("INTERNAL", "Unable to parse request", stream.answer)
            stream.items.put(None)
        left = Stream(c)
        left.send(give(1, 1.0))
        left.answer()
        left.answers.cancel()
        left.items.put(None)
        assert c.value(1) == 1.0


@test(tfd_only=True, worker=1)
def views_say_what_is_of_the_past(cluster):
    with context(cluster, 1009, context_view_id=3) as c:
        c.enqueue(give(1, 1.0))
        fails("INVALID_ARGUMENT", "already exists", c.create,
              context_view_id=2)
        c.close(view=2)
        kept = c.eager("KeepAlive", context_id=1009)
        assert kept.context_view_id == 3
        c.create(context_view_id=4)
        fails("INVALID_ARGUMENT", NO_VALUE, c.enqueue, drop(1))
        c.close(view=4)
        for method in ("KeepAlive", "Enqueue", "RunComponentFunction",
                       "WaitQueueDone"):
            fails("ABORTED", GONE, c.eager, method, context_id=1009)
        c.close()


@test(tfd_only=True, worker=1)
def views_are_counted_up(cluster):
    with context(cluster, 1015, context_view_id=4) as c:
        for view in (0, 4, 6):
            fails("INVALID_ARGUMENT", "currently at view #4 but received "
                  "update request at view #%d." % view, c.eager,
                  "UpdateContext", context_id=1015, context_view_id=view)
        c.enqueue(give(1, 1.0), run(2, "AddV2", 1, 1))
        c.eager("UpdateContext", context_id=1015, context_view_id=5)
        assert c.eager("KeepAlive", context_id=1015).context_view_id == 5
        answer = c.eager(
            "UpdateContext", context_id=1015, context_view_id=6,
            server_def=c.server(jobs=("worker", "other")))
        assert answer.device_attributes[0].name == HERE
        c.enqueue(run(3, "AddV2", 2, 1))
        assert c.value(3) == 3.0
        fails("ABORTED", GONE, c.eager, "UpdateContext", context_id=5)


@test(tfd_only=True, worker=1)
def a_view_changes_while_a_function_is_built(cluster):
    """What came before the new view runs, whichever session has it."""
    long = function("long")
    for i in range(2000):
        long.node_def.add(name="more%d" % i, op="AddV2", input=[
            "sum:z:0", "x"]).attr["T"].type = 1
    with context(cluster, 1016) as c:
        c.enqueue(give(1, 1.0), message(
            "EagerItem", register_function=message(
                "EagerFunction", function_def=long)))
        for view in range(1, 9):
            more = () if view % 2 else ("other",)
            running = c.begin(run(10 + view, "long", 1))
            c.eager("UpdateContext", context_id=1016, context_view_id=view,
                    server_def=c.server(jobs=("worker", *more, "third")))
            running.result(20)
            assert c.value(10 + view) == 2.0
            view_of = c.eager("KeepAlive", context_id=1016).context_view_id
            assert view_of == view


@test(tfd_only=True, worker=1)
def contexts_are_apart(cluster):
    with context(cluster, 1010) as a, context(cluster, 1011) as b:
        a.enqueue(give(1, 1.0))
        fails("INVALID_ARGUMENT", NO_VALUE, b.enqueue, drop(1))
        b.enqueue(give(1, 2.0))
        assert (a.value(1), b.value(1)) == (1.0, 2.0)
        b.create(number=1012, clear_existing_contexts=True)
        fails("ABORTED", GONE, a.enqueue, give(2, 1.0))
        fails("ABORTED", GONE, b.enqueue, give(2, 1.0))
        b.number = 1012


@test(limit=60, tfd_only=True, worker=1)
def a_context_that_nobody_uses_ends(cluster):
    with context(cluster, 1013, keep_alive_secs=1) as c:
        waiting = c.call  # a RecvTensor of its step ends with it
        try:
            waiting("WorkerService", "RecvTensor", step_id=1013,
                    rendezvous_key="%s;%016x;%s;never;0:0" % (
                        HERE, c.devices[0].incarnation, CHIEF))
        except grpc.RpcError as error:
            assert "Cleanup 1013" in error.details(), error
        fails("ABORTED", GONE, c.eager, "KeepAlive", context_id=1013)


@test(tfd_only=True, worker=1)
def wrong_requests_are_refused(cluster):
    with context(cluster, 1014) as c:
        fails("INVALID_ARGUMENT", "names no task", c.create, number=1,
              job="no job")
        fails("INVALID_ARGUMENT", "names no task", c.create, number=1, job="")
        for method in ("CreateContext", "Enqueue", "RunComponentFunction",
                       "KeepAlive", "CloseContext", "WaitQueueDone",
                       "UpdateContext"):
            fails("INTERNAL", "Unable to parse request", c.bytes,
                  SERVICE + method, b"\xff\xff\xff")
        fails("UNIMPLEMENTED", "particular op IDs", c.eager, "WaitQueueDone",
              context_id=1014, op_id=[1])
        c.eager("WaitQueueDone", context_id=1014)
