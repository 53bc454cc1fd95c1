"""Tensors of a GiB and more: between tfd and TensorFlow, and what they cost."""
import itertools
import os

from tests.cluster.mixed import test_mixed as mixed
from tests.cluster.client import expect, graph, np, plain_config, run, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.raw import Raw, message
from tests.cluster.stream import Call, field, varint
from tests.cluster.suite import Skip, test
from tests.cluster.mixed.test_mixed import on_every_mix

MB, GB = 1 << 20, 1 << 30
PS, WORKER = "/job:ps", "/job:worker/task:0"
RUN_STEP = "/tensorflow.MasterService/RunStep"
TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def needs(gigabytes):
    with open("/proc/meminfo") as info:
        free = next(int(line.split()[1]) * 1024 for line in info
                    if line.startswith("MemAvailable:"))
    if free < gigabytes * GB:
        raise Skip("needs %d GiB of free memory, %.1f are there" % (
            gigabytes, free / GB))


def with_real(server, *real):
    return Cluster(server, ps=1, worker=1, others={
        key: tensorflow_server(server.slow) for key in real})


# ---- Across the border ------------------------------------------------------


def a_gigabyte(cluster, source, sink):
    """Every element is another number, and the sum has no rounding."""
    count = GB // 8
    with graph():
        n = tf.placeholder(tf.int64, [])
        with tf.device(source):
            large = tf.range(n)
        with tf.device(sink):
            got = [tf.reduce_sum(large), tf.size(large)] + [
                large[at] for at in (0, 8191, count // 2 + 1, -1)]
        got = run(cluster.target(), got, {n: count}, plain_config())
    assert got == [count * (count - 1) // 2, count, 0, 8191, count // 2 + 1,
                   count - 1], (source, sink, got)


def a_gigabyte_each_way(cluster):
    for ends in ((PS, WORKER), (WORKER, PS)):
        a_gigabyte(cluster, *ends)


@test(limit=300, tfd_only=True)
def a_gigabyte_between_a_real_ps_and_a_tfd_worker(server):
    needs(8)
    with with_real(server, ("ps", 0)) as cluster:
        a_gigabyte_each_way(cluster)


@test(limit=300, tfd_only=True)
def a_gigabyte_between_a_tfd_ps_and_a_real_worker(server):
    needs(8)
    with with_real(server, ("worker", 0)) as cluster:
        a_gigabyte_each_way(cluster)


@on_every_mix(limit=400, rare=True)
def a_gigabyte_from_each_task_to_each(cluster):
    """Two tasks of one kind included: the master may be of the other."""
    for source, sink in itertools.permutations((mixed.PS, mixed.CHIEF,
                                                mixed.OTHER), 2):
        needs(8)
        a_gigabyte(cluster, mixed.device(source), mixed.device(sink))


# ---- What a byte costs ------------------------------------------------------


def computed(*tasks):
    """Seconds of computing.  What the kernel does for them is left out: fresh
    pages cost it, on some hosts, far more than all the rest."""
    total = 0
    for task in tasks:
        with open("/proc/%d/stat" % task.process.pid) as stat:
            total += int(stat.read().rpartition(")")[2].split()[11])
    return total * TICK


def check_linear(send, tasks, small=128 * MB, times=15):
    """The same bytes in one piece cost about as much as in many."""
    send(small)
    before = computed(*tasks)
    for _ in range(times):
        send(small)
    many = computed(*tasks) - before
    send(small * times)
    one = computed(*tasks) - before - many
    assert one < 4 * many + 0.5, "%.2f s, in %d pieces %.2f s" % (
        one, times, many)


def feed_of(handle, size):
    """A RunStepRequest that feeds so many bytes of zeros to p."""
    shape = b"\x08" + varint(size // 4)
    tensor = (b"\x08\x01",) + field(2, *field(2, shape)) + field(4, size)
    named = field(1, b"p:0") + field(2, *tensor)
    return (field(1, handle.encode()) + field(2, *named) +
            field(3, b"size:0"))


@test(limit=300, tfd_only=True)
def requests_of_all_sizes_cost_the_same_a_byte(server):
    """Up to almost 2 GiB, the largest there can be."""
    needs(4)
    with Cluster(server, worker=1) as cluster, graph() as g:
        p = tf.placeholder(tf.float32, [None], name="p")
        tf.size(p, name="size")
        task = cluster["worker", 0]
        handle = Raw(task.address).create(g.as_graph_def())

        def send(size):
            reply = message("RunStepResponse").FromString(
                Call(task.port, RUN_STEP).send(feed_of(handle, size)))
            assert tf.make_ndarray(reply.tensor[0].tensor) == size // 4

        check_linear(send, [task])


@test(limit=300, tfd_only=True)
def pushed_tensors_of_all_sizes_cost_the_same_a_byte(server):
    needs(8)
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        n = tf.placeholder(tf.int32, [])
        with tf.device(PS):
            large = tf.fill([n], 1.5)
        with tf.device(WORKER):
            fetches = [tf.size(large), large[-1]]
        with tf.Session(cluster.target(), config=plain_config()) as session:
            def send(size):
                assert session.run(fetches, {n: size // 4}) == [size // 4, 1.5]

            check_linear(send, [cluster["ps", 0], cluster["worker", 0]])


# ---- Too large --------------------------------------------------------------


@test(limit=60, tfd_only=True)
def a_request_of_more_than_two_gigabytes_is_refused_at_once(server):
    """By what it announces; the connections of others do not notice."""
    with Cluster(server, worker=1) as cluster, graph():
        with tf.Session(cluster.target()) as session:
            for claimed in (2 * GB, 2 * GB + 1, (1 << 32) - 1):
                reply = Call(cluster["worker", 0].port, RUN_STEP).send(
                    [1 << 20], claimed)
                assert reply == b""
            assert session.run(tf.fill([2], 2.0)).tolist() == [2.0, 2.0]


@test(limit=120, tfd_only=True)
def a_real_worker_cannot_have_more_than_two_gigabytes(server):
    needs(6)
    with with_real(server, ("worker", 0)) as cluster, graph():
        n = tf.placeholder(tf.int32, [])
        with tf.device(PS):
            large = tf.fill([n], np.float32(1.5))
        with tf.device(WORKER):
            last = large[-1]
        with tf.Session(cluster.target(), config=plain_config()) as session:
            with expect(tf.errors.ResourceExhaustedError,
                        "gRPC message of 21474836", "the limit is 2147483647"):
                session.run(last, {n: 2 * GB // 4})
            assert session.run(last, {n: 2}) == 1.5
