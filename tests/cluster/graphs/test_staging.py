"""Staging areas on a server: whoever waits in one holds no thread, and goes with
its step.  (TensorFlow's own hold a thread that nothing can cancel.)"""
from tests.cluster.client import expect, graph, tf
from tests.cluster.graphs.test_queues import PAIR, Waiting
from tests.cluster.suite import test

R = tf.raw_ops
F = tf.float32
LIMIT = tf.RunOptions(timeout_in_ms=300)
WAITERS = 40  # more than there are threads


@test(tfd_only=True, **PAIR)
def steps_that_timed_out_leave_an_area(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        area = dict(shared_name="left", capacity=1)
        put = R.Stage(values=[1.0], **area)
        get = R.Unstage(dtypes=[F], **area)
        size = R.StageSize(dtypes=[F], **area)
        with expect(tf.errors.DeadlineExceededError):
            session.run(get, options=LIMIT)
        session.run(put)
        with expect(tf.errors.DeadlineExceededError):
            session.run(put, options=LIMIT)
        assert session.run(size) == 1
        assert session.run(get) == [1.0]
        assert session.run(size) == 0  # the second one never came in


@test(tfd_only=True, **PAIR)
def many_wait_for_keys_at_once(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        area = dict(shared_name="many")
        key = tf.placeholder(tf.int64, [])
        get = R.MapUnstage(key=key, indices=[0], dtypes=[F], **area)
        put = R.MapStage(key=key, indices=[0], values=[tf.cast(key, F)],
                         dtypes=[F], **area)
        waiting = [Waiting(session, get, {key: i}) for i in range(WAITERS)]
        for i in reversed(range(WAITERS)):
            session.run(put, {key: i})
        assert [w.end().value for w in waiting] == [
            [float(i)] for i in range(WAITERS)]
        assert session.run(R.MapSize(dtypes=[F], **area)) == 0


def iterator_of_three():
    """A handle that nobody but who holds it knows, of an iterator that reads
    ahead: it goes with its last handle, and takes a lock then."""
    numbers = tf.data.Dataset.range(3).prefetch(1)
    types, shapes = [tf.int64], [[]]
    handle = R.AnonymousIteratorV3(output_types=types, output_shapes=shapes)
    made = R.MakeIterator(dataset=numbers._variant_tensor, iterator=handle)
    with tf.control_dependencies([made]):
        first = R.IteratorGetNext(iterator=handle, output_types=types,
                                  output_shapes=shapes)[0]
    with tf.control_dependencies([first]):
        return tf.identity(handle)


@test(tfd_only=True, **PAIR)
def the_last_handle_goes_without_a_lock_held(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        handle = iterator_of_three()
        types = dict(dtypes=[tf.resource])
        put = R.Stage(values=[handle], shared_name="handles")
        for _ in range(2):
            session.run(put)
        session.run(R.StageClear(shared_name="handles", **types))
        session.run(put)
        with expect(tf.errors.InvalidArgumentError, "Mismatch stage/unstage"):
            session.run(R.Unstage(dtypes=[tf.resource] * 2,
                                  shared_name="handles"))
        keyed = dict(shared_name="keyed", **types)
        session.run(R.MapStage(key=tf.constant(1, tf.int64), indices=[0],
                               values=[handle], **keyed))
        session.run(R.MapClear(**keyed))
        stack = R.StackV2(max_size=-1, elem_type=tf.resource)
        with tf.control_dependencies([R.StackPushV2(
                handle=stack, elem=iterator_of_three())]):
            session.run(R.StackCloseV2(handle=stack))
        assert session.run(tf.constant(1)) == 1


@test(tfd_only=True, **PAIR)
def a_stack_takes_references_to_queues(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        stack = R.Stack(elem_type=tf.string)
        queue = R.FIFOQueue(component_types=[F])
        with tf.control_dependencies([R.StackPush(handle=stack, elem=queue)]):
            popped = R.StackPop(handle=stack, elem_type=tf.string)
        assert len(session.run(popped)) == 2
        # of itself: nothing is left of it when the step has ended
        session.run(R.StackPush(handle=stack, elem=stack))
