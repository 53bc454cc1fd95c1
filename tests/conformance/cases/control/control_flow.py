"""Cases of kernels/control/control_flow.c."""
from tests.cluster.client import tf
from tests.conformance.inputs import types_of
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
from tests.conformance.table import scenario

SWITCHED = [tf.as_dtype(name) for name in types_of("Switch")]


@scenario("Switch Merge RefSwitch RefMerge")
@fresh_graph
def switch_and_merge_of_every_type(side):
    out = {}
    pred = tf.placeholder(tf.bool, [])
    with side.session() as session:
        for dtype in SWITCHED:
            p = tf.placeholder(dtype, None)
            off, on = tf.raw_ops.Switch(data=p, pred=pred)
            merged = tf.raw_ops.Merge(inputs=[
                tf.raw_ops.Identity(input=off),
                tf.raw_ops.Pack(values=[on, on])])
            for value in (False, True):
                out["%s %s" % (dtype.name, value)] = attempt(
                    session, merged, {p: sample(dtype), pred: value})[0]
        both = attempt(session, merged.value_index, {p: sample(dtype),
                                                     pred: True})
        out["index"] = both
        out["vector pred"] = attempt(session, tf.raw_ops.Switch(
            data=1.0, pred=hidden([True])).output_true)
        out.update(_dead_paths(session, pred))
        out.update(_ref_switch(session, pred))
    return out


def _dead_paths(session, pred):
    """A dead control input kills; a merge of two dead inputs is dead."""
    off, on = tf.raw_ops.Switch(data=tf.constant(3.0), pred=pred)
    # Not on the Switch itself: the node is alive, one output is dead.
    with tf.control_dependencies([tf.raw_ops.Identity(input=on)]):
        guarded = tf.constant(5.0)
    negative = tf.raw_ops.Neg(x=on)
    inner = tf.raw_ops.Merge(inputs=[negative, negative]).output
    fetches = {"control": tf.raw_ops.Merge(inputs=[guarded, off]).output,
               "merge": tf.raw_ops.Merge(inputs=[inner, off]).output}
    return {"%s %s" % (name, value): attempt(session, tensor, {pred: value})
            for name, tensor in fetches.items() for value in (False, True)}


def _ref_switch(session, pred):
    v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    off, on = tf.raw_ops.RefSwitch(data=v, pred=pred)
    merged = tf.raw_ops.RefMerge(inputs=[off, on])
    session.run(tf.raw_ops.Assign(ref=v, value=[1.0, 2.0]).op)
    return {"ref %s" % value: session.run(merged.output, {pred: value})
            for value in (False, True)}


@scenario("Enter Exit NextIteration LoopCond Merge Switch")
@fresh_graph
def while_loops(side):
    """v1 loops: invariants, several variables, nested, zero iterations."""
    tf.disable_control_flow_v2()
    n = tf.placeholder(tf.int32, [])
    scale = tf.placeholder(tf.float32, [2])
    count = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
    power = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * scale),
                          [0, tf.ones([2])], parallel_iterations=1)[1]
    grid = tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, tf.while_loop(
            lambda j, t: j <= i, lambda j, t: (j + 1, t + i * j), [0, s])[1]),
        [0, 0])[1]
    strings = tf.while_loop(lambda i, s: i < n, lambda i, s: (
        i + 1, tf.strings.join([s, "x"])), [0, "a"])[1]
    branch = tf.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, tf.cond(
            tf.equal(i % 2, 0), lambda: s + i, lambda: s * 2)), [0, 1])[1]
    fetches = [count, power, grid, strings, branch]
    out = {}
    with side.session() as session:
        for value in (0, 1, 7, 200):
            feeds = {n: value, scale: [0.99, -1]}
            for i, got in enumerate(session.run(fetches, feeds)):
                out["%d %d" % (value, i)] = got
        out["parallel"] = session.run(
            tf.while_loop(lambda i: i < n, lambda i: i + 1, [0],
                          parallel_iterations=32), {n: 1000})
    return out


@scenario("RefEnter RefExit RefNextIteration")
@fresh_graph
def a_ref_variable_goes_through_a_loop(side):
    tf.disable_control_flow_v2()
    v = tf.Variable(1.0, use_resource=False)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)
    with side.session() as session:
        session.run(v.initializer)
        return {"count": session.run(loop), "variable": session.run(v)}


@scenario("Switch Identity Enter Exit VarHandleOp ReadVariableOp")
@fresh_graph
def a_resource_goes_through_control_flow(side):
    tf.disable_control_flow_v2()
    v = tf.Variable(2.0, use_resource=True)
    pred = tf.placeholder(tf.bool, [])
    value = tf.cond(pred, lambda: v.read_value() + 1, lambda: v * 10)
    loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + v),
                         [0, 0.0])
    with side.session() as session:
        session.run(v.initializer)
        return {"true": session.run(value, {pred: True}),
                "false": session.run(value, {pred: False}),
                "loop": session.run(loop[1])}
