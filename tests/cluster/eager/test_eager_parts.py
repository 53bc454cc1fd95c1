"""Functions whose values lie on several tasks: a worker owns them, a ps has
the variable."""
import contextlib
import threading

from tests.cluster.cluster import Cluster
from tests.cluster.client import tf
from tests.cluster.eager.contexts import (
    GONE, HERE, NO_VALUE, Context, drop, fails, give, handle, run)
from tests.cluster.raw import Raw, code_of, message
from tests.cluster.suite import test
from tests.cluster.watch import metrics, wait_metric

PS = "/job:ps/replica:0/task:0/device:CPU:0"
TOLD = "GRPC error information from remote target " + PS


def adds(name="adds", op="AddV2", more=()):
    """name(v, x): v += x; (v + x here, v on its ps)."""
    made = message("tensorflow.FunctionDef")
    made.signature.name = name
    made.signature.is_stateful = True
    made.signature.input_arg.add(name="v", type=20)
    made.signature.input_arg.add(name="x", type=1)
    for result in ("y", "r"):
        made.signature.output_arg.add(name=result, type=1)

    def add(node, op, *inputs, types=("dtype",), device=""):
        node = made.node_def.add(name=node, op=op, input=inputs,
                                 device=device)
        for key in types:
            node.attr[key].type = 1
    add("up", "AssignAddVariableOp", "v", "x")
    add("read", "ReadVariableOp", "v", "^up")
    add("sum", op, "read:value:0", "x", types=("T",))
    add("there", "Identity", "read:value:0", types=("T",), device=PS)
    for node in more:
        add(*node)
    made.ret["y"], made.ret["r"] = "sum:z:0", "there:output:0"
    return made


def endless():
    """endless(v, x): a loop that reads v in each round, for ever."""
    made = adds("endless")
    del made.node_def[:]

    def add(name, op, *inputs, **attrs):
        node = made.node_def.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            field = {"frame_name": "s", "T": "type", "dtype": "type"}[key]
            setattr(node.attr[key], field, value)
    add("enter", "Enter", "x", T=1, frame_name=b"f")
    add("handle", "Enter", "v", T=20, frame_name=b"f")
    made.node_def[-1].attr["is_constant"].b = True
    add("merge", "Merge", "enter:output:0", "next:output:0", T=1)
    made.node_def[-1].attr["N"].i = 2
    add("more", "IsFinite", "merge:output:0", T=1)
    add("while", "LoopCond", "more:y:0")
    add("switch", "Switch", "merge:output:0", "while:output:0", T=1)
    add("read", "ReadVariableOp", "handle:output:0", "^round", dtype=1)
    add("round", "Identity", "switch:output_true:0", T=1)
    add("sum", "Mul", "round:output:0", "read:value:0", T=1)
    add("next", "NextIteration", "sum:z:0", T=1)
    add("exit", "Exit", "switch:output_false:0", T=1)
    made.ret["y"] = made.ret["r"] = "exit:output:0"
    return made


def register(made):
    return message("EagerItem", register_function=message(
        "EagerFunction", function_def=made))


def variable(number, name):
    """Items that make one, under `number`, with the value 0."""
    shape = [message("EagerAttr", key="shape", value=tf.AttrValue(
        shape=tf.TensorShape([]).as_proto()))]
    return [give(number + 1, 0.0, device=PS),
            run(number, "VarHandleOp", dtype=tf.float32, device=PS,
                shared_name=name, more=shape),
            run(number + 2, "AssignVariableOp", handle(number, device=PS),
                handle(number + 1, device=PS), device=PS, dtype=tf.float32)]


def call(number, name, *inputs, **fields):
    item = run(number, name, **fields)
    item.operation.is_function = True
    for value in inputs:
        item.operation.op_inputs.add(remote_handle=value)
    return item


class Pair:
    """One coordinator's contexts on a ps and on a worker."""

    def __init__(self, cluster, number):
        self.devices = self.devices_of(cluster)
        self.ps, self.worker = (Context(
            cluster[job, 0].address, number, spec=cluster.spec, job=job,
            cluster_device_attributes=self.devices)
            for job in ("ps", "worker"))
        self.ps.enqueue(*variable(1, b"v%d" % number))
        self.worker.enqueue(register(adds()), give(10, 2.0))

    @staticmethod
    def devices_of(cluster):
        return [a for job in ("worker", "ps") for a in Raw(
            cluster[job, 0].address).call(
                "WorkerService", "GetStatus").device_attributes]

    def step(self, number, name="adds"):
        return self.worker.enqueue(call(
            number, name, handle(1, device=PS), handle(10)))


