"""Values that go from a card of one process to one of another on this host;
skipped, with the server's reason, without a card."""
import re
import threading
import time

from tests.cluster.client import equal, expect, graph, kept_session, np, tf
from tests.cluster.cluster import Cluster
from tests.cluster.suite import Skip, test
from tests.cluster.gpu.test_gpu import GPU, LIMITED, MIB, metric, need_a_card

STEPS = 4  # the first goes by the host, while the peer maps the memory
COPIED = "tfd_gpu_peer_bytes_total"


def copied(cluster, worker=1):
    return metric(cluster["worker", worker], COPIED)


def need_cards(cluster):
    """Two that can map each other's memory, which not every driver allows."""
    need_a_card(cluster)
    need_a_card(cluster, ("worker", 1))
    with graph(), tf.Session(cluster.target()) as session:
        x = tf.placeholder(tf.float32, [MIB])
        y = there(tf.float32, x)
        for _ in range(STEPS):
            session.run(y, {x: np.zeros([MIB], np.float32)})
    log = cluster["worker", 0].log_text()
    refused = re.search(r'no_peer_copies .*why="(.*)"', log)
    if refused:
        raise Skip("no peer copies: %s" % refused.group(1))
    assert copied(cluster) > 0


def sample(dtype, count):
    values = np.arange(count) % 101
    return (values % 3 == 0) if dtype == tf.bool else values.astype(
        dtype.as_numpy_dtype)


def there(dtype, x):
    """From task 0 to task 1: what kernels make, and kernels take."""
    if dtype == tf.bool:
        with tf.device(GPU % 0):
            x = tf.logical_not(x)
        with tf.device(GPU % 1):
            return tf.logical_not(x)
    with tf.device(GPU % 0):
        x = x + x
    with tf.device(GPU % 1):
        return x - tf.constant(1, dtype)


def want_there(dtype, fed):
    return fed if dtype == tf.bool else (fed + fed - fed.dtype.type(1))


