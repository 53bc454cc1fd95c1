"""Steps that wait for each other's rows: as programs write them, and how they end."""
import signal

import numpy as np

from tests.cluster.client import expect, graph, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.graphs.test_queues import PAIR, Waiting
from tests.cluster.suite import test

R = tf.raw_ops
F = tf.float32
LONG_US = 1800 * 1000000
LIMIT = tf.RunOptions(timeout_in_ms=300)
SOON = 5  # seconds to stop when nothing needs time
GONE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
NONE = np.zeros((0, 3), np.int64)


def batch(x, name, rows=4):
    return R.Batch(in_tensors=[x], num_batch_threads=1, max_batch_size=rows,
                   batch_timeout_micros=LONG_US, grad_timeout_micros=0, shared_name=name)


def call(x, f, name, captured=(), rows=4):
    return R.BatchFunction(
        in_tensors=[x], captured_tensors=[*captured, *f.captured_inputs], f=f,
        num_batch_threads=1, max_batch_size=rows, batch_timeout_micros=LONG_US,
        Tout=[y.dtype for y in f.outputs], shared_name=name)[0]


def doubled():
    return tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], F))


# ---- Programs ----------------------------------------------------------------------


@test(limit=60, **PAIR)
def a_batch_function_of_a_program(cluster):
    """Threads of two sessions, a variable that the function has captured, and rows
    that make all of it deterministic."""
    with graph():
        weights = tf.Variable([[2.0], [1.0]], use_resource=True, name="batch_weights")

        @tf.nondifferentiable_batch_function(2, 12, LONG_US, max_enqueued_batches=4)
        def layer(a, b):
            rows = tf.fill([tf.shape(a)[0], 1], tf.cast(tf.shape(a)[0], F))
            return tf.matmul(a, weights) + b, rows

        x = tf.placeholder(F, [None, 2])
        fetches = layer(x, x[:, :1])
        with tf.Session(cluster.target()) as one, tf.Session(cluster.target()) as other:
            one.run(weights.initializer)
            feeds = [np.full((1 + i % 3, 2), i, np.float32) for i in range(6)]
            steps = [Waiting((one, other)[i % 2], fetches, {x: feed})
                     for i, feed in enumerate(feeds)]
            for feed, step in zip(feeds, steps):
                y, rows = step.end().value
                np.testing.assert_array_equal(y, feed[:, :1] * 4)
                np.testing.assert_array_equal(rows, np.full((len(feed), 1), 12))


@test(**PAIR)
def large_inputs_of_a_batch_function_are_split(cluster):
    with graph():
        @tf.nondifferentiable_batch_function(1, 10, 0, allowed_batch_sizes=[2, 4])
        def sized(a):
            return tf.fill([tf.shape(a)[0]], tf.shape(a)[0]), a

        x = tf.placeholder(F, [None])
        with tf.Session(cluster.target()) as session:
            rows, same = session.run(sized(x), {x: np.arange(10)})
            assert rows.tolist() == 8 * [4] + 2 * [2]
            assert same.tolist() == list(range(10))


@test(tfd_only=True, **PAIR)
def batch_functions_are_on_other_tasks_and_in_datasets(cluster):
    """Two masters' steps meet on the ps; the function has one within itself, of another
    name, as the threads of one batcher would wait for themselves."""
    batched = tf.nondifferentiable_batch_function(1, 4, 0)(lambda x: x + 1)

    def inner(x):
        with tf.name_scope("inner"):
            return batched(x)

    with graph(), tf.device("/job:ps"):
        outer = tf.nondifferentiable_batch_function(1, 4, LONG_US)(lambda x: inner(x) * 2)
        x = tf.placeholder(F, [None])
        y = outer(x)
        with tf.Session(cluster.target("worker", 0)) as one:
            with tf.Session(cluster.target("worker", 1)) as other:
                steps = [Waiting(session, y, {x: [i, i]}) for i, session in enumerate((one, other))]
                assert [step.end().value.tolist() for step in steps] == [[2, 2], [4, 4]]
            numbers = tf.data.Dataset.range(3).map(lambda i: inner(tf.cast([i], F)))
            iterator = tf.data.make_initializable_iterator(numbers)
            rows = iterator.get_next()
            one.run(iterator.initializer)
            assert [one.run(rows).tolist() for _ in range(3)] == [[1], [2], [3]]


