"""The session contract where some tasks are tfd and others a real server."""
import contextlib

from tests.cluster.client import expect, failing_op, graph, np, plain_config, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.suite import test
from tests.cluster.sessions.test_callables import options, sum_and_product
from tests.cluster.sessions.test_tracing import (DEVICES, FULL, network,
                                        nodes_by_device, traced)

TASKS = [("ps", 0), ("worker", 0), ("worker", 1)]


@contextlib.contextmanager
def mixed(server, *real):
    """A cluster of ps 0 and workers 0 and 1, of which some are real."""
    with Cluster(server, start=False, ps=1, worker=2) as cluster:
        for task in real:
            cluster[task].server = tensorflow_server()
        cluster.start_all()
        yield cluster


# The master is worker 0: a real one over tfds, a tfd over real ones.
MIXES = [[("worker", 0)], [("ps", 0), ("worker", 1)]]


def traces_of(cluster, rpc):
    with graph(), tf.Session(cluster.target(),
                             config=plain_config()) as session:
        v, x, product = network()
        session.run(v.initializer)
        value, metadata = traced(session, product, {x: np.ones(4)},
                                 output_partition_graphs=True, **FULL)
        assert value == [[14.0]]
        found = nodes_by_device(metadata)
        assert sorted(found) == sorted(DEVICES), list(found)
        assert "ReadVariableOp" in " ".join(found[DEVICES[0]])
        assert {"total", "product"} <= found[DEVICES[2]].keys()
        for device in rpc:
            assert "RecvTensor" in found[device], (device, found[device].keys())
        assert len(metadata.partition_graphs) == 3
        assert session.run(product, {x: np.ones(4)}) == [[14.0]]


@test(limit=120, tfd_only=True)
def a_real_master_traces_tfd_workers(server):
    with mixed(server, *MIXES[0]) as cluster:
        traces_of(cluster, DEVICES[1:])


@test(limit=120, tfd_only=True)
def a_tfd_master_traces_real_workers(server):
    with mixed(server, *MIXES[1]) as cluster:
        traces_of(cluster, DEVICES[1:])


def calls_and_parts_of(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        call = session._make_callable_from_options(
            options(feed=["p:0", "q:0"], fetch=["m:0", "s:0"]))
        for i in np.arange(4, dtype=np.float32):
            assert call(i, np.float32(2)) == [2 * (i + 1), i + 1]
        runs = [session.partial_run_setup([s, m], [p, q]) for _ in range(3)]
        for i, run in enumerate(runs):
            assert session.partial_run(run, s, {p: float(i)}) == i + 1
        for i, run in reversed(list(enumerate(runs))):
            assert session.partial_run(run, m, {q: 2.0}) == 2 * (i + 1)
        session.partial_run(session.partial_run_setup([s, m], [p, q]), s,
                            {p: 1.0})  # and closed with it
    with graph(), tf.Session(cluster.target()) as session:
        p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with tf.device("/job:ps"):
            product = tf.raw_ops.MatMul(a=p, b=p, name="product")
        total = product + q
        run = session.partial_run_setup([product, total], [p, q])
        with expect(tf.errors.InvalidArgumentError, "Matrix size-incompatible",
                    "{{node product}}"):
            session.partial_run(run, product, {p: np.ones((2, 3))})
        run = session.partial_run_setup([product, total], [p, q])
        assert session.partial_run(run, product, {p: [[2.0]]}) == [[4.0]]
        assert session.partial_run(run, total, {q: 1.0}) == [[5.0]]


@test(limit=120, tfd_only=True)
def a_real_master_runs_tfd_workers_in_parts(server):
    with mixed(server, *MIXES[0]) as cluster:
        calls_and_parts_of(cluster)


@test(limit=120, tfd_only=True)
def a_tfd_master_runs_real_workers_in_parts(server):
    with mixed(server, *MIXES[1]) as cluster:
        calls_and_parts_of(cluster)


@test(limit=150, tfd_only=True)
def failures_reach_the_client_across_the_border(server):
    for mix in MIXES:
        with mixed(server, *mix) as cluster:
            for task in ("/job:ps/replica:0/task:0",
                         "/job:worker/replica:0/task:1"):
                with graph():
                    with tf.device(task):
                        op = failing_op("reads_nothing")
                        fine = tf.constant(1.0) + 1
                    with tf.Session(cluster.target()) as session:
                        for _ in range(3):
                            with expect(tf.errors.NotFoundError,
                                        "From %s" % task, "/no/such/file",
                                        "[[{{node reads_nothing}}]]"):
                                session.run(op)
                            assert session.run(fine) == 2.0