@contextlib.contextmanager
def pair(cluster, number):
    made = Pair(cluster, number)
    try:
        yield made
    finally:
        for task in (made.ps, made.worker):
            task.close(view=2**64 - 1)


def part_runs(cluster):
    """Waits until the ps has begun its part."""
    wait_metric(cluster["ps", 0], "tfd_eager_runs_running", 1,
                20)


def ended(call):
    """The code and the words of a call that runs on a thread."""
    got = []
    thread = threading.Thread(target=lambda: got.append(code_of(call)))
    thread.start()

    def result():
        thread.join(60)
        return got[0]
    return result


@test(tfd_only=True, ps=1, worker=1)
def results_stay_where_they_are_made(cluster):
    with pair(cluster, 2001) as c:
        for number in (20, 30, 40):
            answer = c.step(number)
            assert list(answer[0].device) == ["", PS], answer
            assert len(answer[0].shape) == 2
        assert c.worker.value(40, 0) == 8.0
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, drop(40, 1))
        item = drop(40, 1)
        c.ps.enqueue(item)
        fails("INVALID_ARGUMENT", NO_VALUE, c.ps.enqueue, item)
        sent = c.worker.enqueue(call(
            50, "adds", handle(1, device=PS), handle(30, 1, PS)))
        assert list(sent[0].device) == ["", PS]
        assert c.worker.value(50, 0) == 14.0  # 6 + 4, and 4


@test(tfd_only=True, ps=1, worker=1)
def values_are_pushed_and_leave_nothing(cluster):
    """A step that ends well is one call of the ps's, both ways."""
    calls = "tfd_rpc_requests_total{method=\"tensorflow.%s\"}"
    with pair(cluster, 2013) as c:
        c.step(20)
        before = [metrics(cluster[job, 0]) for job in ("ps", "worker")]
        for number in range(30, 40):
            c.step(number)
        ps, worker = (
            [after.get(name, 0) - was.get(name, 0) for name in (
                calls % "eager.EagerService/RunComponentFunction",
                calls % "WorkerService/RecvTensor",
                calls % "eager.EagerService/Enqueue")]
            for after, was in zip((metrics(cluster[job, 0])
                                   for job in ("ps", "worker")), before))
        assert ps == [10, 0, 0] and worker == [0, 0, 10], (ps, worker)
        assert c.worker.value(39, 0) == 24.0


@test(tfd_only=True, ps=1, worker=1)
def what_a_part_lacks_is_said(cluster):
    with pair(cluster, 2002) as c:
        lost = call(20, "adds", handle(99, device=PS), handle(10))
        code, words = code_of(c.worker.enqueue, lost)
        assert code == "INVALID_ARGUMENT" and NO_VALUE in words, words
        assert TOLD in words, words
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, call(
            20, "adds", handle(1, device=PS), handle(99)))
        fails("INVALID_ARGUMENT", "unknown device", c.worker.enqueue, call(
            20, "adds", handle(1, device="/job:ps/task:7"), handle(10)))
        fails("INVALID_ARGUMENT", "input_devices length = 1 number of arguments "
              "= 2", c.worker.enqueue, call(20, "adds", handle(1, device=PS)))
        c.step(21)


@test(tfd_only=True, ps=1, worker=1)
def errors_name_the_function_that_was_called(cluster):
    """By which a client finds the line of its program: not the part."""
    with pair(cluster, 2012) as c:
        c.worker.enqueue(register(adds("wrong", "MatMul")), message(
            "EagerItem", send_tensor=message(
                "EagerTensors", op_id=11, device_name=HERE,
                tensors=[tf.make_tensor_proto([1., 2.])])))
        for name, value, where in (("adds", 11, "{{node up}}"),
                                   ("wrong", 10, "sum")):
            code, words = code_of(c.worker.enqueue, call(
                20, name, handle(1, device=PS), handle(value)))
            assert code == "INVALID_ARGUMENT" and where in words, words
            told = "{{function_node %s}}" % name
            assert words.startswith(told), words
            assert words.count(told) == 1, words


