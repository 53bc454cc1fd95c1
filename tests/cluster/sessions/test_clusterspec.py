"""Sessions that bring a cluster of their own (ConfigProto.cluster_def)."""
from tests.cluster.client import (expect, failing_op, graph, kept_session, run,
                                  tf)
from tests.cluster.cluster import Cluster
from tests.cluster.ports import free_ports
from tests.cluster.suite import test
from tests.cluster.mixed.test_mixed_contract import MIXES, mixed

PAIR = dict(ps=1, worker=2)
NAME = "/job:w/replica:0/task:%d/device:CPU:0"


def config(jobs, **fields):
    """jobs: name -> addresses."""
    made = tf.ConfigProto(**fields)
    for name, addresses in jobs.items():
        job = made.cluster_def.job.add(name=name)
        for index, address in enumerate(addresses):
            job.tasks[index] = address
    return made


def two(cluster, **fields):
    """Worker 0 and the ps as tasks of a job w."""
    return config({"w": [cluster[t].address for t in (
        ("worker", 0), ("ps", 0))]}, **fields)


def counter():
    """A variable on task 1 of w, read on task 0."""
    with tf.device("/job:w/task:1"):
        v = tf.Variable(1.0, use_resource=True)
    with tf.device("/job:w/task:0"):
        return v, v + 1


@test(**PAIR)
def tasks_have_the_names_that_the_session_gives(cluster):
    for _ in range(3):
        with graph(), tf.Session(cluster.target(),
                                 config=two(cluster)) as session:
            v, plus = counter()
            session.run(v.initializer)
            assert session.run(plus) == 2.0
            names = [d.name for d in session.list_devices()]
            assert names == [NAME % 0, NAME % 1], names
    with graph(), tf.Session(cluster.target()) as session:  # the old ones are
        names = {d.name for d in session.list_devices()}    # as they were
        assert "/job:ps/replica:0/task:0/device:CPU:0" in names, names
        assert len(names) == 3, names


@test(**PAIR)
def such_sessions_keep_their_variables_to_themselves(cluster):
    with graph():
        v, plus = counter()
        one, other = (tf.Session(cluster.target(), config=two(cluster))
                      for _ in range(2))
        one.run(v.initializer)
        assert one.run(plus) == 2.0
        with expect(tf.errors.FailedPreconditionError):
            other.run(plus)
    with graph():
        shared = two(cluster)
        shared.experimental.share_session_state_in_clusterspec_propagation = \
            True
        v, plus = counter()
        run(cluster.target(), v.initializer, config=shared)
        assert run(cluster.target(), plus, config=shared) == 2.0


@test(**PAIR)
def their_errors_name_the_new_tasks(cluster):
    for index in range(2):
        with graph():
            with tf.device("/job:w/task:%d" % index):
                op = failing_op("reads_nothing")
            with expect(tf.errors.NotFoundError,
                        "From /job:w/replica:0/task:%d:\n" % index,
                        "[[{{node reads_nothing}}]]"):
                run(cluster.target(), op, config=two(cluster))


@test(**PAIR)
def filters_and_loops_know_the_new_names(cluster):
    filtered = two(cluster, device_filters=["/job:w/task:0"])
    with graph(), tf.Session(cluster.target(), config=filtered) as session:
        assert [d.name for d in session.list_devices()] == [NAME % 0]
    with graph():
        tf.disable_control_flow_v2()
        with tf.device("/job:w/task:1"):
            start = tf.placeholder_with_default(0, [])
            loop = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [start])
        with tf.device("/job:w/task:0"):
            doubled = loop * 2
        assert run(cluster.target(), doubled, config=two(cluster)) == 10
        assert run(cluster.target(), doubled, {start: 2},
                   config=two(cluster)) == 10


@test(**PAIR)
def a_cluster_of_one_needs_no_other(cluster):
    alone = config({"solo": [cluster["worker", 0].address]})
    with graph(), tf.Session(cluster.target(), config=alone) as session:
        assert session.run(tf.constant(1.0) + 1) == 2.0
        assert [d.name for d in session.list_devices()] == [
            "/job:solo/replica:0/task:0/device:CPU:0"]
    with graph():
        nothing = tf.ConfigProto()
        nothing.cluster_def.SetInParent()
        assert run(cluster.target(), tf.constant(1.0) + 1,
                   config=nothing) == 2.0


