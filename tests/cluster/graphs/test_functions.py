"""Functions and control flow v2: expanded by the master, or run as ops."""
import threading

from google.protobuf import text_format
from tensorflow.core.framework import (function_pb2, graph_pb2,
                                       types_pb2)

from tests.cluster.client import (equal, expect, graph, np, plain_config, run,
                                  tf)
from tests.cluster.raw import Raw, code_of, constant, graph_of, node
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
PS = "/job:ps/task:0"
WORKER0, WORKER1 = "/job:worker/task:0", "/job:worker/task:1"


def v2_graph():
    tf.enable_control_flow_v2()
    return graph()


def same(cluster, build, feeds=()):
    """What build() returns is the same in process and on the cluster."""
    with v2_graph() as g:
        g.seed = 7
        outputs, placeholders = build()
        init = tf.global_variables_initializer()
        for values in feeds or [()]:
            feed = dict(zip(placeholders, values))
            got = []
            for target in ("", cluster.target()):
                with tf.Session(target) as session:
                    session.run(init)
                    got.append(session.run(outputs, feed))
            for a, b in zip(tf.nest.flatten(got[0]), tf.nest.flatten(got[1])):
                equal(a, b)


@test(**PAIR)
def branches_and_their_gradients(cluster):
    def build():
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 5.0, lambda: x * 2.0,
                    lambda: tf.cond(x > 2.0, lambda: x + tf.constant(7.0),
                                    lambda: x * x))
        return [y, tf.gradients(y, x)[0]], [x]
    same(cluster, build, [(9.0,), (3.0,), (1.0,)])


@test(**PAIR)
def a_case_of_six_and_a_number_that_is_none(cluster):
    def build():
        x, y = tf.placeholder(tf.int32, []), tf.constant(2.0)
        return [tf.switch_case(x, [
            lambda: y, lambda: y * 3.0, lambda: y * y, lambda: y - 1.0,
            lambda: y + 9.0, lambda: tf.constant(4.0)])], [x]
    same(cluster, build, [(n,) for n in (0, 3, 5, 6, -7)])


@test(**PAIR)
def loops_and_their_gradients(cluster):
    def build():
        x = tf.placeholder(tf.float32, [])

        def outer(i, a):
            inner = tf.while_loop(lambda j, b: j < i, lambda j, b:
                                  (j + 1, b * x), [0, a])
            return i + 1, inner[1] + 1.0

        loop = tf.while_loop(lambda i, a: i < 4, outer, [0, 1.0])
        return [loop, tf.gradients(loop[1], x)[0]], [x]
    same(cluster, build, [(3.0,), (-1.0,)])


@test(**PAIR)
def maps_folds_and_scans(cluster):
    def build():
        x = tf.placeholder(tf.float32, [3])
        m = tf.map_fn(lambda a: a * a + 1.0, x)
        f = tf.foldl(lambda a, b: a * b, x)
        s = tf.scan(lambda a, b: a * b, x)
        return [m, f, s] + [tf.gradients(t, x)[0] for t in (m, f, s)], [x]
    same(cluster, build, [([1.0, 2.0, 3.0],)])


@test(**PAIR)
def effects_of_the_taken_branch_only(cluster):
    def build():
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        w = tf.get_variable("w", initializer=1.0, use_resource=True)
        x = tf.placeholder(tf.bool, [])

        def taken():
            return tf.group(v.assign_add(3.0), w.assign_add(5.0))

        done = tf.cond(x, taken, tf.no_op)
        with tf.control_dependencies([done]):
            return [v.read_value(), w.read_value()], [x]
    same(cluster, build, [(True,), (False,)])


@test(**PAIR)
def a_loop_that_only_has_effects(cluster):
    def build():
        v = tf.get_variable("v", initializer=2.0, use_resource=True)

        def body(i):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 5, body, [0])
        with tf.control_dependencies([loop]):
            return [v.read_value()], []
    same(cluster, build)


@test(limit=60, **PAIR)
def bodies_on_other_devices(cluster):
    with v2_graph():
        n = tf.placeholder(tf.int32, [])
        with tf.device(PS):
            v = tf.get_variable("v", initializer=2.0, use_resource=True)

        def body(i, x):
            with tf.device(WORKER1):
                x = x * 2.0
            with tf.device(PS):
                return i + 1, tf.cond(x > 20.0, lambda: x, lambda: x + v)

        with tf.device(WORKER0):
            loop = tf.while_loop(lambda i, x: i < n, body, [0, 1.0])
        with tf.Session(cluster.target()) as session:
            session.run(v.initializer)
            for count, want in ((0, 1.0), (1, 4.0), (2, 10.0), (5, 88.0)):
                got = session.run(loop, {n: count})
                assert list(got) == [count, want], got