@test(ps=1, worker=1)
def an_op_fetches_values_of_other_tasks(cluster):
    with pair(cluster, 2009) as c:
        c.ps.enqueue(give(30, [[3, 4]], device=PS))
        there = handle(30, device=PS)
        answer = c.worker.enqueue(run(40, "AddV2", 10, there),
                                  run(41, "Mul", there, there, T=tf.float32))
        assert [d.size for d in answer[0].shape[0].dim] == [1, 2]
        assert list(answer[0].device) == []
        assert c.worker.value(40) == [[5, 6]]
        assert c.worker.value(41) == [[9, 16]]
        fails("INVALID_ARGUMENT", NO_VALUE + ": Op ID: 99", c.worker.enqueue,
              run(42, "AddV2", 10, handle(99, device=PS)))
        fails("INVALID_ARGUMENT", "/job:ps/task:9 unknown device.",
              c.worker.enqueue, run(42, "AddV2", 10, handle(
                  30, device="/job:ps/task:9")))
        fails("INVALID_ARGUMENT", "Input matrix must be square.",
              c.worker.enqueue, run(42, "MatrixInverse", there, T=tf.float32))
        fails("INVALID_ARGUMENT", "expected 2 inputs, got 1",
              c.worker.enqueue, run(42, "AddV2", there))
        fails("NOT_FOUND", "Nope", c.worker.enqueue, run(42, "Nope", there))
        c.worker.enqueue(drop(40), drop(41))
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, drop(42))


@test(tfd_only=True, ps=1, worker=1)
def an_op_uses_resources_of_other_tasks(cluster):
    """TensorFlow's server sends the op on, and no value can be had of it."""
    with pair(cluster, 2010) as c:
        there = handle(1, device=PS, dtype=tf.resource)
        c.worker.enqueue(
            run(20, "AssignAddVariableOp", there, 10, dtype=tf.float32),
            run(21, "ReadVariableOp", there, dtype=tf.float32))
        assert c.worker.value(21) == 2.0
        fails("INVALID_ARGUMENT", "does not say its type", c.worker.enqueue,
              run(22, "ReadVariableOp", message(
                  "EagerHandle", op_id=1, device=PS), dtype=tf.float32))
        fails("UNIMPLEMENTED", "it must be here", c.worker.enqueue, run(
            -1, "_Send", handle(30, device=PS), T=tf.float32))
        for number in range(30, 40):  # compiled once
            c.worker.enqueue(run(number, "ReadVariableOp", there,
                                 dtype=tf.float32))
        c.ps.close(view=2**64 - 1)
        code, words = code_of(c.worker.enqueue, run(
            50, "ReadVariableOp", there, dtype=tf.float32))
        assert code == "ABORTED" and GONE in words and TOLD in words, words


def packs(number, *handles, device="/job:chief/task:0/device:COMPOSITE:0"):
    """Of a handle, or of a value and its device."""
    return message("EagerItem", send_packed_handle=message(
        "EagerPacked", op_id=number, device_name=device, handles=[
            message("EagerPart", local_handle=message(
                "EagerLocal", device=h[1], tensor=tf.make_tensor_proto(
                    h[0], tf.float32))) if isinstance(h, tuple) else
            message("EagerPart", remote_handle=h) for h in handles]))


def doubled():
    """doubled(x) = (x + x here, x + x on the ps)."""
    made = message("tensorflow.FunctionDef")
    made.signature.name = "doubled"
    made.signature.input_arg.add(name="x", type=1)
    for result, device in (("here", HERE), ("there", PS)):
        made.signature.output_arg.add(name=result, type=1)
        node = made.node_def.add(name=result, op="AddV2", input=["x", "x"],
                                 device=device)
        node.attr["T"].type = 1
        made.ret[result] = result + ":z:0"
    return made


@test(tfd_only=True, ps=1, worker=1)
def packed_handles_have_a_value_per_device(cluster):
    with pair(cluster, 2011) as c:
        c.ps.enqueue(give(30, 3.0, device=PS))
        c.worker.enqueue(
            packs(20, handle(10), handle(30, device=PS)),
            packs(21, (5.0, HERE), (7.0, PS)), register(doubled()), drop(10))
        for number, packed, value in ((40, 20, 4.0), (50, 21, 10.0)):
            answer = c.worker.enqueue(call(number, "doubled", handle(packed)))
            assert list(answer[0].device) == ["", PS], answer
            assert c.worker.value(number, 0) == value
        c.worker.enqueue(run(60, "AddV2", (50, 0), handle(
            50, 1, device=PS)))
        assert c.worker.value(60) == 24.0
        lonely = packs(22, (5.0, PS), (7.0, PS))
        fails("INVALID_ARGUMENT", "Dst node should be assigned to an allowed "
              "device. Found an edge from node", c.worker.enqueue, lonely,
              call(70, "doubled", handle(22)))
        fails("INVALID_ARGUMENT", "not supported on packed TensorHandles",
              c.worker.enqueue, run(70, "AddV2", 20, 20))
        fails("INVALID_ARGUMENT", "not supported on packed TensorHandles",
              c.worker.enqueue, run(-1, "_Send", 20))
        c.worker.enqueue(*(drop(n) for n in (20, 21, 22)))
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, drop(20))


