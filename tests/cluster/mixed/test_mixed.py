"""tfd beside real TensorFlow servers in one cluster, in every role."""
from tests.cluster.client import (equal, expect, graph, kept_session, np,
                                  plain_config, run, tf)
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.suite import test

PS, CHIEF, OTHER = ("ps", 0), ("worker", 0), ("worker", 1)
# Which tasks a real server runs; the client's target is worker 0.
MIXES = {
    "tfd_as_ps": (CHIEF, OTHER),
    "real_ps": (PS,),
    "real_master": (CHIEF,),
    "tfd_master": (PS, OTHER),
    "real_worker": (OTHER,),
}


def mixed(server, real):
    others = {key: tensorflow_server(server.slow) for key in real}
    return Cluster(server, others=others, ps=1, worker=2)


def device(key):
    return "/job:%s/task:%d" % key


def on_every_mix(limit=120, rare=False):
    """Registers one test for each mix of real and other servers."""
    def register(body):
        for name, real in MIXES.items():
            def one(server, real=real):
                with mixed(server, real) as cluster:
                    body(cluster)
            one.__name__ = "%s__%s" % (body.__name__, name)
            one.__module__ = body.__module__
            test(limit=limit, tfd_only=True, rare=rare)(one)
        return body
    return register


def variable(use_resource, value, name):
    return tf.get_variable(name, initializer=value, use_resource=use_resource)


@on_every_mix()
def variables_train(cluster):
    """A linear model: variables on the ps, both workers compute."""
    for resource in (False, True):
        tf.Session.reset(cluster.target())
        with graph():
            with tf.device(device(PS)):
                w = variable(resource, np.ones([4, 1], np.float32), "w")
                steps = variable(resource, np.int64(0), "steps")
            x = tf.placeholder(tf.float32, [None, 4])
            losses, trains = [], []
            for key in (CHIEF, OTHER):
                with tf.device(device(key)):
                    losses.append(tf.reduce_mean(tf.matmul(x, w) ** 2))
                    trains.append(tf.train.AdagradOptimizer(0.1).minimize(
                        losses[-1], var_list=[w], global_step=steps))
            feed = {x: np.arange(12, dtype=np.float32).reshape(3, 4) / 10}
            with tf.Session(cluster.target(), config=plain_config()) as s:
                s.run(tf.global_variables_initializer())
                for train in trains * 5:
                    s.run(train, feed)
                got = s.run([w, steps] + losses, feed)
        want_w, want_loss = reference_training(feed[x], 10)
        np.testing.assert_allclose(got[0], want_w, rtol=1e-5)
        assert got[1] == 10
        np.testing.assert_allclose(got[2:], [want_loss] * 2, rtol=1e-4)


def reference_training(x, steps):
    """Two Adagrads in turn, each with its own accumulator."""
    w, accumulators = np.ones([4, 1]), [np.full([4, 1], 0.1) for _ in "ab"]
    for step in range(steps):
        gradient = 2 * x.T.astype(float) @ (x @ w) / len(x)
        accumulators[step % 2] += gradient ** 2
        w = w - 0.1 * gradient / np.sqrt(accumulators[step % 2])
    return w, np.mean((x @ w) ** 2)


@on_every_mix()
def every_type_crosses_the_border(cluster):
    values = [
        np.array([[1.5, -2.0], [np.inf, 0.0]], np.float32),
        np.array([b"", b"abc", bytes(range(256)) * 5], object),
        np.array([True, False]), np.zeros([3, 0, 2], np.float64),
        np.array(7, np.int64), np.array([1 + 2j], np.complex64),
        np.arange(200000, dtype=np.int32), np.array([250], np.uint8),
    ]
    with graph():
        placeholders = [tf.placeholder(tf.as_dtype(v.dtype)
                                       if v.dtype != object else tf.string,
                                       v.shape) for v in values]
        tensors = placeholders + [
            tf.cast(tf.constant([1.0, 2.5, -3.0]), tf.bfloat16),
            tf.cast(tf.constant([0.5]), tf.half)]
        for key in (PS, OTHER, CHIEF, PS):
            with tf.device(device(key)):
                tensors = [tf.identity(t) for t in tensors]
        got = run(cluster.target(), tensors,
                  dict(zip(placeholders, values)), plain_config())
    for value, want in zip(got, values):
        equal(value, want)
    assert got[-2].tolist() == [1.0, 2.5, -3.0] and got[-1].tolist() == [0.5]


