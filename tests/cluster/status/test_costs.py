"""What each session and each context costs, in /status.json: bytes that came
and went, and memory that is kept for it."""
import json
import pathlib
import sys
import threading

from tests.cluster import nursery
from tests.cluster.client import expect, graph, kept_session, np, plain_config, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.eager.contexts import (
    Context, context, drop, fails, function, give, message, run)
from tests.cluster.faults.test_abandoned import IDLE, SOON, in_child, kill
from tests.cluster.status.document import read
from tests.cluster.suite import test
from tests.cluster.watch import metric, wait_metric

ROOT = pathlib.Path(__file__).parents[3]
ONE = dict(tfd_only=True, worker=1)
MB = 1 << 20
LITTLE = MB // 4  # of nodes, names, states of steps
ROUNDS = 200
LEFT = []  # session handles
ALONE = tf.ConfigProto(isolate_session_state=True)


def only(cluster, section):
    """The one session, or context, that there is."""
    (row,) = read(cluster["worker", 0])[0][section]["list"]
    return row


def held(cluster, section="sessions"):
    return only(cluster, section)["memory_bytes"]


def close_to(got, want, slack=LITTLE):
    assert want <= got <= want + slack, (got, want)


def floats(megabytes):
    return np.zeros(megabytes * MB // 4, np.float32)


@test(**ONE)
def feeds_and_fetches_are_received_and_sent(cluster):
    with graph():
        x = tf.placeholder(tf.float32)
        size, same = tf.size(x), tf.identity(x)
        bad = tf.debugging.check_numerics(x + np.inf, "odd")
        with tf.Session(cluster.target()) as session:
            session.run(size, {x: [1.0]})
            before = only(cluster, "sessions")
            assert session.run(size, {x: floats(1)}) == MB // 4
            fed = only(cluster, "sessions")
            session.run(same, {x: floats(1)})
            both = only(cluster, "sessions")
            with expect(tf.errors.InvalidArgumentError, "odd"):
                session.run(bad, {x: floats(1)})
            failed = only(cluster, "sessions")
            session.make_callable(same, [x])(floats(1))
            called = only(cluster, "sessions")
    for a, b, received, sent in ((before, fed, MB, 0), (fed, both, MB, MB),
                                 (both, failed, MB, 0),
                                 (failed, called, MB, MB)):
        close_to(b["received_bytes"] - a["received_bytes"], received)
        close_to(b["sent_bytes"] - a["sent_bytes"], sent)


@test(**ONE)
def constants_are_kept_as_long_as_the_session(cluster):
    assert metric(cluster["worker", 0], "tfd_session_memory_bytes") == 0
    with graph():
        total = tf.reduce_sum(tf.constant(np.random.rand(MB // 2)))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(tf.constant(1))
            sent = only(cluster, "sessions")
            assert sent["received_bytes"] >= 4 * MB, sent
            assert sent["memory_bytes"] >= 4 * MB, sent
            session.run(total)
            # As the client sent it; of the plan's part; as a kernel reads it.
            close_to(held(cluster), sent["memory_bytes"] + 2 * 4 * MB)
            assert metric(cluster["worker", 0], "tfd_session_memory_bytes") == held(cluster)
    assert read(cluster["worker", 0])[0]["sessions"]["list"] == []
    assert metric(cluster["worker", 0], "tfd_session_memory_bytes") == 0


@test(**ONE)
def session_tensors_are_kept_until_they_are_deleted(cluster):
    with graph():
        x = tf.placeholder(tf.float32)
        keep, forgotten = tf.get_session_handle(x), tf.placeholder(tf.string)
        forget = tf.raw_ops.DeleteSessionTensor(handle=forgotten)

        def keep_and_forget(session, value, meanwhile=lambda: None):
            handle = session.run(keep, {x: value})
            LEFT.append(handle)  # which would delete what it stands for
            meanwhile()
            session.run(forget, {forgotten: handle.handle})
            with expect(tf.errors.InvalidArgumentError, "Failed to delete"):
                session.run(forget, {forgotten: handle.handle})

        with tf.Session(cluster.target()) as session:
            keep_and_forget(session, [1.0])
            with expect(tf.errors.InvalidArgumentError, "Failed to delete"):
                session.run(forget, {forgotten: "nobody's"})
            before = held(cluster)
            keep_and_forget(session, floats(8),
                            lambda: close_to(held(cluster), before + 8 * MB))
            assert held(cluster) == before, (held(cluster), before)
            for _ in range(ROUNDS):
                keep_and_forget(session, floats(1)[:9])
            assert held(cluster) == before, (held(cluster), before)


@test(**ONE)
def feeds_of_steps_that_wait_are_kept(cluster):
    with graph():
        x = tf.placeholder(tf.float32)
        queue = tf.queue.FIFOQueue(1, [tf.int32], shared_name="never")
        with tf.control_dependencies([queue.dequeue()]):
            late = tf.size(x)
        put, first = queue.enqueue(1), tf.size(x)
        session = kept_session(cluster.target())
        session.run(put)
        assert session.run(late, {x: [1.0]}) == 1
        session.run(first, {x: [1.0]})
        before = held(cluster)
        step = session.make_callable(late, [x])
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            step(floats(1))), daemon=True)
        thread.start()
        wait_until(lambda: held(cluster) > before + MB, 10, "the step")
        close_to(held(cluster), before + MB)
        session.run(put)
        thread.join(10)
        assert answers == [MB // 4], answers
        close_to(held(cluster), before)
        session.close()


@test(**ONE)
def partial_runs_keep_what_they_are_fed(cluster):
    with graph():
        p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        a, b = tf.size(p), tf.size(p) + tf.size(q)

        def go(session, value, meanwhile=lambda: None):
            handle = session.partial_run_setup([a, b], [p, q])
            session.partial_run(handle, a, {p: value})
            meanwhile()
            assert session.partial_run(handle, b, {q: [1.0]}) == len(value) + 1

        with tf.Session(cluster.target()) as session:
            go(session, [1.0])
            before = held(cluster)
            go(session, floats(1),
               lambda: close_to(held(cluster), before + MB))
            assert held(cluster) == before, (held(cluster), before)
            handle = session.partial_run_setup([a, b], [p, q])
            session.partial_run(handle, a, {p: floats(1)})
            with expect(tf.errors.InvalidArgumentError, "fed"):
                session.partial_run(handle, a, {p: floats(1)})


@test(**ONE)
def variables_are_its_own_where_it_isolates_them(cluster):
    for config, bytes_kept in ((None, 0), (ALONE, 2 * MB)):
        with graph():
            v = tf.Variable(tf.zeros([MB // 2]), use_resource=True)
            with tf.Session(cluster.target(), config=config) as session:
                session.run(tf.constant(1))
                before = held(cluster)
                session.run(v.initializer)
                close_to(held(cluster), before + bytes_kept)
        assert read(cluster["worker", 0])[0]["sessions"]["count"] == 0


@test(limit=60, **ONE)
def nothing_of_sessions_is_left_behind(cluster):
    with graph(), tf.Session(cluster.target()) as first:
        x = tf.placeholder(tf.float32)
        bad = tf.debugging.check_numerics(x, "odd")
        kept = tf.get_session_handle(x)

        def fail(session):
            with expect(tf.errors.InvalidArgumentError, "odd"):
                session.run(bad, {x: np.nan})

        fail(first)
        before = held(cluster)
        for i in range(ROUNDS):
            with tf.Session(cluster.target()) as session:
                fail(session)
                LEFT.append(session.run(kept, {x: 1.0}))
            fail(first)
        assert held(cluster) == before, (held(cluster), before)
        assert metric(cluster["worker", 0], "tfd_session_memory_bytes") == before


@test(**ONE)
def values_of_a_context_are_kept_until_they_are_dropped(cluster):
    with context(cluster, 7001) as c:
        c.enqueue(give(1, 1.0), run(2, "AddV2", 1, 1, T=tf.float32),
                  drop(1), drop(2))
        start = only(cluster, "contexts")
        c.enqueue(give(3, floats(8)))
        given = only(cluster, "contexts")
        close_to(given["received_bytes"] - start["received_bytes"], 8 * MB)
        close_to(given["memory_bytes"], start["memory_bytes"] + 8 * MB)
        c.enqueue(run(4, "AddV2", 3, 3, T=tf.float32))
        close_to(held(cluster, "contexts"), start["memory_bytes"] + 16 * MB)
        fails("INVALID_ARGUMENT", "", c.enqueue, drop(3), drop(3))
        close_to(held(cluster, "contexts"), start["memory_bytes"] + 8 * MB)
        c.enqueue(drop(4))
        last = only(cluster, "contexts")
        assert last["memory_bytes"] == start["memory_bytes"], (last, start)
        assert last["sent_bytes"] > start["sent_bytes"]
        assert metric(cluster["worker", 0], "tfd_context_memory_bytes") == \
            last["memory_bytes"]
    assert metric(cluster["worker", 0], "tfd_context_memory_bytes") == 0


@test(**ONE)
def variables_without_a_name_are_their_handles(cluster):
    """Each once, in whatever order its handles go, and named ones never."""
    anonymous = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"

    def variable(number, name):
        return (run(number, "VarHandleOp", shared_name=name,
                    container=b"", dtype=tf.float32,
                    more=[message("EagerAttr", key="shape", value=tf.AttrValue(
                        shape=tf.TensorShape([2 * MB]).as_proto()))]),
                run(number + 1, "AssignVariableOp", number, 1,
                    dtype=tf.float32),
                run(number + 2, "Identity", number, T=tf.resource))

    with context(cluster, 7002) as c:
        c.enqueue(give(1, floats(8)), *variable(2, anonymous), drop(2), drop(4))
        c.enqueue(give(8, 1.0), drop(8))
        start = held(cluster, "contexts")
        c.enqueue(*variable(10, anonymous))
        close_to(held(cluster, "contexts"), start + 8 * MB, 8192)
        c.enqueue(drop(10))
        close_to(held(cluster, "contexts"), start + 8 * MB, 8192)
        c.enqueue(*variable(20, anonymous))
        close_to(held(cluster, "contexts"), start + 16 * MB, 8192)
        c.enqueue(drop(12))
        close_to(held(cluster, "contexts"), start + 8 * MB, 8192)
        c.enqueue(drop(22), drop(20))
        assert held(cluster, "contexts") == start
        c.enqueue(*variable(30, b"of_everybody"))
        close_to(held(cluster, "contexts"), start, LITTLE)


@test(limit=60, tfd_only=True)
def what_nobody_ends_is_kept_no_longer_than_it(server):
    """A client that is killed as it waits, and a coordinator that is silent."""
    with Cluster(server, IDLE, worker=1) as cluster:
        task = cluster["worker", 0]

        def leave():
            with graph():
                x = tf.placeholder(tf.float32)
                handle = tf.get_session_handle(x)
                session = kept_session(cluster.target())
                LEFT.append(session.run(handle, {x: floats(2)}))

        for _ in range(3):
            child = in_child(leave)
            close_to(held(cluster), 2 * MB)
            kill(child)
            wait_metric(task, "tfd_sessions", 0, SOON)
            assert metric(task, "tfd_session_memory_bytes") == 0
        for i in range(3):
            silent = Context(task.address, 100 + i, keep_alive_secs=1)
            silent.enqueue(give(1, floats(2)))
            close_to(held(cluster, "contexts"), 2 * MB)
            wait_metric(task, "tfd_eager_contexts", 0, SOON)
            assert metric(task, "tfd_context_memory_bytes") == 0
        assert read(task)[0]["worker"]["memory_bytes"] == 0


@test(limit=60, tfd_only=True, ps=1, worker=1)
def a_task_tells_what_it_keeps_for_other_masters(cluster):
    def kept(*task):
        return read(cluster[task])[0]["worker"]["memory_bytes"]

    with graph():
        with tf.device("/job:ps"):
            total = tf.reduce_sum(tf.constant(np.random.rand(MB // 2)))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(total)
            close_to(kept("ps", 0), 2 * 4 * MB)
            assert kept("worker", 0) < LITTLE
            assert read(cluster["ps", 0])[0]["sessions"]["list"] == []
    wait_until(lambda: kept("ps", 0) == 0, 10, "that it is gone")


@test(limit=60, **ONE)
def nothing_of_contexts_is_left_behind(cluster):
    def register(name):
        return message("EagerItem", register_function=message(
            "EagerFunction", function_def=function(name)))

    def forget(name):
        return message("EagerItem", remove_function=message(
            "EagerName", function_name=name))

    with context(cluster, 7003) as c:
        def use():
            c.enqueue(register("twice"), give(1, 2.0), give(2, 1.0))
            c.enqueue(run(3, "twice", 1))
            fails("INVALID_ARGUMENT", "", c.enqueue, drop(1), run(
                4, "MatMul", 2, 2, T=tf.float32), drop(99))
            c.enqueue(drop(2), drop(3), forget("twice"))

        use()
        before = held(cluster, "contexts")
        c.enqueue(register("other"))
        assert held(cluster, "contexts") > before
        c.enqueue(forget("other"))
        for i in range(ROUNDS):
            use()
            if i % 4 == 0:
                with context(cluster, 8000 + i) as other:
                    other.enqueue(give(1, floats(1)))
        assert held(cluster, "contexts") == before
        assert metric(cluster["worker", 0], "tfd_context_memory_bytes") == before
    assert read(cluster["worker", 0])[0]["contexts"]["list"] == []


@test(limit=100, tfd_only=True)
def a_coordinator_that_streams_is_counted(server):
    with Cluster(server, worker=1) as cluster:  # which it leaves without a word
        done = nursery.ran(
            [sys.executable, "-m", "tests.cluster.status.costs_client",
             json.dumps({"worker": [cluster["worker", 0].address]})],
            cwd=ROOT, timeout=90)
    assert done.returncode == 0 and "ok" in done.stdout.splitlines(), (
        done.stdout[-2000:])
