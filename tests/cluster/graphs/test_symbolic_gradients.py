"""SymbolicGradient: of functions whose library names no gradient, too."""
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from tests.cluster.client import expect, graph, np, plain_config, run, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=1)
F = tf.float32


def derived(f, arguments, gradients):
    """The gradients of a Defun by its arguments."""
    return functional_ops.symbolic_gradient(
        list(arguments) + list(gradients), [a.dtype for a in arguments], f)


def same(cluster, build):
    """What build() returns is the same in process and on the cluster."""
    with graph():
        outputs = build()
        init = tf.global_variables_initializer()
        got = []
        for target in ("", cluster.target()):
            with tf.Session(target) as session:
                session.run(init)
                got.append(session.run(outputs))
        for a, b in zip(tf.nest.flatten(got[0]), tf.nest.flatten(got[1])):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6)


@test(**PAIR)
def of_primitive_ops(cluster):
    def build():
        @function.Defun(F, F)
        def layer(x, w):
            return tf.tanh(tf.raw_ops.MatMul(a=x, b=w)) * 2.0, tf.reduce_sum(x * x)

        @function.Defun(F)
        def wave(x):
            return tf.sin(x) / (1.0 + tf.exp(-x))

        x, w = np.ones((2, 3), np.float32), np.full((3, 2), .25, np.float32)
        a, b = tf.constant(x), tf.constant(w)
        c = tf.constant([.5, -1.25, 3.0])
        return [layer(a, b),
                derived(layer, [a, b], [tf.constant([[1., 2.], [3., 4.]]),
                                        tf.constant(.5)]),
                derived(wave, [c], [tf.constant([1., 2., -1.])])]
    same(cluster, build)


@test(**PAIR)
def of_shapes_that_are_broadcast(cluster):
    def build():
        @function.Defun(F, F)
        def f(x, y):
            return tf.concat([x * y, x - y], 0)[1:3, :2]

        x, y = tf.ones([2, 3]), tf.constant([1.5, 2.5, -1.])
        return derived(f, [x, y], [tf.constant([[1., 2.], [3., 4.]])])
    same(cluster, build)


@test(**PAIR)
def of_what_no_result_depends_on_is_zero(cluster):
    def build():
        @function.Defun(F, tf.int32, F)
        def f(x, axis, unused):
            return tf.reduce_sum(x, axis)

        arguments = [tf.ones([2, 3]), tf.constant(1), tf.ones([4])]
        return derived(f, arguments, [tf.constant([1., 2.])])
    same(cluster, build)


@test(**PAIR)
def of_calls_of_functions(cluster):
    def build():
        @function.Defun(F)
        def square(x):
            return x * x

        @function.Defun(F, F)
        def f(x, y):
            return square(square(x) + y) * y

        x, y = tf.constant([1., 2.]), tf.constant([3., -1.])
        return derived(f, [x, y], [tf.constant([1., .5])])
    same(cluster, build)


@test(**PAIR)
def of_functions_that_are_given_one(cluster):
    def build():
        @function.Defun(F, F)
        def never(x, dy):
            return dy * 100.0 + x

        @function.Defun(F, grad_func=never)
        def f(x):
            return x * x

        @function.Defun(F)
        def outer(x):
            return f(x) + x

        x = tf.constant([1., 2.])
        return [outer(x), derived(outer, [x], [tf.constant([1., .5])]),
                tf.gradients(f(x), x)]
    same(cluster, build)


@test(**PAIR)
def through_python_gradients(cluster):
    def build():
        @function.Defun(F, F)
        def f(x, w):
            return tf.nn.relu(tf.raw_ops.MatMul(a=x, b=w))

        v = tf.Variable(np.full((3, 2), .5, np.float32))
        x = tf.constant([[1., 2., 3.], [-1., -2., -3.]])
        loss = tf.reduce_sum(tf.square(f(x, v)))
        return tf.gradients(loss, [x, v])
    same(cluster, build)


@test(**PAIR)
def of_a_noinline_function_and_of_many_at_once(cluster):
    def build():
        @function.Defun(F, noinline=True)
        def f(x):
            return tf.sigmoid(x) * x

        x = [tf.constant(float(i)) for i in range(20)]
        return [derived(f, [a], [f(a)]) for a in x]
    same(cluster, build)


