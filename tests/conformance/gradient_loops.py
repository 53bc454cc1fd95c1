"""More cases for gradients.py: conditionals and loops of Switch and Merge, and
loops of functions, which Python's while_loop makes where control flow is new."""
import contextlib
import dataclasses

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

raw = tf.raw_ops


@contextlib.contextmanager
def old_control_flow():
    """Switch and Merge, and arrays that are no lists."""
    v2 = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        yield
    finally:
        if v2:
            tf.enable_control_flow_v2()


@contextlib.contextmanager
def new_control_flow():
    v2 = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        yield
    finally:
        if not v2:
            tf.disable_control_flow_v2()


def loop(steps, body, *values, **more):
    """values after so many steps; body is given their number, too."""
    return tf.while_loop(
        lambda i, *v: i < steps,
        lambda i, *v: (i + 1,) + tuple(body(i, *v)), (0,) + values, **more)[1:]


@dataclasses.dataclass
class By:
    """What a case gives that is derived by variables, too."""

    y: list
    handles: list


def scalar(x):
    return tf.reshape(x, [])


def conditionals(control):
    """x of a case lies between 0.3 and 1.7."""
    for name, limit in (("taken", 0.0), ("not taken", 9.0)):
        control("cond, " + name, lambda x, n=limit: tf.cond(
            scalar(x) > n, lambda: x * x, lambda: -3.0 * x), ())
        control("cond of one, " + name, lambda x, y, n=limit: tf.cond(
            scalar(x) > n, lambda: x * y, lambda: tf.sin(x)), (), ())
        control("cond of a constant, " + name, lambda x, n=limit: tf.cond(
            scalar(x) > n, lambda: x * x, lambda: 2.0 * tf.ones_like(x)), ())
        for inner in (0.0, 9.0):
            control("cond in cond, %s, %g" % (name, inner),
                    lambda x, y, n=limit, m=inner: tf.cond(
                        scalar(x) > n, lambda: tf.cond(
                            scalar(y) > m, lambda: x * y, lambda: x - y),
                        lambda: x * 2.0), (), ())
        control("loop in cond, " + name, lambda x, n=limit: tf.cond(
            scalar(x) > n, lambda: loop(3, lambda i, a: [a * a], x)[0],
            lambda: x), ())


def loops(control):
    control("linear loop", lambda x: loop(5, lambda i, a: [a * 3.0], x), (2,))
    control("loop of squares", lambda x: loop(3, lambda i, a: [a * a], x),
            (2, 3))
    control("loop of no steps", lambda x: loop(0, lambda i, a: [a * a], x),
            ())
    control("loop of many steps", lambda x: loop(
        60, lambda i, a: [tf.sin(a) + a * 0.5], x), (3,))
    control("loop by the number", lambda x: loop(
        4, lambda i, a: [a * (tf.cast(i, a.dtype) + a)], x), ())
    control("loop of two", lambda x, y: loop(
        4, lambda i, a, b: [a * b, a + b * 0.5], x, y), (2,), (2,))
    control("invariant", lambda x, y: loop(
        4, lambda i, a: [tf.sin(a * y) + y], x), (2, 3), (3,))
    control("matrices", lambda x, y: loop(4, lambda i, a: [tf.reshape(
        tf.tanh(raw.MatMul(a=a, b=y)), [2, 3])], tf.reshape(x, [2, 3])),
        (2, 3), (3, 3))
    control("growing", lambda x: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a * 2.0], 0)),
        (0, tf.reshape(x, [2])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1],
        (2,))
    control("stopped", lambda x: loop(
        3, lambda i, a, b: [a * b, tf.stop_gradient(a + b)], x, x), ())
    control("loop after loop", lambda x: loop(
        2, lambda i, a: [tf.sin(a) * a],
        loop(3, lambda i, a: [a * a * 1.1], x)[0])[0] * x, ())
    control("condition by value", lambda x: tf.while_loop(
        lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * a + 1.0, [x]), ())
    control("one iteration at a time", lambda x: tf.while_loop(
        lambda i, a: i < 5, lambda i, a: (i + 1, tf.sin(a) * a), (0, x),
        parallel_iterations=1)[1], (2,))


