"""v1 loops and conditionals, in one task and across tasks."""
from tests.cluster.client import equal, expect, graph, np, run, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
PS = "/job:ps/task:0"
WORKER0, WORKER1 = "/job:worker/task:0", "/job:worker/task:1"


def v1_graph():
    tf.disable_control_flow_v2()
    return graph()


def identity_on(device, *tensors):
    """The tensors, having been on that device."""
    with tf.device(device):
        return [tf.identity(t) for t in tensors]


@test(**PAIR)
def a_loop_runs_in_each_task(cluster):
    for device in (PS, WORKER0, WORKER1):
        with v1_graph():
            n = tf.placeholder(tf.int32, [])
            with tf.device(device):
                loop = tf.while_loop(lambda i, x: i < n,
                                     lambda i, x: (i + 1, x * 2), [0, 1.0])
            for count in (0, 1, 10, 100):
                assert run(cluster.target(), loop[1], {n: count}) == 2 ** count


@test(limit=60, **PAIR)
def a_loop_spans_tasks(cluster):
    """The body computes on ps and worker 1, worker 0 decides and counts."""
    with v1_graph():
        n = tf.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device(PS):
                x = x * 2.0
            with tf.device(WORKER1):
                x = x + 1.0
            return i + 1, x

        with tf.device(WORKER0):
            loop = tf.while_loop(lambda i, x: i < n, body, [0, 1.0])
        with tf.Session(cluster.target()) as session:
            for count in (0, 1, 2, 25):
                got = session.run(loop, {n: count})
                assert got == (count, 2.0 ** (count + 1) - 1), got


@test(limit=60, **PAIR)
def the_condition_may_be_on_another_task(cluster):
    with v1_graph():
        def condition(i, x):
            with tf.device(PS):
                return x < 1000.0

        def body(i, x):
            with tf.device(WORKER1):
                return i + 1, x * 3.0

        with tf.device(WORKER0):
            loop = tf.while_loop(condition, body, [0, 1.0])
        for target in (cluster.target(), cluster.target("ps", 0)):
            assert run(target, loop) == (7, 2187.0)


@test(limit=60, **PAIR)
def nested_loops_span_tasks(cluster):
    with v1_graph():
        n = tf.placeholder(tf.int32, [])

        def inner(j, t):
            with tf.device(PS):
                return j + 1, t + 1

        def outer(i, s):
            with tf.device(WORKER1):
                start = tf.identity(s)
            return i + 1, tf.while_loop(lambda j, t: j <= i, inner,
                                        [0, start])[1]

        with tf.device(WORKER0):
            loop = tf.while_loop(lambda i, s: i < n, outer, [0, 0])[1]
        with tf.Session(cluster.target()) as session:
            for count in (0, 1, 6):
                assert session.run(loop, {n: count}) == count * (count + 1) / 2


@test(limit=60, **PAIR)
def a_conditional_within_a_loop_spans_tasks(cluster):
    """Odd steps add on ps, even ones run a loop of their own on worker 1."""
    with v1_graph():
        n = tf.placeholder(tf.int32, [])

        def twice(x):
            with tf.device(WORKER1):
                return tf.while_loop(lambda j, y: j < 3,
                                     lambda j, y: (j + 1, y + 10), [0, x])[1]

        def body(i, x):
            return i + 1, tf.cond(tf.equal(i % 2, 1),
                                  lambda: identity_on(PS, x + 1)[0],
                                  lambda: twice(x))

        with tf.device(WORKER0):
            loop = tf.while_loop(lambda i, x: i < n, body, [0, 0])[1]
        with tf.Session(cluster.target()) as session:
            for count in (0, 1, 2, 7):
                odd, even = count // 2, count - count // 2
                assert session.run(loop, {n: count}) == odd + 30 * even


@test(limit=60, **PAIR)
def parallel_iterations_keep_their_order(cluster):
    for parallel in (1, 2, 10, 32):
        with v1_graph():
            def body(i, text):
                with tf.device((PS, WORKER1)[parallel % 2]):
                    letter = tf.gather(list("abcdefghijklmnopqrst"), i)
                return i + 1, tf.strings.join([text, letter])

            loop = tf.while_loop(lambda i, t: i < 20, body, [0, ""],
                                 parallel_iterations=parallel)[1]
            assert run(cluster.target(), loop) == b"abcdefghijklmnopqrst"