@test(**PAIR)
def functions_inside_functions(cluster):
    def build():
        @tf.function
        def f(a, b):
            return a * b + 1.0, a - b

        @tf.function
        def g(a):
            return f(a, f(a, a)[0])

        x = tf.placeholder(tf.float32, [])
        p, q = g(x)
        return [p, q, tf.gradients(p, x)[0]], [x]
    same(cluster, build, [(3.0,)])


@test(**PAIR)
def functions_that_are_lambdas(cluster):
    """Their names, "__inference_<lambda>_7", are no node's."""
    import tensorflow

    def build():
        x = tf.placeholder(tf.float32, [])
        spec = tensorflow.TensorSpec([], tf.float32)
        yes, no, less, call = (
            tensorflow.function(f, [spec]).get_concrete_function()
            for f in (lambda y: y + y, lambda y: y * y, lambda y: y < 50.0,
                      lambda y: y - tf.random.uniform([], 1.0, 1.0)))
        raw = tensorflow.raw_ops
        return [raw.If(cond=x > 2.0, input=[x], Tout=[tf.float32],
                       then_branch=yes, else_branch=no)[0],
                raw.StatelessIf(cond=x > 2.0, input=[x], Tout=[tf.float32],
                                then_branch=no, else_branch=yes)[0],
                raw.While(input=[x], cond=less, body=yes)[0],
                raw.PartitionedCall(args=[x], Tout=[tf.float32], f=no)[0],
                raw.StatefulPartitionedCall(args=[x], Tout=[tf.float32],
                                            f=call)[0]], [x]
    same(cluster, build, [(3.0,), (1.5,)])


def calls_of_constants():
    """Functions of a tensor whose results do not depend on it, or only some,
    by tf.function (PartitionedCall), branches and loops, and nested."""
    import tensorflow
    function = tensorflow.function(autograph=False)

    @function
    def three(x):
        return tf.constant(3.0)

    @function
    def some(x):
        return tf.constant(3.0), x * 2.0, tf.constant(5.0)

    @function
    def none():
        return tf.constant(4.0)

    def branch(x):
        return tf.cond(x > 2.0, lambda: tf.constant(1.0), lambda: three(x))

    def case(x):
        return tf.switch_case(tf.cast(x, tf.int32),
                              [none, lambda: three(x), lambda: x + 1.0])

    def loop(x):
        return tf.while_loop(lambda j, a: j < 2,
                             lambda j, a: (j + 1, three(a)), [0, x])[1]

    plain = [three, lambda x: sum(some(x)), lambda x: x + none(),
             lambda x: some(three(x))[0] + three(x), branch, case, loop,
             lambda x: loop(branch(x)) + x]
    return plain + [function(f) for f in plain]


def check_constants_of_calls(cluster, begin):
    """As TensorFlow answers where it expands no calls: where it does, its
    branches of v1 lose some of them."""
    begin()
    with graph():
        results = []
        yes, no = (tf.placeholder_with_default(v, []) for v in (True, False))
        for f in calls_of_constants():
            results.append(tf.while_loop(
                lambda i, x: i < 4, lambda i, x: (i + 1, f(x)), [0, 1.0])[1])
            results.append(tf.while_loop(
                lambda i, x: i < 2, lambda i, x: (i + 1, tf.while_loop(
                    lambda j, y: j < 2, lambda j, y: (j + 1, f(y) + x),
                    [0, x])[1]), [0, 1.0])[1])
            for which in (yes, no):
                results.append(tf.cond(which, lambda: f(tf.constant(1.0)),
                                       lambda: tf.constant(0.0)))
        config = plain_config()
        want = run("", results, config=config)
        for target in (cluster.target(), cluster.target("ps", 0)):
            equal(run(target, results, config=config), want)


@test(limit=60, **PAIR)
def constants_of_calls_in_v1_loops_and_branches(cluster):
    check_constants_of_calls(cluster, tf.disable_control_flow_v2)