@on_every_mix()
def loops_and_dead_tensors_cross_the_border(cluster):
    tf.disable_control_flow_v2()
    with graph():
        n = tf.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device(device(PS)):
                x = x * 2.0
            with tf.device(device(OTHER)):
                return i + 1, x + 1.0

        def chosen(where):
            def branch():
                with tf.device(device(where)):
                    return tf.identity(n) * 2
            return branch

        with tf.device(device(CHIEF)):
            loop = tf.while_loop(lambda i, x: i < n, body, [0, 1.0])
            either = tf.cond(n > 3, chosen(PS), chosen(OTHER))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for count in (0, 1, 2, 25):
                got = session.run([loop, either], {n: count})
                assert got[0] == (count, 2.0 ** (count + 1) - 1), got
                assert got[1] == 2 * count


@on_every_mix()
def errors_name_the_node(cluster):
    for key in (PS, CHIEF, OTHER):
        with graph():
            x = tf.placeholder(tf.int32, [])
            with tf.device(device(key)):
                y = tf.gather([1, 2, 3], x, name="lookup")
            with tf.device(device(PS)):
                z = y + 1
            with tf.Session(cluster.target(), config=plain_config()) as s:
                with expect(tf.errors.InvalidArgumentError, "lookup",
                            "= 5 is not in [0, 3)"):
                    s.run(z, {x: 5})
                assert s.run(z, {x: 1}) == 3


@on_every_mix()
def a_thousand_variables(cluster):
    tf.Session.reset(cluster.target())
    with graph():
        made = []
        for number in range(1000):
            with tf.device(device((PS, CHIEF, OTHER)[number % 3])):
                made.append(variable(number % 2 == 0, np.float32(number),
                                     "v%d" % number))
        total = tf.add_n([tf.identity(v) for v in made])
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(total) == sum(range(1000))


@on_every_mix(limit=180)
def a_large_tensor_crosses_the_border(cluster):
    """256 MiB there and back."""
    count = 1 << 26
    with graph():
        with tf.device(device(PS)):
            large = tf.fill([count], 1.5)
        with tf.device(device(OTHER)):
            back = large * 2.0
        with tf.device(device(PS)):
            sums = tf.reduce_sum(back), tf.size(back), back[-1]
        got = run(cluster.target(), sums, None, plain_config())
    assert got[1:] == (count, 3.0) and abs(got[0] / (3.0 * count) - 1) < 1e-3


@test(limit=120, tfd_only=True)
def a_real_worker_comes_back(server):
    with mixed(server, (OTHER,)) as cluster, graph():
        with tf.device(device(PS)):
            v = tf.get_variable("v", initializer=1.0)
        with tf.device(device(OTHER)):
            bump = v.assign_add(tf.identity(2.0))
        session = kept_session(cluster.target(), config=plain_config())
        session.run(v.initializer)
        assert session.run(bump) == 3.0
        cluster[OTHER].kill()
        with expect((tf.errors.UnavailableError, tf.errors.AbortedError),
                    "/job:worker/replica:0/task:1"):
            session.run(bump)
        cluster.start(*OTHER)
        with tf.Session(cluster.target(), config=plain_config()) as again:
            assert again.run(bump) == 5.0


@test(limit=120, tfd_only=True)
def a_tfd_ps_comes_back_to_a_real_master(server):
    with mixed(server, (CHIEF, OTHER)) as cluster, graph():
        with tf.device(device(PS)):
            v = tf.get_variable("v", initializer=1.0)
        with tf.device(device(OTHER)):
            bump = v.assign_add(tf.identity(2.0))
        session = kept_session(cluster.target(), config=plain_config())
        session.run(v.initializer)
        assert session.run(bump) == 3.0
        cluster[PS].kill()
        with expect((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(bump)
        cluster.start(*PS)
        with expect((tf.errors.UnavailableError, tf.errors.AbortedError)):
            for _ in range(3):
                session.run(bump)
        with tf.Session(cluster.target(), config=plain_config()) as again:
            again.run(v.initializer)
            assert again.run(bump) == 3.0