@test(**PAIR)
def batches_are_joined_and_taken_apart(cluster):
    """What TensorFlow's documentation writes with Batch and Unbatch."""
    with graph():
        x = tf.placeholder(F, [None, 3])
        rows, index, step = batch(x, "apart", rows=10)
        back = R.Unbatch(batched_tensor=tf.square(rows[0]), batch_index=index, id=step,
                         timeout_micros=LONG_US, shared_name="apart")
        with tf.Session(cluster.target()) as session:
            steps = [Waiting(session, back, {x: np.full((i + 1, 3), i)}) for i in range(4)]
            for i, waits in enumerate(steps):
                np.testing.assert_array_equal(waits.end().value, np.full((i + 1, 3), i * i))


@test(tfd_only=True, **PAIR)
def results_of_many_dimensions_are_refused(cluster):
    def longer(x):
        return tf.reshape(x, tf.concat([tf.shape(x), tf.ones([8], tf.int32)], 0))

    with graph(), tf.Session(cluster.target()) as session:
        x = tf.placeholder(F, [None])
        y = tf.nondifferentiable_batch_function(1, 4, 0)(longer)(x)
        with expect(tf.errors.UnimplementedError, "has 9 dimensions; at most 8"):
            session.run(y, {x: [1.0]})
        into = tf.nondifferentiable_batch_function(1, 4, 0)(lambda x: x + 1)(longer(x))
        with expect(tf.errors.UnimplementedError, "dimensions"):
            session.run(into, {x: [1.0]})


# ---- Cancelling --------------------------------------------------------------------


def held_function(queue):
    """Waits for an element of the queue, whose value is added to all rows."""
    return tf.function(lambda x: x + R.QueueDequeueV2(
        handle=queue, component_types=[F])[0]).get_concrete_function(tf.TensorSpec([None], F))


