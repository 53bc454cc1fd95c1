"""Reference variables: what a step sees of its own assignments.

What is read from one shares its memory in TensorFlow, so who consumes it, in
loops and branches too, and the client who fetches it, see what was assigned
since.  Expected values are those of TensorFlow's own server, which this file
passes as well (--tensorflow)."""
import itertools

from tests.cluster.client import equal, graph, np, plain_config, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=1)
NUMBERS = itertools.count()


def variable(value):
    """Of another name each time: servers keep variables."""
    return tf.Variable(np.float32(value), use_resource=False,
                       name="referred_%d" % next(NUMBERS))


def after(earlier, make):
    with tf.control_dependencies([earlier]):
        return make()


def loop(body, condition=lambda i: i < 4):
    """body() in each iteration, one iteration after the other."""
    return tf.while_loop(condition, lambda i: after(body(), lambda: i + 1),
                         [tf.constant(0)], parallel_iterations=1,
                         maximum_iterations=20)


def squares():
    """The read is outside of the loop, what it reads changes inside."""
    v = variable(2)
    done = loop(lambda: v.assign(tf.square(v)))
    return v, [done, after(done, v.read_value)], [4, 65536]


def doubles():
    v = variable(1)
    read = v.value()
    done = loop(lambda: v.assign_add(read))
    return v, [done, after(done, v.read_value)], [4, 16]


def condition_sees_the_body():
    v = variable(0)
    done = loop(lambda: v.assign_add(1), lambda i: tf.less(v, 3.0))
    return v, [done], [3]


def nested():
    v = variable(0)
    done = loop(lambda: loop(lambda: v.assign(v + 1)))
    return v, [done, after(done, v.read_value)], [4, 16]


def branch():
    """A conditional passes the memory on, not what was in it."""
    v = variable([1, 2])
    side = tf.cond(tf.placeholder_with_default(True, []),
                   lambda: tf.identity(v.value()), lambda: v.value() + 0)
    assigned = after(side, lambda: v.assign([5, 6]))
    return v, [after(assigned, lambda: side + 0)], [np.float32([5, 6])]


def assigned_before_the_loop():
    """An assignment that the loop waits for, made after the read."""
    v = variable(1)
    read = tf.identity(v)
    assigned = after(read, lambda: v.assign(10))
    seen = after(assigned, lambda: tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + read),
        [tf.constant(0), tf.constant(0.0)]))
    return v, [seen[1]], [30]


def fetched():
    v = variable([1, 2])
    read = tf.identity(v)
    assigned = after(read, lambda: v.assign([7, 8]))
    return v, [read, assigned], [np.float32([7, 8])] * 2


def fetched_twice():
    v = variable([1, 2])
    first = v.assign([7, 8])
    second = after(first, lambda: v.assign_add([1, 1]))
    return v, [first, second, first.op], [np.float32([8, 9])] * 2 + [None]


def computed():
    """A value that was computed from a read is one of its own."""
    v = variable([1, 2])
    negative = -v
    assigned = after(negative, lambda: v.assign([7, 8]))
    return v, [negative, assigned], [np.float32([-1, -2]),
                                     np.float32([7, 8])]


def carried():
    """What a loop carries on is a value once it was computed."""
    v = variable(1)
    done = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, after(v.assign_add(1), lambda: s + v)),
        [tf.constant(0), tf.constant(0.0)], parallel_iterations=1)
    return v, [done[1]], [2 + 3 + 4]


PROGRAMS = (squares, doubles, condition_sees_the_body, nested, branch,
            assigned_before_the_loop, fetched, fetched_twice, computed,
            carried)


def check(cluster, program, device):
    tf.disable_control_flow_v2()  # functions have values of their own
    with graph(), tf.device(device):
        v, fetches, want = program()
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(3):
                session.run(v.initializer)
                got = session.run(fetches)
                for g, w in zip(got, want):
                    assert w is None or np.array_equal(g, w), (
                        "%s on %s: %s, not %s" % (program.__name__, device,
                                                  got, want))


@test(limit=60, **PAIR)
def a_step_sees_what_it_assigned(cluster):
    for program in PROGRAMS:
        check(cluster, program, "/job:worker")


@test(limit=60, **PAIR)
def so_it_does_on_the_ps(cluster):
    """But that tfd sends a value of the ps to a client when it is read."""
    for program in PROGRAMS:
        if program not in (fetched, fetched_twice):
            check(cluster, program, "/job:ps")


@test(limit=60, **PAIR)
def a_fetched_value_stays_as_it_was(cluster):
    with graph():
        v = variable([1, 2])
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            before = session.run(v)
            session.run(v.assign([5, 6]))
            equal(before, np.float32([1, 2]))
            equal(session.run(v), np.float32([5, 6]))


@test(limit=60, **PAIR)
def a_failed_step_leaves_what_it_assigned(cluster):
    with graph():
        v = variable([1, 2])
        assigned = v.assign([5, 6])
        bad = after(assigned, lambda: tf.debugging.Assert(False, ["no"]))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            try:
                session.run([v, assigned, bad])
            except tf.errors.InvalidArgumentError:
                equal(session.run(v), np.float32([5, 6]))
            else:
                raise AssertionError("no error")
