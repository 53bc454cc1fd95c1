"""RunMetadata: what a client learns of a step that it asked to be traced."""
import json

from tests.cluster.client import (expect, failing_op, graph, np, plain_config,
                                  tf)
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
FULL = dict(trace_level=tf.RunOptions.FULL_TRACE)
DEVICE = "/job:%s/replica:0/task:%d/device:CPU:0"
DEVICES = [DEVICE % t for t in (("ps", 0), ("worker", 0), ("worker", 1))]


def network():
    """A variable on the ps, a product on worker 1; (variable, x, product)."""
    with tf.device("/job:ps"):
        v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="v")
    x = tf.placeholder(tf.float32, [4], name="x")
    with tf.device("/job:worker/task:1"):
        total = tf.add(v, x, name="total")
        product = tf.matmul(tf.reshape(total, [1, 4]),
                            tf.reshape(x, [4, 1]), name="product")
    return v, x, product


def traced(session, fetches, feeds=None, **options):
    metadata = tf.RunMetadata()
    value = session.run(fetches, feeds, options=tf.RunOptions(**options),
                        run_metadata=metadata)
    return value, metadata


def nodes_by_device(metadata):
    """device -> name -> NodeExecStats."""
    found = {}
    for device in metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            found.setdefault(device.device, {})[stats.node_name] = stats
    return found


@test(**PAIR)
def every_device_says_which_nodes_ran_and_when(cluster):
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        v, x, product = network()
        session.run(v.initializer)
        value, metadata = traced(session, product, {x: np.ones(4)}, **FULL)
        assert value == [[14.0]]
        found = nodes_by_device(metadata)
        assert sorted(found) == sorted(DEVICES), list(found)
        assert "v" in found[DEVICES[0]], found[DEVICES[0]].keys()
        assert {"total", "product"} <= found[DEVICES[2]].keys()
        stats = found[DEVICES[2]]["product"]
        assert stats.timeline_label.startswith("product = MatMul(Reshape, ")
        assert stats.all_start_micros * 1000 <= stats.all_start_nanos
        assert abs(stats.all_start_nanos / 1e9 - __import__("time").time()) < 60
        assert stats.all_end_rel_micros >= stats.op_end_rel_micros >= 0
        description = stats.output[0].tensor_description
        assert description.dtype == tf.float32.as_datatype_enum
        assert [d.size for d in description.shape.dim] == [1, 1]
        assert description.allocation_description.requested_bytes == 4
        order = [found[DEVICES[2]][n].all_start_nanos
                 for n in ("total", "product")]
        assert order == sorted(order)


@test(**PAIR)
def nodes_that_run_as_one_are_traced_one_by_one(cluster):
    """An untraced step computes them in one pass; with the same result."""
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        erf = tf.math.erf(tf.multiply(x, 0.7071, name="scaled"), name="erf")
        y = tf.multiply(tf.add(erf, 1.0, name="shifted"), x, name="gelu")
        feeds = {x: np.linspace(-3, 3, 5000, dtype=np.float32)}
        value, metadata = traced(session, y, feeds, **FULL)
        nodes = nodes_by_device(metadata)[DEVICES[1]]
        for name, label in (("scaled", "Mul("), ("erf", "Erf(scaled)"),
                            ("shifted", "Add"), ("gelu", "Mul(shifted, ")):
            assert "%s = %s" % (name, label) in nodes[name].timeline_label, nodes[name]
            assert nodes[name].output[0].tensor_description.dtype == y.dtype
        order = [nodes[n].all_start_nanos
                 for n in ("scaled", "erf", "shifted", "gelu")]
        assert order == sorted(order), order
        assert session.run(y, feeds).tobytes() == value.tobytes()


@test(**PAIR)
def constants_and_what_passes_on_are_nodes(cluster):
    """They cost nothing here, but tools look for them by name."""
    tf.disable_control_flow_v2()
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        a = tf.constant([1.0, 2.0], name="a")
        b = tf.identity(a, name="b")
        with tf.control_dependencies([b]):
            c = tf.add(b, tf.constant(3.0, name="three"), name="c")
        nothing = tf.no_op(name="nothing")
        _, metadata = traced(session, [c, nothing], **FULL)
        found = nodes_by_device(metadata)[DEVICES[1]]
        assert {"a", "b", "c", "three", "nothing"} <= found.keys(), found
        output = found["a"].output[0].tensor_description
        assert [d.size for d in output.shape.dim] == [2]
        assert output.dtype == tf.float32.as_datatype_enum
        assert found["a"].timeline_label == "a = Const()"
        x = tf.placeholder_with_default(False, [])
        y = tf.cond(x, lambda: tf.constant(1.0, name="yes"),
                    lambda: tf.constant(2.0, name="no"))
        w = tf.while_loop(lambda i: i < 3, lambda i: tf.add(
            i, tf.constant(1, name="step")), [tf.constant(0, name="start")])
        _, metadata = traced(session, [y, w], **FULL)
        names = [n.node_name for d in metadata.step_stats.dev_stats
                 for n in d.node_stats]
        times = {n: names.count(n) for n in (
            "cond/yes", "cond/no", "while/step", "start")}
        assert times == {"cond/yes": 0, "cond/no": 1, "while/step": 3,
                         "start": 1}, times


