"""Graphs made to break a server: each ends in its error, and life goes on.

From the lists of what once killed or hung TensorFlow's server; what still
does so in 2.21 is asked of tfd alone.
"""
import time

import grpc

from tests.cluster.client import (TensorProto, expect, graph, np, plain_config,
                                  run, tf)
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.processor import (WORK_SECONDS, cpu_seconds, side,
                                     work_after_the_deadline)
from tests.cluster.raw import Raw, constant, graph_of, node
from tests.cluster.suite import test
from tests.cluster.watch import metric

ONE = dict(worker=1)
HUGE_SECONDS = 3  # within which what cannot be had must be refused


def number(value):
    return tf.AttrValue(i=value)


def listed(**values):
    return tf.AttrValue(list=tf.AttrValue.ListValue(**values))


def shaped(value, *dims):
    """A TensorProto attribute whose shape is not that of its value."""
    proto = TensorProto(dtype=1, float_val=value)
    for size in dims:
        proto.tensor_shape.dim.add(size=size)
    return tf.AttrValue(tensor=proto)


def colocated(*names):
    return tf.AttrValue(list=tf.AttrValue.ListValue(s=list(names)))


def neg(*inputs, name="b", T=tf.float32):
    return node(name, "Neg", inputs, T=T)


ONE_F = constant("a", 1.0)
BAD = "INVALID_ARGUMENT"
# name: nodes, code, part of the text; the last node is run
GRAPHS = {
    "unknown op": ([node("z", "Nope")], "NOT_FOUND",
                   "Op type not registered 'Nope'"),
    "name twice": ([node("a"), node("a")], BAD, "Node 'a' is not unique"),
    "missing input": ([neg("q")], BAD, "Unknown input node 'q'"),
    "cycle": ([neg("b", name="c"), neg("c")], BAD, "cycle"),
    "self loop": ([neg("b")], BAD, "cycle"),
    "control self loop": ([node("b", inputs=["^b"])], BAD, "cycle"),
    "port 1": ([ONE_F, neg("a:1")], BAD,
               "Connecting to invalid output 1 of source node a which has 1"),
    "port 2^31-1": ([ONE_F, neg("a:2147483647")], BAD,
                    "invalid output 2147483647"),
    "port -1": ([ONE_F, neg("a:-1")], BAD, "a:-1"),
    "port overflow": ([ONE_F, neg("a:99999999999999999999")], BAD, ""),
    "type of an edge": ([constant("a", 1, tf.int32), neg("a")], BAD,
                        "incompatible with expected float"),
    "too many inputs": ([ONE_F, neg("a", "a")], BAD, ""),
    "no inputs": ([neg()], BAD, ""),
    "kind of attribute": ([ONE_F, node("b", "Neg", ["a"], T=number(4))],
                          BAD, ""),
    "type not allowed": ([constant("a", b"x", tf.string),
                          neg("a", T=tf.string)], BAD,
                         "not in the list of allowed values"),
    "blank in a name": ([node("a b")], BAD, "Illegal op name 'a b'"),
    "empty name": ([node("")], BAD, "Illegal op name ''"),
    "name like a control input": ([node("^a")], BAD, "Illegal op name"),
    "AddN of 2^40": ([ONE_F, node("b", "AddN", ["a"], T=tf.float32,
                                  N=number(2 ** 40))], BAD, ""),
    "AddN of -1": ([ONE_F, node("b", "AddN", ["a"], T=tf.float32,
                                N=number(-1))], BAD, ""),
    "control input first": ([node("c"), ONE_F, neg("^c", "a")], BAD,
                            "All control inputs must follow"),
    "no reference": ([ONE_F, constant("v", 1.0),
                      node("b", "Assign", ["v", "a"], T=tf.float32)], BAD,
                     "incompatible with expected float_ref"),
    "nonsense for a device": ([node("b", device="banana")], BAD,
                              "Malformed device specification 'banana'"),
    "unknown device": ([node("b", device="/job:nope")], BAD,
                       "Cannot assign a device for operation b"),
    "const of type 9999": ([node("a", "Const", dtype=tf.float32,
                                 value=tf.AttrValue(tensor=TensorProto(
                                     dtype=9999)))], BAD, ""),
    "const too short": ([node("a", "Const", dtype=tf.float32,
                              value=tf.AttrValue(tensor=TensorProto(
                                  dtype=1, tensor_content=b"abc")))], BAD, ""),
    "const of 2^80": ([node("a", "Const", dtype=tf.float32,
                            value=shaped([1.0], 2 ** 40, 2 ** 40))], BAD, ""),
    "const of negative size": ([node("a", "Const", dtype=tf.float32,
                                     value=shaped([1.0], -3))], BAD, ""),
    "const of 300 dimensions": ([node("a", "Const", dtype=tf.float32,
                                      value=shaped([1.0], *[1] * 300))],
                                BAD, ""),
    "const of another type": ([node("a", "Const", dtype=tf.int32,
                                    value=shaped([1.0]))], BAD, ""),
    # The number says how many outputs there are, the types how many it fills.
    "more types than features": (
        [constant("s", [b""], tf.string), node(
            "p", "ParseExample", ["s", "s"], Nsparse=number(0),
            Ndense=number(0), sparse_types=listed(type=[1, 1]),
            Tdense=listed(), dense_shapes=listed())],
        BAD, "len(sparse_keys) != len(sparse_types)"),
    "more types than features of a sequence": (
        [constant("s", [b""], tf.string), node(
            "p", "ParseSequenceExample", ["s", "s"],
            feature_list_dense_missing_assumed_empty=listed(),
            context_sparse_keys=listed(s=[b"a", b"b"]),
            context_dense_keys=listed(), feature_list_sparse_keys=listed(),
            feature_list_dense_keys=listed(),
            context_sparse_types=listed(type=[1, 1]))],
        BAD, "num_context_sparse (0) must match the size of"),
    "exit without enter": ([ONE_F, node("b", "Exit", ["a"], T=tf.float32)],
                           BAD, ""),
}
# What real programs send and a strict reading would refuse.
FINE = {
    "colocated with nothing": [constant("a", 1.0,
                                        _class=colocated(b"loc:@zz"))],
    "_class of another kind": [constant("a", 1.0,
                                        _class=tf.AttrValue(s=b"loc:@zz"))],
    "unknown underscore attribute": [constant("a", 1.0, _what=number(3))],
    "forward reference": [neg("a"), ONE_F],
    "defaults left out": [ONE_F, node("b", "MatMul", ["c", "c"],
                                      T=tf.float32), constant("c", [[2.0]])],
}