@test(tfd_only=True, **PAIR)
def one_who_leaves_does_not_end_a_batch(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        queue = R.FIFOQueueV2(component_types=[F], shared_name="leave")
        x = tf.placeholder(F, [None])
        y = call(x, held_function(queue), "leave", rows=2)
        stays = Waiting(session, y, {x: [1.0]})
        with expect(tf.errors.DeadlineExceededError):
            session.run(y, {x: [2.0]}, options=LIMIT)
        session.run(R.QueueEnqueueV2(handle=queue, components=[5.0]))
        assert stays.end().value.tolist() == [6.0]


@test(tfd_only=True, **PAIR)
def a_batch_that_all_have_left_is_cancelled(cluster):
    """It takes nothing from the queue any more."""
    with graph(), tf.Session(cluster.target()) as session:
        queue = R.FIFOQueueV2(component_types=[F], shared_name="all_left")
        x = tf.placeholder(F, [None])
        y = call(x, held_function(queue), "all_left", rows=2)
        with expect(tf.errors.DeadlineExceededError):
            session.run(y, {x: [1.0, 2.0]}, options=LIMIT)
        session.run(R.QueueEnqueueV2(handle=queue, components=[5.0]))
        assert session.run(y, {x: [1.0, 2.0]}, options=tf.RunOptions(
            timeout_in_ms=20000)).tolist() == [6.0, 7.0]


def one_that_calls_itself():
    """A graph with y, the result of a function of x that is called for x by itself."""
    with tf.Graph().as_default() as g:
        x = tf.placeholder(F, [None], name="x")
        f = doubled()
        y = tf.identity(R.BatchFunction(
            in_tensors=[x], captured_tensors=[], f=f, num_batch_threads=2**31 - 1,
            max_batch_size=1, batch_timeout_micros=0, Tout=[F], shared_name="itself")[0], "y")
        graph_def = y.graph.as_graph_def()
    body = next(d for d in graph_def.library.function if d.signature.name == f.name.decode())
    calls = next(n for n in graph_def.node if n.op == "BatchFunction")
    multiply = next(n for n in body.node_def if n.op == "Mul")
    again = body.node_def.add()
    again.CopyFrom(calls)
    again.name = "again"
    again.input[:] = [multiply.name + ":z:0"]
    result = next(iter(body.ret))
    reader = next(n for n in body.node_def if n.op == "Identity")
    reader.input[:] = ["again:out_tensors:0"]
    assert body.ret[result].startswith(reader.name)
    return graph_def


@test(tfd_only=True, **PAIR)
def a_function_that_is_in_its_own_batch_ends_with_its_step(cluster):
    """Its batches are all begun, and the last waits for one to end."""
    with graph():
        tf.import_graph_def(one_that_calls_itself(), name="")
        with tf.Session(cluster.target()) as session:
            with expect(tf.errors.DeadlineExceededError):
                session.run("y:0", {"x:0": [1.0]}, options=tf.RunOptions(timeout_in_ms=2000))
            again = Waiting(session, "y:0", {"x:0": [1.0]})
        assert again.end().error is not None
        with tf.Session(cluster.target()) as session:
            assert session.run(call(tf.ones([4]), doubled(), "after_itself")).tolist() == 4 * [2.0]


# ---- Ends --------------------------------------------------------------------------


def waiting_nodes(name):
    """One of each op that waits, in a step that has said that it begins."""
    begun = tf.Variable(0, use_resource=True, name="begun_" + name)
    none = tf.zeros([0])
    with tf.control_dependencies([begun.assign_add(1)]):
        x = tf.identity([1.0])
    with tf.control_dependencies([x]):
        index, step = tf.constant(NONE), tf.constant(np.int64(8))
    nodes = [
        batch(x, "batch_" + name).id,
        R.Unbatch(batched_tensor=none, batch_index=index, id=step, timeout_micros=LONG_US,
                  shared_name="unbatch_" + name),
        R.UnbatchGrad(original_input=x, batch_index=tf.constant(
            np.array([[9, 0, 1]], np.int64)), grad=x, id=step, shared_name="grad_" + name),
        call(x, doubled(), "call_" + name),
    ]
    return begun, nodes


def wait_in(session, name):
    begun, nodes = waiting_nodes(name)
    session.run(begun.initializer)
    steps = [Waiting(session, node) for node in nodes]
    wait_until(lambda: session.run(begun) == len(nodes), 20, "steps that wait")
    return steps


@test(tfd_only=True, **PAIR)
def a_session_is_closed_with_steps_that_wait(cluster):
    with graph():
        session = tf.Session(cluster.target())
        steps = wait_in(session, "closed")
        session.close()
        for step in steps:
            assert isinstance(step.end().error, tf.errors.CancelledError), step.error


@test(tfd_only=True, **PAIR)
def a_reset_ends_steps_that_wait(cluster):
    """Their places are others' afterwards, and nothing of them is left there."""
    with graph():
        session = tf.Session(cluster.target())
        steps = wait_in(session, "reset")
        tf.Session.reset(cluster.target())
        for step in steps:
            assert isinstance(step.end().error, GONE), step.error
        with tf.Session(cluster.target()) as after:
            assert len(after.run(batch(tf.zeros([4]), "batch_reset").batch_index)) == 1
            assert after.run(call(tf.ones([4]), doubled(), "call_reset")).tolist() == 4 * [2.0]


@test(tfd_only=True, **PAIR)
def rows_that_nobody_takes_go_with_their_container(cluster):
    """Their time would be up in half an hour."""
    def unbatch(rows, index, step, timeout=LONG_US):
        return R.Unbatch(batched_tensor=tf.constant(rows, F), batch_index=np.array(
            index, np.int64).reshape(-1, 3), id=np.int64(step), timeout_micros=timeout,
                         container="brought", shared_name="brought")

    with graph():
        session = tf.Session(cluster.target())
        brings = unbatch([1.0, 2.0], [[7, 0, 1], [99, 1, 2]], 7)
        assert session.run(brings).tolist() == [1.0]
        with expect(tf.errors.AlreadyExistsError, "returned for same batch key"):
            session.run(brings)
        tf.Session.reset(cluster.target(), ["brought"])
    with graph(), tf.Session(cluster.target()) as session:
        with expect(tf.errors.DeadlineExceededError, "did not arrive"):
            session.run(unbatch([], [], 99, timeout=0))


@test(limit=60, tfd_only=True)
def a_server_stops_with_steps_that_wait(server):
    with Cluster(server, ["--drain_timeout=1s"], worker=1) as cluster, graph():
        session = tf.Session(cluster.target())
        steps = wait_in(session, "stopped")
        session.run(R.Unbatch(batched_tensor=[1.0, 2.0], batch_index=np.array(
            [[7, 0, 1], [8, 1, 2]]), id=np.int64(7), timeout_micros=LONG_US,
            shared_name="left"))
        task = cluster["worker", 0]
        task.signal(signal.SIGTERM)
        assert task.exit_code(1 + SOON) == 0, task.log_tail()
        for step in steps:
            assert isinstance(step.end().error, GONE), step.error