def plain(add):
    add("linear", lambda x: loop(5, lambda i, a: [a * 3.0], x), (2,))
    add("of squares", lambda x: loop(3, lambda i, a: [a * a], x), (2, 3))
    add("of a scalar", lambda x: loop(3, lambda i, a: [tf.sin(a) * a], x), ())
    add("of no steps", lambda x: loop(0, lambda i, a: [a * a], x), ())
    add("of no steps by what is captured", lambda x, y: loop(
        0, lambda i, a: [a * y], x), (2,), (2,))
    add("of many steps", lambda x: loop(
        60, lambda i, a: [tf.sin(a) + a * 0.5], x), (3,))
    add("of three steps at most", lambda x: loop(
        5, lambda i, a: [a * a * 0.9], x, maximum_iterations=3), (2,))
    add("one iteration at a time", lambda x: loop(
        5, lambda i, a: [tf.sin(a) * a], x, parallel_iterations=1), (2,))
    add("by the number", lambda x: loop(
        4, lambda i, a: [a * (tf.cast(i, a.dtype) + a) * 0.25], x), ())
    add("by its value", lambda x: tf.while_loop(
        lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * a + 1.0, [x]), ())
    add("of two", lambda x, y: loop(
        4, lambda i, a, b: [a * b, a + b * 0.5], x, y), (2,), (2,))
    add("that swaps", lambda x, y: loop(
        3, lambda i, a, b: [b, a * 1.5], x, y), (2,), (2,))
    add("of which one is read", lambda x: loop(
        3, lambda i, a, b: [a * a, b * b + a], x, x)[0], (2,))
    add("that forgets", lambda x: loop(
        3, lambda i, a: [tf.ones_like(a) * 2.0], x)[0] * x, (2,))
    add("with what stops", lambda x: loop(
        3, lambda i, a, b: [a * b, tf.stop_gradient(a + b)], x, x), ())
    add("with what is captured", lambda x, y: loop(
        4, lambda i, a: [tf.sin(a * y) + y], x), (2, 3), (3,))
    add("of matrices", lambda x, y: loop(4, lambda i, a: [tf.reshape(
        tf.tanh(raw.MatMul(a=a, b=y)), [2, 3])], tf.reshape(x, [2, 3])),
        (2, 3), (3, 3))
    add("that grows", lambda x: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a * 2.0], 0)),
        (0, tf.reshape(x, [2])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1],
        (2,))
    add("after a loop", lambda x: loop(
        2, lambda i, a: [tf.sin(a) * a],
        loop(3, lambda i, a: [a * a * 0.9], x)[0])[0] * x, ())
    add("of complex numbers", lambda x: tf.abs(loop(
        3, lambda i, a: [a * a + tf.complex(x, x)],
        tf.complex(x, x * 0.5))[0]), (2,))


def within(add):
    add("in a loop", lambda x, y: loop(3, lambda i, a: [loop(
        2, lambda j, b: [tf.sin(b * y) + a * 0.5], a)[0]], x), (2,), (2,))
    add("in a loop in a loop", lambda x: loop(2, lambda i, a: loop(
        2, lambda j, b: loop(2, lambda k, c: [tf.sin(c) * a], b), a), x), (2,))
    add("that has a conditional", lambda x, y: loop(4, lambda i, a: [tf.cond(
        i < 2, lambda: a * y, lambda: tf.sin(a))], x), (2,), (2,))
    for limit in (0.0, 9.0):
        add("in a conditional, %g" % limit, lambda x, n=limit: tf.cond(
            scalar(x) > n, lambda: loop(3, lambda i, a: [a * a], x)[0],
            lambda: x), ())

    def called(x):
        @tf2.function
        def cube(a):
            return loop(3, lambda i, b: [b * b * a], a)[0]
        return cube(x)
    add("in a call", called, (2,))