@test(limit=60, **PAIR)
def constants_of_calls_in_v2_loops_and_branches(cluster):
    check_constants_of_calls(cluster, tf.enable_control_flow_v2)


@test(**PAIR)
def effects_of_calls_in_a_loop(cluster):
    """A function without results, one with a constant one."""
    import tensorflow
    for begin in (tf.disable_control_flow_v2, tf.enable_control_flow_v2):
        begin()
        with graph():
            v = tf.get_variable("v", initializer=1.0, use_resource=True)

            @tensorflow.function(autograph=False)
            def silent(x):
                v.assign_add(1.0)

            @tensorflow.function(autograph=False)
            def constant_of(x):
                v.assign_add(10.0)
                return tf.constant(2.0)

            def body(i, x):
                silent(x)
                call, = [op for op in tf.get_default_graph().get_operations()
                         if op.type == "StatefulPartitionedCall"]
                with tf.control_dependencies([call]):
                    return i + 1, x * constant_of(x)

            loop = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
            with tf.Session(cluster.target()) as session:
                session.run(v.initializer)
                assert session.run(loop[1]) == 8.0
                got = session.run(v)
                assert got == 34.0, got


@test(**PAIR)
def nodes_of_a_call_can_be_fetched(cluster):
    with v2_graph() as g:
        with tf.device(PS):
            x = tf.constant(True)
        tf.cond(x, lambda: tf.constant(3.0), lambda: tf.constant(4.0),
                name="choice")
    with graph():
        tf.import_graph_def(g.as_graph_def(), name="")
        assert run(cluster.target(), "choice:0") == 3.0
        run(cluster.target(), "choice")


@test(**PAIR)
def a_later_extension_uses_earlier_functions(cluster):
    with v2_graph():
        @tf.function
        def f(a):
            return a + 1.0

        x = f(tf.constant(1.0))
        with tf.Session(cluster.target()) as session:
            assert session.run(x) == 2.0
            y = f(x)
            z = tf.cond(y > 2.0, lambda: f(y), lambda: y)
            assert session.run([y, z]) == [3.0, 4.0]


# ---- Functions that cannot be expanded --------------------------------------


def without_lowering(g):
    """The graph with its control flow as ops."""
    def strip(nodes):
        for one in nodes:
            one.attr.pop("_lower_using_switch_merge", None)

    graph_def = g.as_graph_def()
    strip(graph_def.node)
    for f in graph_def.library.function:
        strip(f.node_def)
        f.attr["_noinline"].b = True
    return graph_def


@test(**PAIR)
def control_flow_runs_as_ops(cluster):
    with v2_graph() as g:
        n = tf.placeholder(tf.int32, [], name="n")

        def body(i, x):
            return i + 1, tf.cond(x > 20.0, lambda: x - 1.0, lambda: x * 2.0)

        loop = tf.while_loop(lambda i, x: i < n, body, [0, 1.0])
        case = tf.switch_case(n, [lambda: n + 10, lambda: n * 5], name="case")
        tf.identity(loop[1], name="x")
        tf.identity(case, name="y")
    with graph():
        tf.import_graph_def(without_lowering(g), name="")
        for target in ("", cluster.target()):
            for count, x in ((0, 1.0), (3, 8.0), (7, 30.0)):
                got = run(target, ["x:0", "y:0"], {"n:0": count})
                assert got == [x, 10 if count == 0 else count * 5], got


def library(text):
    """FunctionDefs: "F x = node Op input..., ret = tensor" of one int32."""
    out = function_pb2.FunctionDefLibrary()
    for line in text.strip().splitlines():
        f = out.function.add()
        head, _, body = line.partition(":")
        f.signature.name = head.strip()
        f.signature.input_arg.add(name="x", type=types_pb2.DT_INT32)
        f.signature.output_arg.add(name="y", type=types_pb2.DT_INT32)
        for part in body.split(","):
            words = part.split()
            if words[0] == "return":
                f.ret["y"] = words[1]
                continue
            added = f.node_def.add(name=words[0], op=words[1])
            added.input.extend(words[2:])
            if words[1] in ("AddV2", "Mul"):
                added.attr["T"].type = types_pb2.DT_INT32
    return out


def calling(text, name):
    graph_def = graph_of(constant("x", 21, tf.int32), node("call", name, ["x"]))
    graph_def.library.CopyFrom(library(text))
    return graph_def