def outcome(raw, graph, last):
    """Code and text of the error that creating or running ends in."""
    try:
        handle = raw.create(graph)
        try:
            raw.step(handle, target=[last])
            return "OK", ""
        finally:
            raw.master("CloseSession", session_handle=handle)
    except grpc.RpcError as error:
        return error.code().name, error.details()


def check_alive(raw):
    assert outcome(raw, graph_of(constant("a", 1.0)), "a")[0] == "OK"


@test(limit=60, **ONE)
def malformed_graphs_are_refused(cluster):
    raw, wrong = Raw(cluster["worker", 0].address), []
    for name, (nodes, code, text) in GRAPHS.items():
        got = outcome(raw, graph_of(*nodes), nodes[-1].name)
        if got[0] != code or text not in got[1]:
            wrong.append("%s: %s, not %s %r" % (name, got, code, text))
        check_alive(raw)
    assert not wrong, "\n".join(wrong)


@test(**ONE)
def odd_graphs_are_accepted(cluster):
    raw = Raw(cluster["worker", 0].address)
    for name, nodes in FINE.items():
        got = outcome(raw, graph_of(*nodes), nodes[-1].name)
        assert got[0] == "OK", "%s: %s" % (name, got)


@test(**ONE)
def graph_versions_are_checked(cluster):
    raw = Raw(cluster["worker", 0].address)
    for field, value, code in (("producer", 5000000, "OK"),
                               ("producer", 27, "OK"),
                               ("min_consumer", 12, "OK"),
                               ("min_consumer", 5000000, BAD)):
        graph = graph_of(constant("a", 1.0))
        setattr(graph.versions, field, value)
        got = outcome(raw, graph, "a")
        assert got[0] == code, "%s %d: %s" % (field, value, got)


def quickly(raw, name, nodes):
    """Runs the last node; any error will do, soon, from a living server."""
    start = time.monotonic()
    got = outcome(raw, graph_of(*nodes), nodes[-1].name)
    seconds = time.monotonic() - start
    assert got[0] not in ("OK", "UNAVAILABLE", "DEADLINE_EXCEEDED"), (
        "%s: %s" % (name, got))
    assert seconds < HUGE_SECONDS, "%s took %.1f s" % (name, seconds)
    check_alive(raw)


