"""Sessions of an unmodified client on a cluster: what every user does first."""
import threading

from tests.cluster.client import equal, expect, graph, np, run, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
TARGETS = [("ps", 0), ("worker", 0), ("worker", 1)]
PS = "/job:ps/task:0"


def counter(resource=True, device=PS, name="counter"):
    with tf.device(device):
        return tf.Variable(0.0, use_resource=resource, name=name)


@test(**PAIR)
def models_of_older_producers_join_a_session(cluster):
    """Importing one makes the whole graph as old for the client."""
    for target in ("", cluster.target()):
        for producer in (2205, 27, 1, 0, 99999):
            with graph(), tf.Session(target) as session:
                assert session.run(tf.constant(1.0)) == 1.0
                with tf.Graph().as_default() as g:
                    tf.negative(tf.constant(5.0), name="minus")
                old = g.as_graph_def()
                old.versions.producer = producer
                tf.import_graph_def(old, name="old")
                assert session.run("old/minus:0") == -5.0
                assert session.run(tf.constant(3.0)) == 3.0


@test(**PAIR)
def every_task_answers_nine(cluster):
    for job, index in TARGETS:
        with graph():
            nine = (tf.constant(1.0) + 2) * 3
            assert run(cluster.target(job, index), nine) == 9.0


@test(**PAIR)
def every_task_computes_for_every_master(cluster):
    for job, index in TARGETS:
        with graph():
            total = tf.constant(1.0)
            for other, number in TARGETS:
                with tf.device("/job:%s/task:%d" % (other, number)):
                    total = (total + 2) * 3
            assert run(cluster.target(job, index), total) == 105.0


def shared_by_two_clients(cluster, resource):
    with graph():
        v = counter(resource)
        add = tf.assign_add(v, 2.0)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        first.run(v.initializer)
        second.run(add)
        first.run(add)
        assert second.run(v) == 4.0
        first.close()
        second.run(add)
        assert second.run(v) == 6.0
        second.close()
    with graph():  # variables outlive sessions
        assert run(cluster.target("ps", 0), counter(resource)) == 6.0


@test(**PAIR)
def resource_variables_are_shared_by_two_clients(cluster):
    shared_by_two_clients(cluster, True)


@test(**PAIR)
def reference_variables_are_shared_by_two_clients(cluster):
    shared_by_two_clients(cluster, False)


@test(**PAIR)
def a_reference_and_a_resource_may_share_a_name(cluster):
    with graph():
        names = dict(dtype=tf.float32, shared_name="both", shape=[])
        with tf.device(PS):
            ref = tf.raw_ops.VariableV2(**names)
            handle = tf.raw_ops.VarHandleOp(**names)
            fill = [tf.raw_ops.Assign(ref=ref, value=1.0).op,
                    tf.raw_ops.AssignVariableOp(resource=handle, value=2.0)]
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        with tf.Session(cluster.target()) as session:
            session.run(fill)
            assert session.run([ref, read]) == [1.0, 2.0]


@test(**PAIR)
def variables_of_two_jobs_with_one_name_are_two(cluster):
    with graph():
        here = counter(device="/job:worker/task:0", name="twice")
        there = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[],
                                       shared_name="twice")
        there.op._set_device("/job:worker/task:1")
        with tf.Session(cluster.target()) as session:
            session.run(here.assign(3.0))
            session.run(tf.raw_ops.AssignVariableOp(resource=there, value=4.0))
            assert session.run(here) == 3.0