@test(tfd_only=True, ps=1, worker=1)
def wrong_packed_handles_are_refused(cluster):
    with pair(cluster, 2012) as c:
        for text, items in (
                ("Handles should not be empty.", packs(20)),
                (NO_VALUE + ": Op ID: 99", packs(20, handle(99))),
                ("/job:ps/task:9 unknown device.", packs(20, handle(
                    1, device="/job:ps/task:9"))),
                ("nowhere unknown device.", packs(20, (1.0, "nowhere"))),
                ("must have the same dtype", packs(20, handle(10), handle(
                    1, device=PS, dtype=tf.resource))),
                ("a packed handle of 4097 values; 4096 are possible",
                 packs(20, *[handle(10)] * 4097))):
            fails("INVALID_ARGUMENT", text, c.worker.enqueue, items)
        fails("INVALID_ARGUMENT", "a packed handle in a packed handle",
              c.worker.enqueue, packs(21, handle(10)), packs(22, handle(21)))
        c.worker.enqueue(drop(21))
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, drop(20))
        fails("INVALID_ARGUMENT", NO_VALUE, c.worker.enqueue, drop(22))


@test(tfd_only=True, ps=1, worker=1)
def wrong_bodies_are_refused(cluster):
    with pair(cluster, 2003) as c:
        c.worker.enqueue(
            register(adds("unknown", op="Nope")),
            register(adds("nowhere", more=[
                ("x2", "Identity", "nothing:output:0")])),
            register(adds("strings", more=[("s", "AsString", "v")])))
        fails("NOT_FOUND", "Op type not registered 'Nope'", c.step, 20,
              "unknown")
        fails("INVALID_ARGUMENT", "function_node nowhere", c.step, 20,
              "nowhere")
        fails("INVALID_ARGUMENT", "function_node strings", c.step, 20,
              "strings")
        c.step(20)


@test(tfd_only=True, ps=1, worker=1)
def a_task_without_the_context_is_named(cluster):
    with pair(cluster, 2004) as c:
        c.step(20)
        c.ps.close(view=2**64 - 1)
        code, words = code_of(c.step, 30)
        assert code == "ABORTED" and GONE in words and TOLD in words, words


@test(limit=60, tfd_only=True, ps=1, worker=1)
def a_context_may_end_amid_a_function(cluster):
    with pair(cluster, 2005) as c:
        c.worker.enqueue(register(endless()))
        result = ended(lambda: c.step(20, "endless"))
        part_runs(cluster)
        c.worker.close(view=2**64 - 1)
        code, words = result()
        assert code == "ABORTED" and GONE in words, words


@test(limit=60, tfd_only=True, ps=1, worker=1)
def who_cancels_a_request_cancels_its_parts(cluster):
    with pair(cluster, 2007) as c:
        c.worker.enqueue(register(endless()))
        asked = c.worker.begin(call(
            20, "endless", handle(1, device=PS), handle(10)))
        part_runs(cluster)
        asked.cancel()
        for job in ("ps", "worker"):
            wait_metric(cluster[job, 0], "tfd_eager_runs_running", 0, 20)
        c.step(30)


@test(limit=60, tfd_only=True)
def a_task_that_was_replaced_gets_its_parts_anew(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        c = Pair(cluster, 2008)
        c.step(20)
        cluster["ps", 0].kill()
        fails("UNAVAILABLE", TOLD, c.step, 30)
        cluster.start("ps", 0)
        fails("ABORTED", GONE, c.step, 30)
        new = Pair.devices_of(cluster)
        c.ps = Context(cluster["ps", 0].address, 2008, spec=cluster.spec,
                       job="ps", context_view_id=1,
                       cluster_device_attributes=new)
        c.ps.enqueue(*variable(1, b"again"))
        fails("INTERNAL", "Could not find function library", c.step, 30)
        c.worker.eager("UpdateContext", context_id=2008, context_view_id=1,
                       server_def=c.worker.server("worker"),
                       cluster_device_attributes=new)
        c.step(40)
        assert c.worker.value(40, 0) == 4.0


@test(limit=60, tfd_only=True)
def a_task_that_dies_amid_a_function_is_named(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        c = Pair(cluster, 2006)
        c.worker.enqueue(register(endless()))
        result = ended(lambda: c.step(20, "endless"))
        part_runs(cluster)
        cluster["ps", 0].kill()
        code, words = result()
        assert code == "UNAVAILABLE" and TOLD in words, words
        code, words = code_of(c.step, 30)
        assert code == "UNAVAILABLE" and TOLD in words, words
