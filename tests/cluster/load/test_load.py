"""Many clients, many sessions, much data: values stay exact, memory stays."""
import os
import threading
import time

from tests.cluster.client import (expect, graph, kept_session, np,
                                  plain_config, tf)
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.runner import die_with_parent
from tests.cluster.suite import Skip, test
from tests.cluster.watch import metric, metrics, resident

TFD = dict(tfd_only=True)
CLIENTS, STEPS = 16, 50
MB = 1 << 20


def in_children(function, count):
    """Runs function(i) in `count` processes; all must end well."""
    pids = []
    for i in range(count):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                die_with_parent()
                function(i)
                status = 0
            finally:
                os._exit(status)
        pids.append(pid)
    failed = [pid for pid in pids if os.waitpid(pid, 0)[1] != 0]
    assert not failed, "%d of %d clients failed" % (len(failed), count)


def add_steps(target, make_add):
    """One client: STEPS additions through a session of its own."""
    with graph():
        add = make_add()
        with tf.Session(target, config=plain_config()) as session:
            for _ in range(STEPS):
                session.run(add)


def reference(use_locking):
    v = tf.get_variable("v", [1000], initializer=tf.zeros_initializer(),
                        use_resource=False)
    return v, lambda: tf.assign_add(v, tf.ones([1000]),
                                    use_locking=use_locking).op


def resource(_):
    v = tf.get_variable("v", [1000], initializer=tf.zeros_initializer(),
                        use_resource=True)
    return v, lambda: v.assign_add(tf.ones([1000])).op


def exact_sums(server, make, use_locking):
    """Clients of two workers add to one variable of the ps."""
    with Cluster(server, ps=1, worker=2) as cluster:
        def device():
            return tf.device("/job:ps")

        def client(i):
            def make_add():
                with device():
                    return make(use_locking)[1]()
            add_steps(cluster.target("worker", i % 2), make_add)

        def initialise(_):
            with graph(), device():
                v, _ = make(use_locking)
                with tf.Session(cluster.target()) as session:
                    session.run(v.initializer)

        in_children(initialise, 1)
        in_children(client, CLIENTS)
        with graph(), device():
            v, _ = make(use_locking)
            with tf.Session(cluster.target()) as session:
                total = session.run(v)
        np.testing.assert_array_equal(
            total, np.full([1000], CLIENTS * STEPS, np.float32))


@test(limit=120)
def sums_with_locking_are_exact(server):
    exact_sums(server, reference, True)


@test(limit=120, **TFD)
def sums_without_locking_are_exact(server):
    exact_sums(server, reference, False)


@test(limit=120)
def sums_of_a_resource_variable_are_exact(server):
    exact_sums(server, resource, None)


@test(limit=120)
def dense_and_sparse_gradients_of_many_clients_are_exact(server):
    """Gradient descent whose gradients are whole numbers."""
    with Cluster(server, ps=1, worker=2) as cluster:
        def build():
            with tf.device("/job:ps"):
                v = tf.get_variable("v", [64, 8],
                                    initializer=tf.zeros_initializer())
            return v, tf.IndexedSlices(tf.ones([2, 8]), tf.constant([3, 5]),
                                       [64, 8])

        def client(i):
            def make_add():
                v, slices = build()
                optimizer = tf.train.GradientDescentOptimizer(1.0, i % 4 < 2)
                gradient = slices if i % 2 else tf.ones([64, 8])
                return optimizer.apply_gradients([(gradient, v)])
            add_steps(cluster.target("worker", i % 2), make_add)

        def initialise(_):
            with graph():
                v, _ = build()
                with tf.Session(cluster.target()) as session:
                    session.run(v.initializer)

        in_children(initialise, 1)
        in_children(client, CLIENTS)
        with graph():
            v, _ = build()
            with tf.Session(cluster.target()) as session:
                got = session.run(v)
        want = np.full([64, 8], -CLIENTS / 2 * STEPS, np.float32)
        want[[3, 5]] *= 2
        np.testing.assert_array_equal(got, want)


# ---- Sessions ---------------------------------------------------------------

def open_sessions(target, count, nodes, close):
    """Sessions with a graph of so many nodes that was run once."""
    for _ in range(count):
        with graph():
            with tf.device("/job:ps"):
                x = tf.constant(1.0)
                for _ in range(nodes - 2):
                    x = tf.negative(x)
            x = tf.identity(x)
            session = (tf.Session if close else kept_session)(
                target, config=plain_config())
            session.run(x)
            if close:
                session.close()


def sessions_leave_memory(server, close):
    flags = [] if close else ["--session_idle=500ms"]
    with Cluster(server, flags, ps=1, worker=1) as cluster:
        tasks = list(cluster.tasks.values())

        def some(_):
            open_sessions(cluster.target(), 25, 200, close)

        def none_left():
            return all(metric(t, "tfd_worker_sessions") == 0 for t in tasks)

        in_children(some, 1)  # what the first use of everything costs
        wait_until(none_left, 30, "the end of all sessions")
        before = [resident(t) for t in tasks]
        for _ in range(8):
            in_children(some, 1)
            wait_until(none_left, 30, "the end of all sessions")
        grown = [resident(t) - b for t, b in zip(tasks, before)]
        print("200 sessions: %s MB" % [round(g / MB, 1) for g in grown])
        assert max(grown) < 4 * MB, grown
        assert all(metric(t, "tfd_worker_graphs") == 0 for t in tasks)