def rows(add):
    def made():
        return tf.TensorArray(tf.float64, size=4, infer_shape=False)

    def scan(x):
        def body(i, state, out):
            state = tf.tanh(state * 1.5 + tf.reshape(read.read(i), [3]))
            return i + 1, state, out.write(i, state)
        read = made().unstack(x)
        return tf.while_loop(lambda i, *_: i < 4, body, (
            0, tf.zeros([3], tf.float64), made()))[2].stack() ** 2
    add("with lists", scan, (4, 3))
    add("of map_fn", lambda x: tf.map_fn(lambda r: tf.sin(r) * r, x), (4, 3))
    add("of scan", lambda x: tf.scan(lambda a, r: tf.sin(a) * r, x), (4, 3))

    def pushed(x):
        def body(i, a, found):
            a = a * x
            return i + 1, a, raw.TensorListPushBack(input_handle=found, tensor=a)
        found = raw.EmptyTensorList(
            element_shape=np.array([2], np.int32), max_num_elements=-1,
            element_dtype=tf.float64)
        return raw.TensorListStack(
            input_handle=tf.while_loop(lambda i, *_: i < 3, body, (
                0, tf.ones([2], tf.float64), found))[2],
            element_shape=np.array([2], np.int32), element_dtype=tf.float64)
    add("that pushes", pushed, (2,))


def variables(add):
    """By the handle of one that is assigned first."""
    def with_variable(function):
        def built(x):
            handle = raw.VarHandleOp(dtype=x.dtype, shape=[2], shared_name="v")
            assign = raw.AssignVariableOp(
                resource=handle, value=tf.constant([0.5, 1.25], x.dtype))
            with tf.control_dependencies([assign]):
                now = raw.Identity(input=handle)

            def read():
                return raw.ReadVariableOp(resource=now, dtype=x.dtype)
            return By([function(x, read)], [now])
        return built

    def called(x, read):
        @tf2.function
        def product(a):
            return a * read()
        return product(x) * read()
    for name, function in (
            ("by a variable", lambda x, read: loop(
                3, lambda i, a: [tf.sin(a * read())], x)[0]),
            ("by a variable of no steps", lambda x, read: loop(
                0, lambda i, a: [tf.sin(a * read())], x)[0]),
            ("by a variable, and beside it", lambda x, read: loop(
                3, lambda i, a: [tf.sin(a * read())], x)[0] * read()),
            ("by a variable, in a loop", lambda x, read: loop(
                2, lambda i, a: loop(
                    2, lambda j, b: [tf.sin(b * read())], a), x)[0]),
            ("by a variable, in a conditional that is taken",
             lambda x, read: tf.cond(tf.reduce_sum(x) > 0.0,
                                     lambda: x * read(), lambda: x)),
            ("by a variable, in a conditional that is not taken",
             lambda x, read: tf.cond(tf.reduce_sum(x) > 9.0,
                                     lambda: x * read(), lambda: x)),
            ("by a variable, in a call", called)):
        add(name, with_variable(function), (2,))


def added_twice(add):
    """What TensorFlow adds for a first derivative, derived by libtfd."""
    def second(y, x):
        return tf.gradients(y, x)[0]
    add("twice", lambda x: second(loop(
        3, lambda i, a: [tf.sin(a) * a], x)[0], x), (2,))
    add("twice, with what is captured", lambda x, y: second(loop(
        3, lambda i, a: [tf.sin(a * y)], x)[0], y), (2,), (2,))


def derived_twice(add):
    add("of squares", lambda x: loop(3, lambda i, a: [a * a], x), (2,))
    add("with sines", lambda x: loop(3, lambda i, a: [tf.sin(a) * a], x), (2,))
    add("of no steps", lambda x: loop(0, lambda i, a: [a * a], x * x), (2,))
    add("with what is captured", lambda x, y: loop(
        3, lambda i, a: [tf.sin(a * y) + y], x), (2,), (2,))
    add("of two", lambda x, y: loop(
        3, lambda i, a, b: [a * b, a + b * 0.5], x, y), (2,), (2,))
    add("of matrices", lambda x, y: loop(2, lambda i, a: [tf.reshape(
        tf.tanh(raw.MatMul(a=a, b=y)), [2, 2])], tf.reshape(x, [2, 2])),
        (2, 2), (2, 2))