@test(limit=60, tfd_only=True, **ONE)
def tensors_beyond_memory_are_refused_at_once(cluster):
    raw = Raw(cluster["worker", 0].address)
    big = np.int32([1 << 20, 1 << 20, 1 << 10])
    quickly(raw, "Fill", [constant("d", big, tf.int32), ONE_F, node(
        "f", "Fill", ["d", "a"], T=tf.float32, index_type=tf.int32)])
    quickly(raw, "Tile", [
        constant("d", [1 << 30], tf.int32), constant("v", [1.0] * 2048),
        node("t", "Tile", ["v", "d"], T=tf.float32, Tmultiples=tf.int32)])
    quickly(raw, "DynamicStitch", [
        constant("i", [2 ** 31 - 1], tf.int32), constant("v", [1.0]),
        node("s", "DynamicStitch", ["i", "v"], T=tf.float32, N=number(1))])
    quickly(raw, "Const", [node("c", "Const", dtype=tf.float32,
                                value=shaped([1.0], 2 ** 45))])
    quickly(raw, "RandomUniform", [constant("d", big, tf.int32), node(
        "r", "RandomUniform", ["d"], T=tf.int32, dtype=tf.float32)])


def convolved(elements):
    """What gradients by an image of so many take."""
    return dict(input_sizes=[1, side(elements), side(elements), 1],
                filter=tf.zeros([64, 64, 1, 1]), padding="SAME",
                out_backprop=steps(elements, 8), strides=[1, 8, 8, 1])


def read_of_array(count):
    handle, flow = tf.raw_ops.TensorArrayV3(
        size=count, dtype=tf.float32, element_shape=[])
    return tf.raw_ops.TensorArrayGatherV3(
        handle=handle, indices=tf.range(count), flow_in=flow,
        dtype=tf.float32, element_shape=[])


