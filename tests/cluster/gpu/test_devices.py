"""Two devices in one task: --device_count=CPU:2."""
from tests.cluster.client import equal, expect, graph, np, run, tf
from tests.cluster.suite import test

TWO = dict(flags=["--device_count=CPU:2"], ps=1, worker=1)
FIRST, SECOND = "/job:worker/task:0/cpu:0", "/job:worker/task:0/cpu:1"


@test(**TWO)
def both_devices_are_listed(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        devices = [d for d in session.list_devices()
                   if d.device_type == "CPU"]
    names = sorted(d.name for d in devices)
    assert names == ["/job:%s/replica:0/task:0/device:CPU:%d" % (job, i)
                     for job in ("ps", "worker") for i in (0, 1)], names
    assert len({d.incarnation for d in devices}) == 4


@test(**TWO)
def values_are_copied_between_the_devices(cluster):
    for dtype in (tf.float32, tf.int32, tf.string, tf.bool, tf.complex64):
        value = np.array([[1, 0, 3], [4, 5, 6]]).astype(
            bytes if dtype == tf.string else dtype.as_numpy_dtype)
        with graph():
            p = tf.placeholder(dtype, None)
            x = p
            for device in (FIRST, SECOND, FIRST, SECOND, "/job:ps/cpu:1"):
                with tf.device(device):
                    x = tf.identity(tf.stack([x, x])[0])
            got = run(cluster.target(), x, {p: value})
            equal(got, value.astype(object) if dtype == tf.string else value)


@test(**TWO)
def a_variable_lives_on_its_device(cluster):
    for resource in (False, True):
        with graph():
            with tf.device(SECOND):
                v = tf.Variable(np.float32([1, 2]), use_resource=resource,
                                name="second%d" % resource)
            with tf.device(FIRST):
                grown = tf.identity(v) * 3.0
            with tf.device(SECOND):
                add = tf.assign_add(v, grown)
            with tf.Session(cluster.target()) as session:
                session.run(v.initializer)
                session.run(add.op)
                session.run(add.op)
                equal(session.run(v), np.float32([16, 32]))


@test(**TWO)
def a_name_without_a_number_is_the_first_device(cluster):
    """Its variable is not the one of the same name on the second."""
    with graph():
        handles = []
        for device in ("/job:worker", FIRST, SECOND):
            with tf.device(device):
                handles.append(tf.raw_ops.VarHandleOp(
                    dtype=tf.int32, shape=[], shared_name="where"))
        raw = tf.raw_ops
        with tf.Session(cluster.target()) as session:
            session.run(raw.AssignVariableOp(resource=handles[0], value=7))
            session.run(raw.AssignVariableOp(resource=handles[2], value=9))
            assert session.run([raw.ReadVariableOp(resource=h, dtype=tf.int32)
                                for h in handles]) == [7, 7, 9]


@test(**TWO)
def control_flow_spans_the_devices(cluster):
    tf.disable_control_flow_v2()
    with graph():
        n = tf.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device(SECOND):
                y = x * 2.0
            with tf.device(FIRST):
                return i + 1, y + 1.0

        with tf.device(FIRST):
            loop = tf.while_loop(lambda i, x: i < n, body, [0, 1.0])[1]
        with tf.device(SECOND):
            choice = tf.cond(n > 3, lambda: loop + 1, lambda: loop - 1)
        with tf.Session(cluster.target()) as session:
            for count in (0, 1, 5, 12):
                want = 2.0 ** (count + 1) - 1
                want += 1 if count > 3 else -1
                assert session.run(choice, {n: count}) == want


@test(**TWO)
def a_third_device_is_refused(cluster):
    with graph(), tf.device("/job:worker/task:0/device:CPU:2"):
        x = tf.constant(1)
        with expect(tf.errors.InvalidArgumentError, "Cannot assign a device",
                    "/job:worker/replica:0/task:0/device:CPU:1"):
            run(cluster.target(), x)


@test(limit=60, **TWO)
def training_across_devices_equals_training_on_one(cluster):
    def losses(target, devices):
        rng = np.random.RandomState(1)
        xs, ys = rng.rand(20, 4), rng.rand(20, 2)
        with graph():
            with tf.device(devices[0]):
                w = tf.Variable(np.full([4, 2], 0.5), use_resource=True)
            with tf.device(devices[1]):
                loss = tf.reduce_mean(tf.square(tf.matmul(xs, w) - ys))
            train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
            with tf.Session(target) as session:
                session.run(w.initializer)
                return [session.run([loss, train])[0] for _ in range(10)]

    both = losses(cluster.target(), (SECOND, FIRST))
    np.testing.assert_allclose(both, losses("", ("", "")), 1e-9)
    assert both[-1] < both[0]
