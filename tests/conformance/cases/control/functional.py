"""Cases of kernels/control/functional.c."""
import itertools

import numpy as np

from tensorflow.python.framework import function

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import spread
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import scenario


@scenario("If StatelessIf While StatelessWhile Case StatelessCase "
          "PartitionedCall StatefulPartitionedCall _SwitchN FakeParam "
          "SymbolicGradient")
@fresh_graph
def functional_control_flow(side):
    """As the client lowers them; tests/cluster/graphs/test_functions.py has more."""
    tf.enable_control_flow_v2()
    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])

    @tf.function
    def f(a):
        return a * a + 1.0, a - 1.0

    loop = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, f(y)[0] * x),
                         [0, x])
    cond = tf.cond(x > 1.0, lambda: f(x), lambda: (x, x * 3.0))
    case = tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: f(x)[1]])
    fetches = {"loop": loop, "cond": cond, "case": case, "call": f(x)}
    for name in ("loop", "cond", "case"):
        last = tf.nest.flatten(fetches[name])[-1]
        fetches["d " + name] = tf.gradients(last, x)
    tf.disable_control_flow_v2()
    out = {}
    with side.session() as session:
        for a, b in itertools.product((0.5, 2.0), (0, 1, 3)):
            for name, fetch in fetches.items():
                spread(out, "%s %s %s" % (name, a, b),
                       attempt(session, fetch, {x: a, n: b}))
    return out


@scenario("While DecodeRaw GatherNd OptionalGetValue")
@fresh_graph
def what_tests_of_tensorflow_match_on(side):
    """Texts of mistakes that no row of the table makes."""
    raw = tf.raw_ops

    @function.Defun(tf.int32)
    def two(x):
        return x < 3, x < 3

    @function.Defun(tf.int32)
    def more(x):
        return x + 1

    def strings(*values):
        return hidden(np.array(values, object))

    def value(dtype, *shape):
        return raw.OptionalGetValue(
            optional=hidden(raw.OptionalFromValue(
                components=[hidden(np.ones([2, 3], np.float32))])),
            output_types=[dtype], output_shapes=[tf.TensorShape(shape)])[0]

    with side.session() as session:
        return {
            "component's shape": told(session, value(tf.float32, 2, None)),
            "component's rank": told(session, value(tf.float32, 3)),
            "component's size": told(session, value(tf.float32, None, 4)),
            "component's type": told(session, value(tf.int32, 2, 3)),
            "cond of two": told(session, raw.While(
                input=[hidden(0)], cond=two, body=more)[0]),
            "longer": told(session, raw.DecodeRaw(
                bytes=strings(b"ab", b"abcd"), out_type=tf.uint8)),
            "shorter": told(session, raw.DecodeRaw(
                bytes=strings(b"abcd", b"ab", b"a"), out_type=tf.uint8)),
            "no multiple": told(session, raw.DecodeRaw(
                bytes=strings(b"abc"), out_type=tf.int32)),
            "components": told(session, raw.OptionalGetValue(
                optional=hidden(raw.OptionalFromValue(components=[1, 2])),
                output_types=[tf.int32], output_shapes=[None])[0])}


@scenario("RemoteCall")
@fresh_graph
def remote_calls(side):
    """Of a function on the device itself."""
    @function.Defun(tf.float32, tf.float32, func_name="remotely")
    def remotely(a, b):
        return a * b, tf.add(a, 1.0)

    @function.Defun(tf.float32, tf.float32, func_name="remotely_failing")
    def failing(a, b):
        with tf.control_dependencies([tf.debugging.Assert(
                tf.less(a, b), ["not less", a, b])]):
            return tf.identity(a), tf.identity(b)

    job = "worker" if side.target else "localhost"
    own = hidden("/job:%s/replica:0/task:0/device:CPU:0" % job)
    two, three = hidden(2.0), hidden(3.0)
    out = {}
    with side.session() as session:
        for name, inputs, f in (("good", [two, three], remotely),
                                ("fine", [two, three], failing),
                                ("bad", [three, two], failing)):
            value = told(session, tf.raw_ops.RemoteCall(
                target=own, args=inputs, Tout=[tf.float32] * 2, f=f))
            spread(out, name, "failed" if isinstance(value, str)
                   and "not less" in value else value)
    return out


@scenario("ToBool")
@fresh_graph
def truth_of_values(side):
    raw, out = tf.raw_ops, {}
    with side.session() as session:
        for name in ("float32", "float64", "int32", "int64", "uint8", "bool"):
            for value in (0, 1, [0], [], [[0, 0]]):
                out["%s %s" % (name, value)] = session.run(
                    raw.ToBool(input=np.array(value, name)))
        out["minus zero"] = session.run(raw.ToBool(input=np.float32(-0.0)))
        for value in (b"", b"0", [b""], []):
            out["string %s" % value] = session.run(
                raw.ToBool(input=tf.constant(value, tf.string)))
    return out


@scenario("_If _While")
@fresh_graph
def old_functional_control_flow(side):
    """Ops that no client makes, but whose graphs there are."""
    graph = tf.get_default_graph()

    @function.Defun(tf.int32)
    def small(x):
        return x < 10

    @function.Defun(tf.int32)
    def twice(x):
        return x * 2

    @function.Defun(tf.int32)
    def less(x):
        return x - 1

    for made in (small, twice, less):
        made.add_to_graph(graph)

    def attr(**fields):
        value = tf.AttrValue()
        for key, given in fields.items():
            if key == "func":
                value.func.name = given.name
            elif key == "list":
                value.list.type.append(given.as_datatype_enum)
            else:
                setattr(value, key, given.as_datatype_enum)
        return value

    one = attr(list=tf.int32)
    out = {}
    with side.session() as session:
        for truth in (True, False):
            y = graph.create_op("_If", [tf.constant(truth), tf.constant(3)],
                                [tf.int32], attrs={
                                    "Tcond": attr(type=tf.bool), "Tin": one,
                                    "Tout": one, "then_branch": attr(func=twice),
                                    "else_branch": attr(func=less)})
            out["if %s" % truth] = session.run(y.outputs[0])
        y = graph.create_op("_While", [tf.constant(3)], [tf.int32], attrs={
            "T": one, "cond": attr(func=small), "body": attr(func=twice)})
        out["while"] = session.run(y.outputs[0])
    return out