@test(**PAIR)
def an_op_without_a_gradient_is_an_error(cluster):
    with graph():
        @function.Defun(F)
        def f(x):
            return tf.nn.relu(tf.truncatemod(x, 2.0))

        y = derived(f, [tf.constant(3.0)], [tf.constant(1.0)])
        for target in ("", cluster.target()):
            with tf.Session(target) as session:
                with expect(tf.errors.NotFoundError, "No gradient"):
                    session.run(y)


@test(**PAIR)
def wrong_numbers_and_types_of_gradients_are_errors(cluster):
    with graph():
        @function.Defun(F)
        def f(x):
            return x * x

        x = tf.constant(3.0)
        cases = [([x], [F]), ([x, x, x], [F]), ([x, x], [F, F]),
                 ([x, tf.constant(1)], [F])]
        for arguments, types in cases:
            y = functional_ops.symbolic_gradient(arguments, types, f)
            for target in ("", cluster.target()):
                with tf.Session(target) as session:
                    with expect((tf.errors.InvalidArgumentError,
                                 tf.errors.InternalError), ""):
                        session.run(y)


@test(**PAIR)
def of_no_function_is_an_error(cluster):
    with graph():
        from tensorflow.core.framework import attr_value_pb2
        x = tf.constant(3.0)
        f = attr_value_pb2.NameAttrList(name="nowhere")
        y = functional_ops.symbolic_gradient([x, x], [F], f)
        for target in ("", cluster.target()):
            with tf.Session(target) as session:
                with expect(tf.errors.NotFoundError,
                            "No gradient defined for op: nowhere"):
                    session.run(y)


# ---- Loops within loops ------------------------------------------------------


def twice(body):
    """A loop of two turns on one float."""
    def build(x):
        return tf.while_loop(lambda i, a: i < 2,
                             lambda i, a: (i + 1, body(a, x)), [0, x])[1]
    return build


one_loop = twice(lambda a, x: a * x)
nested_loops = twice(lambda a, x: tf.while_loop(
    lambda j, b: j < 3, lambda j, b: (j + 1, tf.sin(b) * x), [0, a])[1])


@test(limit=60, **PAIR)
def of_loops_within_loops_the_client_makes_them(cluster):
    """First and second ones, by While in the bodies of While."""
    tf.enable_control_flow_v2()
    tf.enable_resource_variables()

    def build():
        x = tf.constant(0.75)
        y = nested_loops(x)
        first = tf.gradients(y, x)[0]
        return [y, first] + tf.gradients(first, x)
    same(cluster, build)


@test(limit=60, tfd_only=True, **PAIR)
def of_loops_in_functions(cluster):
    """Those that the client makes where the loop is in no function.  TensorFlow's
    server has none for a graph that it does not rewrite first; of one that it
    does, it answers 0."""
    tf.enable_control_flow_v2()
    for loops in (one_loop, nested_loops):
        with graph():
            x = tf.constant(0.75)
            wanted = tf.gradients(loops(x), x)
            gradients = tf.gradients(function.Defun(F)(loops)(x), x)
            with tf.Session("", config=plain_config()) as session:
                wanted = session.run(wanted)
                with expect(tf.errors.NotFoundError, "No gradient defined "
                            "for op: StatelessWhile"):
                    session.run(gradients)
            with tf.Session(cluster.target(), config=plain_config()) as session:
                np.testing.assert_allclose(session.run(gradients), wanted,
                                           rtol=1e-5)


def add_node(nodes, name, op, *inputs):
    """A NodeDef behind the others."""
    node = nodes.add(name=name, op=op)
    node.input.extend(inputs)
    return node


def function_of(library, name, arguments, result):
    """A FunctionDef with these arguments and one float, `result`."""
    f = library.function.add()
    f.signature.name = name
    for argument, dtype in arguments:
        f.signature.input_arg.add(name=argument, type=dtype.as_datatype_enum)
    f.signature.output_arg.add(name="y", type=F.as_datatype_enum)
    f.ret["y"] = result
    return f