def called(cluster, text, name, **fields):
    """The reply to a step that calls a function of the library; Python's
    TensorFlow would not import the libraries that are asked for here."""
    raw = Raw(cluster["worker", 0].address)
    return raw.step(raw.create(calling(text, name), **fields),
                    fetch=["call:0"], **fields)


@test(**PAIR)
def a_function_is_an_op(cluster):
    reply = called(cluster, "F: c AddV2 x x, return c:z:0", "F")
    assert tf.make_ndarray(reply.tensor[0].tensor) == 42


@test(limit=60, tfd_only=True, **PAIR)
def functions_that_call_themselves_end_in_an_error(cluster):
    for text in ("F: a F x, return a:y:0",
                 "F: a G x, return a:y:0\nG: a F x, return a:y:0",
                 "F: a F x, b F x, c AddV2 a:y:0 b:y:0, return c:z:0"):
        code, why = code_of(called, cluster, text, "F", timeout=30)
        assert code == "RESOURCE_EXHAUSTED", why
        assert "calls deep" in why or "calls are under way" in why, why


@test(limit=120, tfd_only=True, **PAIR)
def functions_that_call_each_other_twice_end_in_an_error(cluster):
    text = "\n".join(
        "F%d: a F%d x, b F%d x, c AddV2 a:y:0 b:y:0, return c:z:0" %
        (i, i + 1, i + 1) for i in range(40))
    text += "\nF40: c AddV2 x x, return c:z:0"
    code, why = code_of(called, cluster, text, "F0", timeout=60)
    assert code == "RESOURCE_EXHAUSTED", why
    assert "functions are expanded" in why, why


@test(**PAIR)
def functions_nested_deeper_than_are_expanded_run(cluster):
    text = "\n".join("F%d: a F%d x, return a:y:0" % (i, i + 1)
                     for i in range(200))
    text += "\nF200: c AddV2 x x, return c:z:0"
    reply = called(cluster, text, "F0")
    assert tf.make_ndarray(reply.tensor[0].tensor) == 42


@test(**PAIR)
def libraries_that_are_wrong_are_refused(cluster):
    for text, code, part in (
            ("F: return q:z:0", "INVALID_ARGUMENT", "input q:z:0 is not found"),
            ("F: c AddV2 x d:z:0, return c:z:0", "INVALID_ARGUMENT",
             "input d:z:0 is not found"),
            ("F: c AddV2 x x, return c:q:0", "INVALID_ARGUMENT",
             "input c:q:0 is not found"),
            ("F: c AddV2 x x, return c:z:7", "INVALID_ARGUMENT",
             "input c:z:7 is not found"),
            ("F: c AddV2 x c:z:0, return c:z:0", "INVALID_ARGUMENT", "cycle"),
            ("F: c Nope x, return c:z:0", "NOT_FOUND",
             "Op type not registered 'Nope'"),
            ("F: c AddV2 x, return c:z:0", "INVALID_ARGUMENT",
             "do not match"),
            ("F: c AddV2 x x, c AddV2 x x, return c:z:0", "INVALID_ARGUMENT",
             "Duplicated name"),
            ("F: c AddV2 x x", "INVALID_ARGUMENT", "return y missing"),
            ("AddV2: c Mul x x, return c:z:0", "INVALID_ARGUMENT",
             "an op with the same name already exists"),
            ("F: c AddV2 x x, return c:z:0\nF: c Mul x x, return c:z:0",
             "INVALID_ARGUMENT", "a different function with the same name")):
        got, why = code_of(called, cluster, text, "F")
        assert got == code and part in why, (text, got, why)


UNKNOWN = """
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: 1
                                            tensor_shape { } } } } }
node { name: "x" op: "%s" %s
       attr { key: "%s" value { func { name: "nofn" } } }
       attr { key: "%s" value { func { name: "nofn" } } } }
"""
LIST = 'attr { key: "%s" value { list { type: DT_FLOAT } } } '
TYPE = 'attr { key: "%s" value { type: DT_FLOAT } } '