def functions_twice(add):
    """Of what calls functions, once."""
    def called(x, y):
        @tf2.function
        def product(a, b):
            return a * tf.sin(a * b)
        return product(x, y)
    add("a call", called, (2,), (2,))
    for limit in (0.0, 99.0):
        add("a conditional, %g" % limit, lambda x, y, n=limit: tf.cond(
            tf.reduce_sum(x) > n, lambda: x * x * y, lambda: tf.sin(x) + 2.0),
            (2,), (2,))
    for index in (0, 1, 2):
        add("one of three, %d" % index, lambda x, y, i=index: tf.switch_case(
            tf.constant(i), [lambda: x * y * y, lambda: tf.exp(x),
                             lambda: tf.ones_like(x)]), (2,), (2,))


def bodies(graph):
    """FunctionDefs that are a While's body."""
    named = {n.attr["body"].func.name for n in graph.node}
    return [f for f in graph.library.function if f.signature.name in named]


def backwards(graph):
    """Nodes of bodies before those that they read."""
    for body in bodies(graph):
        nodes = list(body.node_def)[::-1]
        del body.node_def[:]
        body.node_def.extend(nodes)
    return graph


def circular(graph):
    """A product that reads itself."""
    for body in bodies(graph):
        for node in body.node_def:
            if node.op == "Mul":
                node.input[1] = node.name + ":z:0"
    return graph


def unknown_op(graph):
    for body in bodies(graph):
        for node in body.node_def:
            if node.op == "Mul":
                node.input[1] = "nothing:z:0"
    return graph


def changed(add):
    add("in another order", lambda x, y: loop(
        3, lambda i, a: [tf.sin(a * y) * a + y], x), (2,), (2,),
        change=backwards)


def refused(add):
    def noisy(x):
        return loop(3, lambda i, a: [a * tf.random_uniform([], dtype=a.dtype)], x)

    def in_call(x):
        @tf2.function
        def draw(a):
            return a * tf.random_uniform([], dtype=a.dtype)
        return loop(3, lambda i, a: [draw(a)], x)

    def in_calls(x):
        @tf2.function
        def inner(a):
            return a * a

        @tf2.function
        def outer(a):
            return tf.sin(inner(a))
        return outer(x)
    for name, function in (("that draws numbers", noisy),
                           ("whose call draws numbers", in_call)):
        add(name, function, "would not do the same again", (2,))
    add("that reads itself", lambda x: loop(3, lambda i, a: [a * a], x),
        "reads what it gives", (2,), change=circular)
    add("that reads nothing", lambda x: loop(3, lambda i, a: [a * a], x),
        "is not found", (2,), change=unknown_op)
    add("and not, but calls in calls, twice", in_calls,
        "No gradient defined for op: SymbolicGradient", (2,), order=2)


def fill_control(control):
    conditionals(control)
    loops(control)


def mixed(x, y):
    """A While in a loop of Switch and Merge, whose frames TensorFlow confuses."""
    def body(i, a):
        with new_control_flow():
            found = loop(2, lambda j, b: [tf.sin(b * y) + b * 0.5], a)[0]
        return i + 1, found
    with old_control_flow():
        return tf.while_loop(lambda i, a: i < 3, body, (0, x))[1]


def fill(python, twice, refuse, alone):
    """python: a case whose truth Python's gradients say; twice: one of second
    gradients; refuse: one that libtfd refuses with such a text; alone: one that
    differences alone confirm."""
    def new(function):
        def built(*x):
            with new_control_flow():
                return function(*x)
        return built
    for part in (plain, within, rows, variables, added_twice, changed):
        part(lambda name, function, *shapes, p=part, **more: python(
            "While " + name, new(function), *shapes,
            differences=p is not variables and "stops" not in name, **more))
    derived_twice(lambda name, function, *shapes: twice(
        "While, derived twice, " + name, new(function), *shapes))
    functions_twice(lambda name, function, *shapes: twice(
        "Functions, derived twice, " + name, new(function), *shapes))
    refused(lambda name, function, text, *shapes, **more: refuse(
        "While " + name, new(function), text, *shapes, **more))
    alone("While in a loop of Switch and Merge", mixed, (2,), (2,))