@test(limit=120, **TFD)
def two_hundred_sessions_leave_memory_where_it_was(server):
    sessions_leave_memory(server, True)


@test(limit=120, **TFD)
def two_hundred_abandoned_sessions_do_so_too(server):
    sessions_leave_memory(server, False)


# ---- Much data --------------------------------------------------------------

def there_and_back(server, size, limit=None):
    """A tensor of so many bytes: feed, another task, fetch."""
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        fed = tf.placeholder(tf.float32, [None])
        with tf.device("/job:ps"):
            there = fed + 1.0
        with tf.device("/job:worker"):
            back = there * 2.0
        value = np.arange(size // 4, dtype=np.float32) % 1000
        with tf.Session(cluster.target(), config=plain_config()) as session:
            start = time.monotonic()
            got = session.run(back, {fed: value})
            print("%d MB: %.1f s" % (size / MB, time.monotonic() - start))
        value += 1.0
        value *= 2.0
        assert np.array_equal(got, value)


@test(limit=60)
def a_hundred_megabytes_end_to_end(server):
    there_and_back(server, 100 * MB)


def free_memory():
    with open("/proc/meminfo") as info:
        for line in info:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


@test(limit=600, rare=True)
def almost_two_gigabytes_end_to_end(server):
    """protobuf's limit is 2^31 - 1 bytes with everything around it."""
    if free_memory() < 16 << 30:
        raise Skip("needs 16 GiB of free memory")
    there_and_back(server, (2 << 30) - 2 * MB)


@test(limit=120, **TFD)
def more_than_gigabytes_is_an_error(server):
    """A fetch that gRPC cannot carry; the server goes on."""
    if free_memory() < 12 << 30:
        raise Skip("needs 12 GiB of free memory")
    with Cluster(server, worker=1) as cluster, graph():
        big = tf.fill([(2 << 30) // 4], 1.0)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            with expect(tf.errors.ResourceExhaustedError, "gRPC"):
                session.run(big)
            assert session.run(tf.reduce_sum(big[:5])) == 5.0


# ---- Memory -----------------------------------------------------------------

def most_memory(task, thread):
    """The largest resident size while a thread runs."""
    most = 0
    while thread.is_alive():
        most = max(most, resident(task))
        thread.join(0.02)
    return most


def outrun(cluster, size, clients, steps):
    """Clients whose feeds of `size` bytes a slow ps must add to a variable."""
    def client(i):
        with graph():
            fed = tf.placeholder(tf.float32, [size // 4])
            with tf.device("/job:ps"):
                v = tf.get_variable("v", [size // 4], use_resource=True,
                                    initializer=tf.zeros_initializer())
                x = fed
                for _ in range(20):  # what makes the ps slower than them
                    x = tf.sqrt(tf.square(x))
                add = v.assign_add(x).op
            value = np.ones([size // 4], np.float32)
            config = plain_config()
            with tf.Session(cluster.target("worker", i % 2),
                            config=config) as session:
                threads = [threading.Thread(target=lambda: [
                    session.run(add, {fed: value}) for _ in range(steps)])
                    for _ in range(4)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()

    in_children(client, clients)
    return clients * 4 * steps


def init_and_read(cluster, size, initialise):
    reading, writing = os.pipe()

    def work(_):
        with graph():
            with tf.device("/job:ps"):
                v = tf.get_variable("v", [size // 4], use_resource=True,
                                    initializer=tf.zeros_initializer())
            with tf.Session(cluster.target()) as session:
                if initialise:
                    session.run(v.initializer)
                low, high = session.run([tf.reduce_min(v), tf.reduce_max(v)])
            os.write(writing, b"%g %g" % (low, high))

    in_children(work, 1)
    return tuple(map(float, os.read(reading, 100).split()))


def memory_stays_under(server, limit, size, clients, steps):
    with Cluster(server, start=False, ps=1, worker=2) as cluster:
        ps = cluster.start("ps", 0, flags=["--memory_limit=%d" % limit,
                                           "--threads=1"])
        for i in (0, 1):
            cluster.start("worker", i)
        init_and_read(cluster, size, True)
        done = []
        thread = threading.Thread(
            target=lambda: done.append(outrun(cluster, size, clients, steps)))
        thread.start()
        most = most_memory(ps, thread)
        assert done, "a client failed"
        said = metrics(ps)
        print("most %.0f MB of %.0f MB, %d pauses" % (
            most / MB, limit / MB, said["tfd_intake_pauses_total"]))
        assert init_and_read(cluster, size, False) == (done[0], done[0])
        assert said["tfd_memory_limit_bytes"] == limit
        assert said["tfd_intake_pauses_total"] > 0
        assert said["tfd_intake_waiting"] == 0
        assert "reading_paused" in ps.log_text()
        assert most < limit + 30 * MB, "%.0f MB" % (most / MB)


@test(limit=120, **TFD)
def a_ps_that_is_outrun_keeps_its_memory_under_the_limit(server):
    memory_stays_under(server, 200 * MB, 8 * MB, 6, 6)


@test(limit=120, **TFD)
def a_ps_whose_limit_is_almost_used_up_serves_one_by_one(server):
    """The variable alone takes half of it."""
    memory_stays_under(server, 120 * MB, 16 * MB, 4, 3)