@test(**PAIR)
def functions_that_no_library_has_are_named(cluster):
    ends = LIST % "Tin" + LIST % "Tout"
    branch = 'input: "c" input: "c" ' + TYPE % "Tcond" + ends
    loop = 'input: "c" ' + LIST % "T"
    missing = 'Failed to find function "nofn" in function library'
    undefined = "Function nofn is not defined"
    for op, rest, one, other, error, part in (
            ("PartitionedCall", 'input: "c" ' + ends, "f", "f",
             tf.errors.InvalidArgumentError, missing),
            ("StatefulPartitionedCall", 'input: "c" ' + ends, "f", "f",
             tf.errors.InvalidArgumentError, missing),
            ("If", branch, "then_branch", "else_branch",
             tf.errors.NotFoundError, undefined),
            ("StatelessIf", branch, "then_branch", "else_branch",
             tf.errors.NotFoundError, undefined),
            ("While", loop, "cond", "body", tf.errors.NotFoundError,
             undefined),
            ("StatelessWhile", loop, "cond", "body",
             tf.errors.NotFoundError, undefined)):
        text = UNKNOWN % (op, rest, one, other)
        if one == other:  # an attribute has one value
            text = text[:text.rindex("attr")] + "}"
        with graph():
            tf.import_graph_def(
                text_format.Parse(text, graph_pb2.GraphDef()), name="")
            with tf.Session(cluster.target()) as session:
                with expect(error, part):
                    session.run("x:0")


@test(limit=60, **PAIR)
def an_error_within_a_branch_is_the_steps(cluster):
    with v2_graph():
        x = tf.placeholder(tf.float32, [])

        def bad():
            with tf.control_dependencies([tf.Assert(x < 0.0, ["no good"])]):
                return x * 2.0

        y = tf.cond(x > 0.0, bad, lambda: x)
        with tf.Session(cluster.target()) as session:
            with expect(tf.errors.InvalidArgumentError, "no good"):
                session.run(y, {x: 1.0})
            assert session.run(y, {x: -1.0}) == -1.0


@test(limit=60, **PAIR)
def many_steps_of_one_function_at_once(cluster):
    with v2_graph() as g:
        n = tf.placeholder(tf.int32, [], name="n")
        loop = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
        tf.identity(loop, name="x")
    with graph():
        tf.import_graph_def(without_lowering(g), name="")
        with tf.Session(cluster.target()) as session:
            results = np.zeros(16, np.int64)

            def one(k):
                results[k] = session.run("x:0", {"n:0": 20 + k})

            threads = [threading.Thread(target=one, args=(k,))
                       for k in range(16)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            equal(results, np.arange(20, 36))


# ---- Functions across tasks --------------------------------------------------


def kept_calls(v):
    """Calls that ask not to be inlined, of a variable on the ps; the last one
    names devices of both tasks."""
    whole = dict(autograph=False, experimental_attributes={"_noinline": True})
    import tensorflow

    @tensorflow.function(**whole)
    def twice(x):
        return v * x

    @tensorflow.function(**whole)
    def nested(x):
        return twice(x) + twice(x + 1.0)

    @tensorflow.function(**whole)
    def branch(x):
        return tf.cond(x > 2.0, lambda: v + x, lambda: v - x)

    @tensorflow.function(**whole)
    def devices(x):
        with tf.device(PS):
            a = v.assign_add(x)
        with tf.device(WORKER1):
            return a * 2.0

    return twice, nested, branch, devices


@test(**PAIR)
def functions_reach_other_tasks_where_devices_are_shared(cluster):
    tf.Session.reset(cluster.target())
    for field in ("experimental", ""):
        config = tf.ConfigProto()
        owner = getattr(config, field) if field else config
        owner.share_cluster_devices_in_session = True
        with v2_graph(), tf.Session(cluster.target(),
                                    config=config) as session:
            with tf.device(PS):
                v = tf.get_variable("across", initializer=2.0,
                                    use_resource=True)
            with tf.device(WORKER0):
                x = tf.placeholder(tf.float32, [])
                calls = [f(x) for f in kept_calls(v)]
            session.run(v.initializer)
            got = [session.run(y, {x: 3.0}) for y in calls]
            assert got == [6.0, 14.0, 5.0, 10.0], got


@test(**PAIR)
def functions_stay_in_their_task_where_devices_are_not_shared(cluster):
    tf.Session.reset(cluster.target())
    with v2_graph(), tf.Session(cluster.target()) as session:
        with tf.device(PS):
            v = tf.get_variable("apart", initializer=2.0, use_resource=True)
        with tf.device(WORKER0):
            x = tf.placeholder(tf.float32, [])
            calls = [f(x) for f in kept_calls(v)]
        session.run(v.initializer)
        for y in calls:
            with expect(tf.errors.OpError):
                session.run(y, {x: 3.0})