@test(**PAIR)
def values_from_other_tasks_are_nodes_of_the_receiver(cluster):
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        v, x, product = network()
        session.run(v.initializer)
        _, metadata = traced(session, product, {x: np.ones(4)}, **FULL)
        labels = [n.timeline_label for d in metadata.step_stats.dev_stats
                  for n in d.node_stats if n.node_name == "RecvTensor"]
        assert len(labels) == 3, labels
        for size, source, destination in (
                (16, DEVICES[0], DEVICES[2]), (16, DEVICES[1], DEVICES[2]),
                (4, DEVICES[2], DEVICES[1])):
            assert [t for t in labels if t.startswith("[%dB] [" % size)
                    and t.endswith(" from %s to %s" % (source, destination))
                    ], (size, source, destination, labels)


@test(**PAIR)
def timeline_reads_what_is_traced(cluster):
    from tensorflow.python.client import timeline
    with graph(), tf.Session(cluster.target()) as session:
        v, x, product = network()
        session.run(v.initializer)
        _, metadata = traced(session, product, {x: np.ones(4)}, **FULL)
        text = timeline.Timeline(
            metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    events = json.loads(text)["traceEvents"]
    boxes = [e for e in events if e["ph"] == "X"]
    assert {"MatMul", "RecvTensor"} <= {e["name"] for e in boxes}
    for box in boxes:
        assert box["dur"] >= 0 and box["ts"] > 0
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    for device in DEVICES:
        assert [n for n in names if device in n], (device, names)
    arguments = [e["args"] for e in boxes if e["name"] == "MatMul"]
    assert arguments[0]["input0"] == "Reshape", arguments


@test(**PAIR)
def loops_are_traced_each_time_round(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        tf.disable_control_flow_v2()
        with tf.device("/job:ps"):
            p = tf.placeholder_with_default(0, [])
            loop = tf.while_loop(lambda i: i < 7,
                                 lambda i: tf.add(i, 1, name="plus"), [p])
        value, metadata = traced(session, loop, **FULL)
        assert value == 7
        names = [n.node_name for d in metadata.step_stats.dev_stats
                 if d.device == DEVICES[0] for n in d.node_stats]
        assert names.count("while/plus") == 7, names


@test(**PAIR)
def only_full_trace_traces(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        v, x, product = network()
        session.run(v.initializer)
        for level in (tf.RunOptions.NO_TRACE, tf.RunOptions.SOFTWARE_TRACE,
                      tf.RunOptions.HARDWARE_TRACE, 9):
            value, metadata = traced(session, product, {x: np.ones(4)},
                                     trace_level=level)
            assert value == [[14.0]]
            assert not metadata.step_stats.dev_stats
            assert not metadata.partition_graphs
        for _ in range(3):  # and a step after a traced one is not
            traced(session, product, {x: np.ones(4)}, **FULL)
            metadata = tf.RunMetadata()
            session.run(product, {x: np.ones(4)}, run_metadata=metadata)
            assert not metadata.step_stats.dev_stats


@test(**PAIR)
def partition_graphs_are_what_the_workers_run(cluster):
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        v, x, product = network()
        session.run(v.initializer)
        _, metadata = traced(session, product, {x: np.ones(4)},
                             output_partition_graphs=True)
        assert not metadata.step_stats.dev_stats
        parts = {}
        for part in metadata.partition_graphs:
            devices = {n.device for n in part.node}
            assert len(devices) == 1, devices
            parts[devices.pop()] = {n.name: n.op for n in part.node}
            assert part.versions.producer == tf.version.GRAPH_DEF_VERSION
        assert sorted(parts) == sorted(DEVICES)
        assert parts[DEVICES[0]]["v"] == "VarHandleOp"
        assert parts[DEVICES[2]]["product"] == "MatMul"
        for device, count in zip(DEVICES, ((1, 0), (2, 2), (1, 2))):
            ops = list(parts[device].values())
            assert (ops.count("_Send"), ops.count("_Recv")) == count, ops


@test(**PAIR)
def a_failed_step_leaves_no_metadata(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        with tf.device("/job:ps"):
            op = failing_op()
        metadata = tf.RunMetadata()
        with expect(tf.errors.NotFoundError):
            session.run(op, options=tf.RunOptions(
                output_partition_graphs=True, **FULL), run_metadata=metadata)
        assert not metadata.step_stats.dev_stats
        assert not metadata.partition_graphs