@test(**PAIR)
def a_session_grows_with_its_graph(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        v = counter()
        session.run(v.initializer)
        for step in range(5):
            with tf.device("/job:worker/task:%d" % (step % 2)):
                got = session.run(v.assign_add(1.0) * (step + 1))
            assert got == (step + 1) ** 2
        assert session.run(v) == 5.0


@test(**PAIR)
def a_new_node_may_feed_on_any_old_one(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p = tf.placeholder(tf.float32, [], name="p")
        x = [p]
        for _ in range(30):
            x.append(x[-1] + x[len(x) // 2])
            session.run(x[-1], {p: 1.0})
        with tf.Session() as local:
            equal(session.run(x, {p: 1.0}), local.run(x, {p: 1.0}))


@test(**PAIR)
def sessions_do_not_see_each_others_graphs(cluster):
    sessions = []
    for value in range(6):
        with graph() as g:
            name = tf.constant(value, name="same") * 10
            sessions.append((tf.Session(cluster.target(), graph=g), name))
    for value, (session, name) in enumerate(sessions):
        assert session.run(name) == value * 10
    for session, _ in sessions[::2]:
        session.close()
    for value, (session, name) in list(enumerate(sessions))[1::2]:
        assert session.run(name) == value * 10
        session.close()


@test(**PAIR)
def steps_run_side_by_side(cluster):
    """Eight threads in one session and two in others; no step is lost."""
    with graph() as g:
        with tf.device(PS):
            v = tf.Variable(0.0, use_resource=False, name="locked")
            add = tf.assign_add(v, 1.0, use_locking=True).op
        tf.Session(cluster.target(), graph=g).run(v.initializer)
        shared = tf.Session(cluster.target(), graph=g)
        sessions = [shared] * 8 + [
            tf.Session(cluster.target("worker", 1), graph=g)
            for _ in range(2)]
        failures = []

        def work(session):
            try:
                for _ in range(25):
                    session.run(add)
            except tf.errors.OpError as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=[s]) for s in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
        assert shared.run(v) == 250.0


@test(**PAIR)
def an_endless_step_holds_up_no_other(cluster):
    with graph():
        tf.disable_control_flow_v2()
        stop = counter(name="stop")
        loop = tf.while_loop(lambda i: stop < 1.0, lambda i: i + 1, [0])
        with tf.Session(cluster.target()) as session:
            session.run(stop.initializer)
            thread = threading.Thread(target=session.run, args=[loop])
            thread.start()
            for value in range(20):
                assert session.run(tf.constant(value) + 1) == value + 1
            session.run(stop.assign(1.0))
            thread.join()


@test(**PAIR)
def list_devices_names_all_with_own_first(cluster):
    with graph(), tf.Session(cluster.target("worker", 1)) as session:
        devices = session.list_devices()
    names = [d.name for d in devices]
    expected = ["/job:%s/replica:0/task:%d/device:CPU:0" % t for t in TARGETS]
    assert sorted(names) == sorted(expected), names
    assert names[0] == expected[2], names
    for device in devices:
        assert device.device_type == "CPU"
        assert device.memory_limit_bytes > 0
    assert len({d.incarnation for d in devices} - {0}) == 3


@test(**PAIR)
def reset_clears_variables_and_ends_sessions(cluster):
    with graph():
        v, r = counter(name="gone"), counter(False, name="gone_ref")
        old = tf.Session(cluster.target())
        old.run([v.initializer, r.initializer])
        tf.Session.reset(cluster.target())
        with expect(tf.errors.AbortedError, "is not found"):
            old.run(v)
        with tf.Session(cluster.target()) as session:
            for variable in (v, r):
                with expect(tf.errors.FailedPreconditionError):
                    session.run(variable)
                assert not session.run(tf.is_variable_initialized(variable))


@test(**PAIR)
def reset_of_one_container_leaves_the_others(cluster):
    with graph():
        with tf.container("kept"):
            kept = counter(name="kept")
        with tf.container("cleared"):
            cleared = counter(name="cleared")
        run(cluster.target(), [kept.initializer, cleared.initializer])
        tf.Session.reset(cluster.target(), ["cleared"])
        with tf.Session(cluster.target()) as session:
            assert session.run(kept) == 0.0
            with expect(tf.errors.FailedPreconditionError):
                session.run(cleared)


@test(**PAIR)
def a_closed_session_is_over_and_the_next_works(cluster):
    with graph():
        one = tf.constant(1)
        session = tf.Session(cluster.target())
        session.run(one)
        session.close()
        with expect(RuntimeError, "closed"):
            session.run(one)
        for _ in range(20):
            assert run(cluster.target(), one) == 1


@test(limit=60, **PAIR)
def training_between_graphs_learns(cluster):
    """Two workers, Adagrad, variables on the ps: the loss falls."""
    rng = np.random.RandomState(0)
    xs = rng.rand(200, 5).astype(np.float32)
    ys = xs @ np.arange(5, dtype=np.float32)[:, None]
    with graph():
        with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [5, 1])
            x = tf.placeholder(tf.float32, [None, 5])
            y = tf.placeholder(tf.float32, [None, 1])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            train = tf.train.AdagradOptimizer(1.0).minimize(
                loss, global_step=step)
        first = tf.Session(cluster.target("worker", 0))
        second = tf.Session(cluster.target("worker", 1))
        first.run(tf.global_variables_initializer())
        before = first.run(loss, {x: xs, y: ys})
        for i in range(60):
            (first, second)[i % 2].run(train, {x: xs, y: ys})
        assert second.run(step) == 60
        assert second.run(loss, {x: xs, y: ys}) < before / 20