@test(limit=240, tfd_only=True, worker=2, flags=LIMITED)
def values_go_from_card_to_card(cluster):
    """Types and sizes, both below and above what is worth it."""
    need_cards(cluster)
    for dtype in (tf.float32, tf.half, tf.int64, tf.bool):
        for size in (4, MIB):
            count = max(1, size // dtype.size)
            fed, before = sample(dtype, count), copied(cluster)
            with graph(), tf.Session(cluster.target()) as session:
                x = tf.placeholder(dtype, [count])
                y = there(dtype, x)
                for step in range(STEPS):
                    got = session.run(y, {x: np.roll(fed, step)})
                    equal(got, want_there(dtype, np.roll(fed, step)))
            made = copied(cluster) - before
            assert (made >= (STEPS - 2) * size) == (size == MIB), made
            assert made % size == 0 and made <= STEPS * size, made


@test(limit=240, tfd_only=True, worker=2, flags=LIMITED)
def large_values_go_from_card_to_card(cluster):
    need_cards(cluster)
    before = copied(cluster)
    count = 64 * MIB // 4
    fed = np.arange(count, dtype=np.float32)
    with graph(), tf.Session(cluster.target("worker", 1)) as session:
        x = tf.placeholder(tf.float32, [count])
        with tf.device(GPU % 0):
            y = tf.identity(x)
        with tf.device(GPU % 1):
            y = tf.identity(y)
        for step in range(3):
            got = session.run(y, {x: fed + np.float32(step)})
            equal(got, fed + np.float32(step))
    assert copied(cluster) - before >= 64 * MIB


@test(limit=240, tfd_only=True, worker=2, flags=LIMITED)
def values_go_both_ways_in_loops(cluster):
    need_cards(cluster)
    with graph(), tf.Session(cluster.target()) as session:
        fed = tf.placeholder(tf.float32, [MIB // 4])

        def body(i, x):
            with tf.device(GPU % 1):
                x = x * 2.0
            with tf.device(GPU % 0):
                x = x + 1.0
            return i + 1, x

        y = tf.while_loop(lambda i, x: i < 6, body, [0, fed])
        for step in range(STEPS):
            want = np.full([MIB // 4], step, np.float32)
            got = session.run(y[1], {fed: want})
            for _ in range(6):
                want = want * 2 + 1
            equal(got, want)
    for worker in (0, 1):
        assert copied(cluster, worker) >= 6 * MIB


@test(limit=240, tfd_only=True, worker=2, flags=LIMITED)
def variables_that_are_sent_keep_their_values(cluster):
    """The next step updates while a value of the last is copied."""
    need_cards(cluster)
    with graph(), tf.Session(cluster.target()) as session:
        with tf.device(GPU % 0):
            v = tf.Variable(tf.zeros([MIB // 4]), use_resource=True)
            add = v.assign_add(tf.ones([MIB // 4]))
            with tf.control_dependencies([add]):
                value = v.read_value()
        with tf.device(GPU % 1):
            least, most = tf.reduce_min(value), tf.reduce_max(value)
        session.run(v.initializer)
        for step in range(20):
            assert session.run([least, most]) == [step + 1, step + 1]
    assert copied(cluster) >= 10 * MIB


def run_until_it_fails(session, y, feed, errors):
    try:
        while True:
            session.run(y, feed)
    except tf.errors.OpError as error:
        errors.append(error)


def killed(cluster, victim):
    """A task is killed while values go to and fro."""
    need_cards(cluster)
    master = 1 - victim
    errors = []
    with graph():
        x = tf.placeholder(tf.float32, [MIB])
        y = tf.identity(x)
        for step in range(8):
            with tf.device(GPU % (step % 2)):
                y = y + 1.0
        y = tf.reduce_max(y)
        session = kept_session(cluster.target("worker", master))
        feed = {x: np.zeros([MIB], np.float32)}
        for _ in range(2):
            assert session.run(y, feed) == 8
        thread = threading.Thread(target=run_until_it_fails,
                                  args=(session, y, feed, errors))
        before = copied(cluster, master)
        thread.start()
        end = time.monotonic() + 60
        while copied(cluster, master) < before + 8 * 4 * MIB:
            assert time.monotonic() < end and thread.is_alive()
        cluster["worker", victim].kill()
        thread.join(60)
        assert not thread.is_alive() and errors
        assert isinstance(errors[0], (tf.errors.UnavailableError,
                                      tf.errors.AbortedError)), errors
        cluster.start("worker", victim)
        again = kept_session(cluster.target("worker", master))
        before = copied(cluster, master)
        for _ in range(STEPS):
            assert again.run(y, feed) == 8
        assert copied(cluster, master) > before
        again.close()


@test(limit=240, tfd_only=True)
def a_receiver_is_killed(server):
    with Cluster(server, worker=2, flags=LIMITED) as cluster:
        killed(cluster, 1)


@test(limit=240, tfd_only=True)
def a_sender_is_killed(server):
    with Cluster(server, worker=2, flags=LIMITED) as cluster:
        killed(cluster, 0)


@test(limit=240, tfd_only=True, worker=2, flags=LIMITED + ["--gpu_graphs=off"])
def steps_that_fail_give_their_memory_back(cluster):
    """Values are under way, or never asked for, when a step fails; graphs that
    were captured would keep theirs."""
    need_cards(cluster)
    with graph(), tf.Session(cluster.target()) as session:
        x = tf.placeholder(tf.float32, [MIB])
        at = tf.placeholder(tf.int32, [])
        with tf.device(GPU % 0):
            y = x + 1.0
        with tf.device("/job:worker/task:1/cpu:0"):
            late = tf.gather(tf.constant([0.0, 1.0]), at)
        with tf.device(GPU % 1):
            z = tf.reduce_max(y + late)
        feed = np.zeros([MIB], np.float32)
        for step in range(12):
            if step % 3 != 2:
                assert session.run(z, {x: feed, at: 1}) == 2
                continue
            with expect(tf.errors.InvalidArgumentError):
                session.run(z, {x: feed, at: 7})
        end = time.monotonic() + 20
        for worker in (0, 1):
            task = cluster["worker", worker]
            while metric(task, "tfd_gpu_memory_bytes") >= 4 * MIB:
                assert time.monotonic() < end
    assert copied(cluster) >= 4 * MIB