@test(**PAIR)
def clusters_that_cannot_be_are_refused(cluster):
    here, there = (cluster["worker", i].address for i in range(2))
    double = config({"w": [here]})
    double.cluster_def.job.add(name="w").tasks[1] = there
    for made, text in (
            (config({"w": [there]}), "The master (current machine) is not "
             "included in the provided cluster_def"),
            (config({"w": []}), "is not included in the provided cluster_def"),
            (config({"w": [here, here]}), "Found multiple matching tasks that "
             "correspond to to the master. Master target: 'grpc://" + here),
            (config({"w": [here], "x": [here]}), "Found multiple matching"),
            (config({"worker": [here], "ps": [there]}), "The ClusterSpec names "
             "the job and task index to be the same names that were provided "
             "when the server booted. This is currently not allowed. Job: "
             "worker, task index: 0"),
            (config({"w": [here, "nonsense"]}),
             'Could not interpret "nonsense" as a host-port pair'),
            (double, "Duplicate job ID in cluster specification: w")):
        with graph(), expect(tf.errors.InvalidArgumentError, text):
            run(cluster.target(), tf.constant(1.0), config=made)


def spread(cluster, i):
    """All three servers as tasks of job<i>: a session of its own cluster."""
    return config({"job%d" % i: [cluster[t].address for t in (
        ("worker", 0), ("ps", 0), ("worker", 1))]})


def across(i):
    """A value that goes from task 1 over task 2 to task 0."""
    with tf.device("/job:job%d/task:1" % i):
        v = tf.Variable(float(i), use_resource=True)
    with tf.device("/job:job%d/task:2" % i):
        doubled = v * 2
    with tf.device("/job:job%d/task:0" % i):
        return v.initializer, doubled + 1


@test(limit=60, tfd_only=True)
def tasks_that_were_unknown_at_start_push_values(server):
    """Ever new names: each server sends to peers by numbers beyond those of
    its own cluster.  Then one of them goes, with sessions open."""
    with Cluster(server, flags=["--peer_wait=20s"], ps=1, worker=2) as cluster:
        kept = []
        for i in range(24):
            with graph():
                init, value = across(i)
                session = kept_session(cluster.target(),
                                       config=spread(cluster, i))
                session.run(init)
                assert session.run(value) == 2 * i + 1
                if i % 3:
                    session.close()
                else:
                    kept.append((session, value))
        cluster["ps", 0].kill()
        for session, value in kept:
            with expect((tf.errors.UnavailableError, tf.errors.AbortedError)):
                session.run(value)
        cluster.start("ps", 0)
        for i in range(30, 34):
            with graph():
                init, value = across(i)
                with tf.Session(cluster.target(),
                                config=spread(cluster, i)) as session:
                    session.run(init)
                    assert session.run(value) == 2 * i + 1
        for session, _ in kept:
            session.close()


@test(limit=60, tfd_only=True)
def clusters_go_with_their_sessions(server):
    """As many as there are sessions, and a limit on those that are open; those
    that cannot be leave nothing behind."""
    with Cluster(server, flags=["--peer_wait=200ms"], worker=1) as cluster:
        here = cluster["worker", 0].address
        nobody = "127.0.0.1:%d" % free_ports(1)[0]
        with graph():
            value = tf.constant(1.0) + 1
            for i in range(150):
                assert run(cluster.target(), value, config=config(
                    {"job%d" % i: [here]})) == 2.0
            for i in range(70):
                with expect(tf.errors.InvalidArgumentError):
                    run(cluster.target(), value,
                        config=config({"job%d" % i: [here, "nonsense"]}))
            for i in range(5):
                with expect(tf.errors.DeadlineExceededError, nobody):
                    run(cluster.target(), value,
                        config=config({"gone%d" % i: [here, nobody]}))
            held = [kept_session(cluster.target(), config=config(
                {"held%d" % i: [here]})) for i in range(64)]
            for session in held:
                assert session.run(value) == 2.0
            with expect(tf.errors.ResourceExhaustedError, "64 clusters"):
                run(cluster.target(), value, config=config({"more": [here]}))
            assert run(cluster.target(), value, config=config(
                {"held3": [here]})) == 2.0
            held.pop().close()
            assert run(cluster.target(), value,
                       config=config({"more": [here]})) == 2.0
            for session in held:
                assert session.run(value) == 2.0
                session.close()


@test(limit=150, tfd_only=True)
def clusters_of_a_session_span_real_servers(server):
    for mix in MIXES:
        with mixed(server, *mix) as cluster:
            with graph(), tf.Session(cluster.target(),
                                     config=two(cluster)) as session:
                v, plus = counter()
                session.run(v.initializer)
                for _ in range(3):
                    assert session.run(plus) == 2.0
                assert len(session.list_devices()) == 2