def passing_on(length):
    """A GraphDef with s, the SymbolicGradient of a function that calls another,
    which reads the variable v through so many Identity nodes."""
    resource, real = (t.as_datatype_enum for t in (tf.resource, F))
    arguments = [("h", tf.resource), ("x", F)]
    made = tf.GraphDef()
    made.versions.producer = 1286
    reads = function_of(made.library, "reads", arguments, "product:z:0")
    calls = function_of(made.library, "calls", arguments, "call:output:0")
    last = "h"
    for i in range(length):
        add_node(reads.node_def, "i%d" % i, "Identity",
                 last).attr["T"].type = resource
        last = "i%d:output:0" % i
    add_node(reads.node_def, "read", "ReadVariableOp",
             last).attr["dtype"].type = real
    add_node(reads.node_def, "product", "Mul", "read:value:0",
             "x").attr["T"].type = real
    call = add_node(calls.node_def, "call", "PartitionedCall", "h", "x")
    call.attr["f"].func.name = "reads"
    call.attr["Tin"].list.type.extend([resource, real])
    call.attr["Tout"].list.type.append(real)
    v = add_node(made.node, "v", "VarHandleOp")
    v.attr["dtype"].type = real
    v.attr["shape"].shape.SetInParent()
    v.attr["shared_name"].s = b"passed on"
    for name, value in (("x", 3.0), ("dy", 2.0)):
        constant = add_node(made.node, name, "Const")
        constant.attr["dtype"].type = real
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    add_node(made.node, "set", "AssignVariableOp", "v",
             "x").attr["dtype"].type = real
    s = add_node(made.node, "s", "SymbolicGradient", "v", "x", "dy", "^set")
    s.attr["f"].func.name = "calls"
    s.attr["Tin"].list.type.extend([resource, real, real])
    s.attr["Tout"].list.type.extend([real, real])
    return made


@test(tfd_only=True, **PAIR)
def of_a_handle_that_is_passed_on_ever_so_often(cluster):
    with graph():
        tf.import_graph_def(passing_on(100000), name="")
        assert run(cluster.target(), ["s:0", "s:1"]) == [6.0, 6.0]


def wide_loop(count):
    """A GraphDef with s, the SymbolicGradient of a function with a loop of no
    iterations over so many variables, which its body passes on."""
    real = F.as_datatype_enum
    made = tf.GraphDef()
    made.versions.producer = 1286
    body, cond = made.library.function.add(), made.library.function.add()
    body.signature.name, cond.signature.name = "body", "cond"
    for i in range(count):
        for f in (body, cond):
            f.signature.input_arg.add(name="x%d" % i, type=real)
        body.signature.output_arg.add(name="y%d" % i, type=real)
        add_node(body.node_def, "same%d" % i, "Identity",
                 "x%d" % i).attr["T"].type = real
        body.ret["y%d" % i] = "same%d:output:0" % i
    cond.signature.output_arg.add(name="more", type=tf.bool.as_datatype_enum)
    cond.ret["more"] = "no:output:0"
    no = add_node(cond.node_def, "no", "Const")
    no.attr["dtype"].type = tf.bool.as_datatype_enum
    no.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(False))
    loops = function_of(made.library, "loops", [("x", F)], "loop:output:0")
    loop = add_node(loops.node_def, "loop", "StatelessWhile", *["x"] * count)
    loop.attr["T"].list.type.extend([real] * count)
    loop.attr["cond"].func.name, loop.attr["body"].func.name = "cond", "body"
    for name in ("x", "dy"):
        constant = add_node(made.node, name, "Const")
        constant.attr["dtype"].type = real
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.5))
    s = add_node(made.node, "s", "SymbolicGradient", "x", "dy")
    s.attr["f"].func.name = "loops"
    s.attr["Tin"].list.type.extend([real, real])
    s.attr["Tout"].list.type.append(real)
    return made


@test(tfd_only=True, **PAIR)
def of_a_loop_over_very_many_variables(cluster):
    with graph():
        tf.import_graph_def(wide_loop(6000), name="")
        assert run(cluster.target(), "s:0") == 1.5