def steps(elements, size):
    each = -(-side(elements) // size)
    return tf.zeros([1, each, each, 1])


# Outputs of 1.2 GB, for each of which a processor would work for 2 to 30 s.
LARGE = 300_000_000
FILLED = {
    "RandomGamma": lambda n: tf.raw_ops.RandomGamma(shape=[n], alpha=1.0),
    "Multinomial": lambda n: tf.raw_ops.Multinomial(
        logits=[[0.0] * 9], num_samples=n // 2),
    "Tile": lambda n: tf.raw_ops.Tile(input=[[1.0]] * 4,
                                      multiples=[1, n // 4]),
    "DynamicStitch of strings": lambda n: tf.raw_ops.DynamicStitch(
        indices=[[n // 8]], data=[[b"x"]]),
    "UniformCandidateSampler": lambda n: tf.raw_ops.UniformCandidateSampler(
        true_classes=[[0]], num_true=1, num_sampled=n // 2, unique=False,
        range_max=2 ** 31 - 1)[0],
    "LogUniformCandidateSampler": lambda n: (
        tf.raw_ops.LogUniformCandidateSampler(
            true_classes=[[0]], num_true=1, num_sampled=n // 2, unique=False,
            range_max=2 ** 31 - 1)[0]),
    "FixedUnigramCandidateSampler": lambda n: (
        tf.raw_ops.FixedUnigramCandidateSampler(
            true_classes=[[0]], num_true=1, num_sampled=n // 2, unique=False,
            range_max=2, unigrams=[1.0, 2.0])[0]),
    "Conv2DBackpropInput": lambda n: tf.raw_ops.Conv2DBackpropInput(
        **convolved(n)),
    "DepthwiseConv2dNativeBackpropInput": lambda n: (
        tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
            **convolved(n))),
    "AvgPoolGrad": lambda n: tf.raw_ops.AvgPoolGrad(
        orig_input_shape=[1, side(n), side(n), 1], grad=steps(n, 8),
        ksize=[1, 64, 64, 1], strides=[1, 8, 8, 1], padding="SAME"),
    "MatMul of integers": lambda n: tf.matmul(
        tf.zeros([side(n), side(n) // 9], tf.int32),
        tf.zeros([side(n) // 9, side(n) // 9], tf.int32)),
    "SparseFillEmptyRows": lambda n: tf.raw_ops.SparseFillEmptyRows(
        indices=np.int64([[0, 0]]), values=[1.0], default_value=0.0,
        dense_shape=np.int64([n // 8, 1]))[0],
    "TensorArrayGatherV3 of what was never written": lambda n: (
        read_of_array(n // 30)),
    "TensorListFromTensor": lambda n: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListFromTensor(
            tensor=tf.zeros([n // 30]), element_shape=np.int32([]))),
    "TensorListScatterV2": lambda n: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListScatterV2(
            tensor=tf.zeros([n // 30]), indices=tf.range(n // 30),
            element_shape=np.int32([]), num_elements=-1)),
    "StringSplitV2": lambda n: tf.raw_ops.StringSplitV2(
        input=tf.fill([n // 400], b"a b c d " * 10), sep=b" ")[0],
    "StringSplit": lambda n: tf.raw_ops.StringSplit(
        input=tf.fill([n // 400], b"a b c d " * 10), delimiter=b" ,")[0],
    "StringNGrams": lambda n: tf.raw_ops.StringNGrams(
        data=tf.fill([n // 30], b"a"), data_splits=np.int64([0, n // 30]),
        separator=b" ", ngram_widths=[1, 2, 3], left_pad=b"", right_pad=b"",
        pad_width=0, preserve_short_sequences=False)[0],
    "DenseBincount": lambda n: tf.raw_ops.DenseBincount(
        input=tf.zeros([n, 1], tf.int32), size=1, weights=tf.zeros([0])),
    "CropAndResize": lambda n: tf.raw_ops.CropAndResize(
        image=tf.zeros([1, 2, 2, 1]), boxes=tf.zeros([n // 10000, 4]),
        box_ind=tf.zeros([n // 10000], tf.int32), crop_size=[100, 100]),
    "UnravelIndex": lambda n: tf.raw_ops.UnravelIndex(
        indices=tf.zeros([n // 8], tf.int64),
        dims=np.int64([2, 2, 2, 2])),
    "ScaleAndTranslate": lambda n: tf.raw_ops.ScaleAndTranslate(
        images=tf.fill([1, 1, n // 10 ** 5, 8192], 1.0), size=[1, n // 10 ** 5],
        scale=[1.0, 1e-4], translation=[0.0, 0.0], kernel_type="lanczos5",
        antialias=True),
    "DataFormatDimMap": lambda n: tf.raw_ops.DataFormatDimMap(
        x=tf.zeros([n], tf.int32)),
}


@test(limit=60, tfd_only=True, **ONE)
def a_kernel_stops_when_its_step_has_ended(cluster):
    for name, make in FILLED.items():
        took = work_after_the_deadline(cluster, lambda: make(LARGE))
        assert took < WORK_SECONDS, "%s worked for %.1f s" % (name, took)


def written_at_the_end(count):
    handle, flow = tf.raw_ops.TensorArrayV3(
        size=2, dtype=tf.float32, dynamic_size=True)
    first = tf.raw_ops.TensorArrayWriteV3(
        handle=handle, index=1, value=1.0, flow_in=flow)
    return tf.raw_ops.TensorArrayWriteV3(
        handle=handle, index=count - 1, value=1.0, flow_in=first)


LISTS = {
    "TensorArrayWriteV3 at the end": written_at_the_end,
    "TensorArrayV3": lambda n: tf.raw_ops.TensorArrayV3(
        size=n, dtype=tf.float32)[1],
    "TensorArrayGradV3": lambda n: tf.raw_ops.TensorArrayGradV3(
        handle=tf.raw_ops.TensorArrayV3(size=n, dtype=tf.float32)[0],
        flow_in=1.0, source="gradients")[1],
    "TensorListReserve": lambda n: tf.raw_ops.TensorListLength(
        input_handle=reserved(n)),
    "TensorListResize": lambda n: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListResize(
            input_handle=reserved(1), size=n)),
}


def reserved(count):
    return tf.raw_ops.TensorListReserve(
        element_shape=np.int32([]), num_elements=count,
        element_dtype=tf.float32)


@test(limit=60, tfd_only=True, **ONE)
def a_list_of_millions_costs_nothing_until_it_is_used(cluster):
    pid = cluster["worker", 0].process.pid
    for name, make in LISTS.items():
        with graph():
            op = make(10_000_000)
            with tf.Session(cluster.target(), config=plain_config()) as s:
                s.run(tf.no_op())
                before = cpu_seconds(pid)
                s.run(op.op)
                took = cpu_seconds(pid) - before
        assert took < 0.3, "%s worked for %.1f s" % (name, took)


def nobody(rows):
    """Points that have no coordinates, and take no memory."""
    return tf.fill(np.int64([rows, 0]), 0.0)


@test(limit=60, tfd_only=True, **ONE)
def sizes_of_what_is_empty_are_checked(cluster):
    wraps = -(-2 ** 64 // 21)  # 21 bytes for each point
    with graph(), tf.Session(cluster.target(), config=plain_config()) as s:
        for found in (
                tf.raw_ops.KmeansPlusPlusInitialization(
                    points=nobody(wraps), num_to_sample=1, seed=1,
                    num_retries_per_sample=0),
                tf.raw_ops.NearestNeighbors(
                    points=nobody(2), centers=nobody(2 ** 63 - 1), k=1)[0]):
            with expect(tf.errors.ResourceExhaustedError):
                s.run(found.op)
        assert s.run(tf.constant(3)) == 3


@test(limit=60, tfd_only=True, **ONE)
def a_lock_is_let_go_by_a_table(cluster):
    """The last reference to it is a table's value that another replaces."""
    raw = tf.raw_ops
    with graph(), tf.Session(cluster.target(), config=plain_config()) as s:
        mutex = raw.MutexV2(shared_name="m")
        tables = [
            raw.MutableDenseHashTableV2(
                empty_key=tf.constant(-1, tf.int64),
                deleted_key=tf.constant(-2, tf.int64), value_dtype=tf.variant,
                shared_name="dense"),
            raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.variant,
                                   shared_name="other")]
        other = raw.TensorListReserve(element_shape=-1, num_elements=1,
                                      element_dtype=tf.float32)
        lock = raw.MutexLock(mutex=mutex)
        for table in tables:
            for value in lock, other, lock, other:
                s.run(raw.LookupTableInsertV2(
                    table_handle=table, keys=tf.constant([5], tf.int64),
                    values=tf.reshape(value, [1])))
        s.run(lock.op, options=tf.RunOptions(timeout_in_ms=20000))


@test(limit=60, tfd_only=True, **ONE)
def lists_within_lists_are_counted(cluster):
    raw = tf.raw_ops
    with graph(), tf.Session(cluster.target(), config=plain_config()) as s:
        empty = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1,
                                    element_dtype=tf.variant)
        twice = empty
        for _ in range(26):
            held = empty
            for _ in range(2):
                held = raw.TensorListPushBack(input_handle=held, tensor=twice)
            twice = held
        with expect(tf.errors.ResourceExhaustedError, "Variants within"):
            s.run(raw.ZerosLike(x=twice).op)
        assert s.run(tf.constant(3)) == 3


def chain(length):
    nodes = [constant("n0", 1.0)]
    for i in range(length):
        nodes.append(node("n%d" % (i + 1), "Identity", ["n%d" % i],
                          T=tf.float32))
    return nodes


@test(limit=120, tfd_only=True, **ONE)
def a_chain_of_100000_nodes_runs(cluster):
    """It kills TensorFlow's server: recursion over the graph."""
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(graph_of(*chain(100000)), timeout=60)
    reply = raw.step(handle, fetch=["n100000:0"], timeout=60)
    assert tf.make_ndarray(reply.tensor[0].tensor) == 1.0


@test(limit=60, tfd_only=True, **ONE)
def a_function_that_calls_itself_is_refused(cluster):
    """Under 1 kB that kill TensorFlow's server."""
    graph = graph_of(constant("a", 1.0))
    f = graph.library.function.add()
    f.signature.name = "f"
    for args, name in ((f.signature.input_arg, "x"),
                       (f.signature.output_arg, "y")):
        args.add(name=name, type=1)
    call = node("c", "PartitionedCall", ["x"])
    for attrs in (call.attr, graph.node.add(
            name="c", op="PartitionedCall", input=["a"]).attr):
        attrs["Tin"].list.type.append(1)
        attrs["Tout"].list.type.append(1)
        attrs["f"].func.name = "f"
    f.node_def.append(call)
    f.ret["y"] = "c:output:0"
    raw = Raw(cluster["worker", 0].address)
    got = outcome(raw, graph, "c")
    assert got[0] not in ("OK", "UNAVAILABLE", "DEADLINE_EXCEEDED"), got
    check_alive(raw)


@test(limit=60, tfd_only=True, **ONE)
def deeply_nested_messages_are_refused(cluster):
    """attr -> list -> func -> attr ..., 10,000 deep, as raw bytes."""
    def field(number, body):
        size, text = len(body), bytes([number << 3 | 2])
        while size >= 128:
            text, size = text + bytes([size & 127 | 128]), size >> 7
        return text + bytes([size]) + body

    value = b""
    for _ in range(10000):  # AttrValue.func.attr entry "k" -> AttrValue
        value = field(10, field(2, field(1, b"k") + field(2, value)))
    bad = field(1, field(1, b"a") + field(2, b"NoOp") + field(
        5, field(1, b"k") + field(2, value)))
    raw = Raw(cluster["worker", 0].address)
    try:
        raw.bytes("/tensorflow.MasterService/CreateSession", field(1, bad))
        raise AssertionError("accepted")
    except grpc.RpcError as error:
        assert error.code().name in ("INTERNAL", "INVALID_ARGUMENT",
                                     "RESOURCE_EXHAUSTED"), error
    check_alive(raw)


def abandon(task, count, call):
    """This many calls, over connections that then break."""
    for at in range(0, count, 250):
        raw = Raw(task.address)
        for i in range(at, min(at + 250, count)):
            call(raw, i)
        before = metric(task, "tfd_connections")
        raw.channel.close()
        wait_until(lambda: metric(task, "tfd_connections") < before, 10,
                   "the connection is closed")


@test(limit=60, tfd_only=True)
def sessions_that_broken_connections_left_keep_nobody_out(server):
    """What a trainer that crashes again and again leaves; the limit of one
    peer is 1,000."""
    with Cluster(server, ps=1, worker=1) as cluster:
        task = cluster["worker", 0]
        abandon(task, 1100, lambda raw, i: raw.create(graph_of()))
        for _ in range(3):
            with graph():
                assert run(cluster.target(), tf.constant(1.0) + 1) == 2.0
        evictions = [line for line in task.log_text().splitlines()
                     if " sessions_evicted " in line]
        assert 1 <= len(evictions) <= 3, evictions
        assert "count=64 " in evictions[0], evictions


@test(limit=60, tfd_only=True)
def forged_worker_sessions_end_with_their_connection(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        ps = cluster["ps", 0]
        abandon(ps, 2100, lambda raw, i: raw.worker(
            "CreateWorkerSession", session_handle="forged%d" % i))
        with graph():
            with tf.device("/job:ps/task:0"):
                value = tf.constant(1.0) + 1
            assert run(cluster.target(), value) == 2.0
        assert " worker_sessions_evicted " in ps.log_text()


@test(limit=60, tfd_only=True)
def one_peer_has_so_many_sessions_open(server):
    """Who stays connected is told; who goes makes room."""
    with Cluster(server, worker=1) as cluster:
        raw = Raw(cluster["worker", 0].address)
        for _ in range(1000):
            raw.create(graph_of())
        try:
            raw.create(graph_of())
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
            assert "at most 1000 of one peer may be" in error.details(), error
        else:
            raise AssertionError("1001 sessions")
        raw.channel.close()

        def opens():
            with graph():
                try:
                    return run(cluster.target(), tf.constant(1.0) + 1) == 2.0
                except tf.errors.ResourceExhaustedError:
                    return False

        wait_until(opens, 10, "a session once the peer has gone")


@test(worker=1, tfd_only=True, limit=60)
def strings_made_of_strings_have_a_bound(cluster):
    """Each is a copy, and none is counted by a tensor's size."""
    raw, large = tf.raw_ops, tf.placeholder(tf.string, [1])
    many = [raw.Substr(input=large, pos=np.zeros([200, 1], np.int32),
                       len=np.full([200, 1], 2 ** 30, np.int32)),
            raw.StringNGrams(
                data=large, data_splits=np.int64([0, 1]), separator="",
                ngram_widths=[1] * 200, left_pad="", right_pad="", pad_width=0,
                preserve_short_sequences=False).ngrams]
    with tf.Session(cluster.target()) as session:
        for strings in many:
            with expect(tf.errors.ResourceExhaustedError,
                        "of more than 2147483648 bytes together"):
                session.run(raw.Size(input=strings), {large: [b"x" * (16 << 20)]})