@test(**PAIR)
def a_conditional_takes_one_branch_on_its_task(cluster):
    with v1_graph():
        p = tf.placeholder(tf.bool, [])
        x = tf.placeholder(tf.float32, [3])
        y = tf.cond(p, lambda: identity_on(PS, x * 2)[0],
                    lambda: identity_on(WORKER1, x - 1)[0])
        z = tf.cond(p, lambda: [x, x * x], lambda: [-x, x])
        values = np.float32([1, 2, 3])
        feeds = [{p: v, x: values} for v in (True, False)]
        with tf.Session(cluster.target()) as session:
            equal(session.run(y, feeds[0]), values * 2)
            equal(session.run(y, feeds[1]), values - 1)
            equal(session.run(z[1], feeds[0]), values * values)
            equal(session.run(z[0], feeds[1]), -values)


@test(**PAIR)
def only_the_taken_branch_has_effects(cluster):
    with v1_graph():
        p = tf.placeholder(tf.bool, [])
        with tf.device(PS):
            v = tf.Variable(0.0, use_resource=True)
            w = tf.Variable(0.0, use_resource=False)
        choice = tf.cond(p, lambda: tf.group(v.assign_add(1.0)),
                         lambda: tf.group(tf.assign_add(w, 1.0)))
        with tf.Session(cluster.target()) as session:
            session.run([v.initializer, w.initializer])
            for value in (True, False, False):
                session.run(choice, {p: value})
            assert session.run([v, w]) == [1.0, 2.0]


@test(**PAIR)
def deadness_crosses_tasks(cluster):
    """A dead value goes over the wire, through ops, and ends at a Merge."""
    with v1_graph():
        pred = tf.placeholder(tf.bool, [])
        with tf.device(PS):
            off, on = tf.raw_ops.Switch(data=tf.constant(3.0), pred=pred)
        for _ in range(3):
            (off,), (on,) = identity_on(WORKER1, off), identity_on(WORKER0, on)
            (off,), (on,) = identity_on(PS, off), identity_on(WORKER1, on)
        with tf.device(WORKER0):
            merged = tf.raw_ops.Merge(inputs=[off * 10, on * 100])
        with tf.Session(cluster.target()) as session:
            assert session.run(merged.output, {pred: True}) == 300.0
            assert session.run(merged.output, {pred: False}) == 30.0


@test(**PAIR)
def a_dead_control_edge_crosses_tasks(cluster):
    with v1_graph():
        pred = tf.placeholder(tf.bool, [])
        with tf.device(PS):
            on = tf.identity(tf.raw_ops.Switch(data=pred, pred=pred)[1])
            v = tf.Variable(0.0, use_resource=True)
        with tf.device(WORKER1), tf.control_dependencies([on]):
            guard = tf.constant(1.0)
        with tf.device(PS), tf.control_dependencies([guard]):
            bump = v.assign_add(1.0, read_value=False)
        with tf.Session(cluster.target()) as session:
            session.run(v.initializer)
            for value, count in ((True, 1), (False, 1), (True, 2)):
                session.run(bump, {pred: value})
                got = session.run(v)
                assert got == count, "%s after %s" % (got, value)


@test(**PAIR)
def an_error_in_a_loop_ends_the_step(cluster):
    with v1_graph():
        def body(i):
            with tf.device(PS):
                check = tf.Assert(i < 5, ["too far"])
            with tf.control_dependencies([check]):
                return i + 1

        with tf.device(WORKER1):
            loop = tf.while_loop(lambda i: i < 10, body, [0])
        with expect(tf.errors.InvalidArgumentError, "assertion failed: "):
            run(cluster.target(), loop)


@test(limit=60, **PAIR)
def long_and_wide_graphs_run(cluster):
    """10,000 nodes in a row, 3,000 beside each other: no recursion."""
    with v1_graph():
        x = tf.placeholder(tf.int32, [])
        y = x
        for _ in range(10000):
            y = tf.raw_ops.Identity(input=y)
        wide = [tf.raw_ops.Neg(x=x) for _ in range(3000)]
        with tf.device(PS):
            total = tf.raw_ops.AddN(inputs=wide)
        with tf.Session(cluster.target()) as session:
            assert session.run([y, total], {x: 7}) == [7, -21000]
