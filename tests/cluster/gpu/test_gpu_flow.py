"""Graphs pinned to a card, without soft placement, whose ops only pass values
on: conditionals, loops, functions, queues.  What TensorFlow says of the same
graph without the device is the answer.  Skipped without a card."""
import contextlib
import threading

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test
from tests.cluster.gpu.test_gpu import GPU, LIMITED, need_a_card

STEPS = 4


def on_a_card(function):
    """Two tests: kernels one by one, and captured where they may be."""
    for how, name in ("off", "%s"), ("on", "%s_in_graphs"):
        def run(cluster):
            need_a_card(cluster)
            function(cluster)
        run.__name__ = name % function.__name__
        run.__module__ = function.__module__
        test(limit=120, tfd_only=True, worker=1,
             flags=LIMITED + ["--gpu_graphs=" + how])(run)
    return function


@contextlib.contextmanager
def control_flow(version):
    (tf.enable_control_flow_v2 if version == 2 else
     tf.disable_control_flow_v2)()
    try:
        yield
    finally:
        tf.disable_control_flow_v2()


def answers(target, device, build, feeds):
    """What build() returns, a few times for each of the feeds."""
    with graph() as g:
        g.seed = 7
        with tf.device(device):
            outputs, placeholders = build()
            init = tf.global_variables_initializer()
        with tf.Session(target) as session:
            session.run(init)
            return [session.run(outputs, dict(zip(placeholders, values)))
                    for values in feeds or [()] for _ in range(STEPS)]


def same(cluster, build, feeds=(), versions=(1, 2)):
    for version in versions:
        with control_flow(version):
            want = answers("", None, build, feeds)
            got = answers(cluster.target(), GPU % 0, build, feeds)
        for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(want)):
            assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
            if a.dtype.kind in "fc":
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(a, b)


def value():
    return tf.placeholder(tf.float32, [2, 3])


FED = np.float32([[1, 2, 3], [4, 5, -6]])


# ---- Conditionals ----

@on_a_card
def conditionals(cluster):
    def build():
        x, p = value(), tf.placeholder(tf.bool, [])
        i = tf.size(x)
        y, n, none = tf.cond(p, lambda: (x * 2.0, i + 1, tf.no_op()),
                             lambda: (tf.tanh(x), i, tf.no_op()))
        with tf.control_dependencies([none]):
            return [y + 1.0, n], [x, p]
    same(cluster, build, [(FED, True), (FED, False)])


@on_a_card
def a_case_of_many(cluster):
    def build():
        x, i = value(), tf.placeholder(tf.int32, [])
        s = tf.placeholder_with_default(3, [])
        return list(tf.switch_case(i, [
            lambda: (x, s), lambda: (x * 3.0, s + 1),
            lambda: (tf.matmul(x, x, transpose_b=True)[:, :1] + x, s * s),
        ])), [x, i]
    same(cluster, build, [(FED, i) for i in (0, 1, 2, 7, -1)])


# ---- Loops ----

@on_a_card
def loops(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])
        i, y, s = tf.while_loop(
            lambda i, y, s: tf.logical_and(i < n, tf.reduce_sum(y) < 1e6),
            lambda i, y, s: (i + 1, y * 1.5 + x, s - 1), [0, x, n])
        return [i, y, s], [x, n]
    same(cluster, build, [(FED, n) for n in (0, 1, 9)])


@on_a_card
def loops_in_conditionals_in_loops(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])

        def body(i, y):
            return i + 1, tf.cond(
                tf.equal(i % 2, 0), lambda: y + 1.0,
                lambda: tf.while_loop(lambda j, z: j < i, lambda j, z:
                                      (j + 1, z * 1.25), [0, y])[1])
        return list(tf.while_loop(lambda i, y: i < n, body, [0, x])), [x, n]
    same(cluster, build, [(FED, n) for n in (0, 5)])


# ---- Gradients of loops: stacks ----

@on_a_card
def gradients_of_loops(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])
        w = tf.Variable(np.float32([[0.5, -0.25, 1], [1, 0.5, 0], [0, 1, -1]]))

        def body(i, y, big):
            y = tf.tanh(tf.matmul(y, w)) * tf.cast(i + 1, tf.float32) + x
            return i + 1, y, tf.reduce_any(y > 0.5)

        _, y, big = tf.while_loop(lambda i, y, big: i < n, body, [0, x, False])
        loss = tf.reduce_sum(y * y)
        return [loss, big] + tf.gradients(loss, [x, w]), [x, n]
    same(cluster, build, [(FED / 20, n) for n in (0, 1, 4)], versions=(1,))


@on_a_card
def training_through_a_loop(cluster):
    def build():
        x = value()
        w = tf.Variable(np.float32([0.5, -0.25, 1]))
        _, y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.cond(
                tf.reduce_sum(y) > 0.0, lambda: y * w, lambda: y - w)), [0, x])
        loss = tf.reduce_sum(tf.tanh(y))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.control_dependencies([step]):
            return [tf.identity(loss), w.read_value()], [x]
    same(cluster, build, [(FED,), (-FED,)], versions=(1,))


@on_a_card
def a_loop_in_a_loop_has_gradients(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])

        def body(i, y):
            return i + 1, tf.while_loop(
                lambda j, z: j < i, lambda j, z: (j + 1, tf.sin(z) * x),
                [0, y])[1]

        y = tf.while_loop(lambda i, y: i < n, body, [0, x])[1]
        return [y, tf.gradients(y, x)[0]], [x, n]
    same(cluster, build, [(FED, n) for n in (1, 4)], versions=(1,))


# ---- Arrays and lists ----

@on_a_card
def maps_and_scans(cluster):
    def build():
        x = value()
        m = tf.map_fn(lambda a: a * a + tf.reduce_sum(a), x)
        two = tf.map_fn(lambda ab: (ab[0] * 2.0, ab[0] - ab[1]), (x, x * x))
        s = tf.scan(lambda a, b: tf.tanh(a * b), x * 0.2)
        f = tf.foldl(lambda a, b: a * b + 1.0, x)
        r = tf.foldr(lambda a, b: a - b, x)
        return [m, s, f, r, list(two)] + [
            tf.gradients(y, x)[0] for y in (m, s, f, r, two[1])], [x]
    same(cluster, build, [(FED,)])


@on_a_card
def arrays(cluster):
    def build():
        x = value()
        a = tf.TensorArray(tf.float32, 2, element_shape=[3],
                           clear_after_read=False, infer_shape=False)
        a = a.unstack(x * 2.0)
        first = a.read(0)
        b = tf.TensorArray(tf.float32, 3, infer_shape=False).split(
            tf.reshape(x, [6]), [1, 3, 2])
        c = tf.TensorArray(tf.float32, 4, element_shape=[2])
        c = c.scatter([3, 1], tf.transpose(x)[1:] + 0.5)
        outputs = [a.stack(), a.gather([1, 0, 1]), first, b.concat(),
                   a.size(), c.stack()]
        loss = tf.reduce_sum(outputs[1] * 3.0) + tf.reduce_sum(
            first * first) + tf.reduce_sum(outputs[3] * x[0, 0])
        return outputs + [tf.gradients(loss, x)[0]], [x]
    same(cluster, build, [(FED,)])


@on_a_card
def an_array_written_in_a_loop(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])

        def body(i, y, a):
            y = tf.sin(y) * x + 0.1
            return i + 1, y, a.write(i, tf.reduce_sum(y, 1))

        _, y, a = tf.while_loop(
            lambda i, y, a: i < n, body,
            [0, x, tf.TensorArray(tf.float32, n, element_shape=[2])])
        loss = tf.reduce_sum(a.stack() * 2.0) + tf.reduce_sum(y)
        return [a.stack(), loss, tf.gradients(loss, x)[0]], [x, n]
    same(cluster, build, [(FED, 3), (FED, 1)], versions=(2,))


@on_a_card
def gradients_of_loops_by_lists(cluster):
    def build():
        x, n = value(), tf.placeholder(tf.int32, [])
        w = tf.Variable([0.5, -0.25, 1.0], use_resource=True)

        def body(i, y):
            return i + 1, tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * w,
                                  lambda: tf.exp(-y * y) + x)

        y = tf.while_loop(lambda i, y: i < n, body, [0, x])[1]
        loss = tf.reduce_sum(y)
        return [loss] + tf.gradients(loss, [x, w]), [x, n]
    same(cluster, build, [(FED, n) for n in (0, 1, 4)], versions=(2,))


@on_a_card
def lists(cluster):
    def build():
        x, ops = value(), tf.raw_ops
        kind = dict(element_dtype=tf.float32)
        a = ops.TensorListFromTensor(tensor=x, element_shape=[3])
        b = ops.TensorListReserve(element_shape=[3], num_elements=3, **kind)
        b = ops.TensorListSetItem(input_handle=b, index=1, item=x[0])
        c = ops.TensorListPushBack(input_handle=a, tensor=x[1] * 2.0)
        both = ops.AddN(inputs=[c, b, c])
        none = ops.ZerosLike(x=c)
        end, last = ops.TensorListPopBack(
            input_handle=c, element_shape=[3], **kind)
        scalar = tf.constant([], tf.int32)
        n = ops.TensorListFromTensor(tensor=tf.range(4), element_shape=scalar)
        n = ops.TensorListPushBack(input_handle=n, tensor=tf.size(x))

        def stack(l, dtype=tf.float32, shape=(3,)):
            return ops.TensorListStack(
                input_handle=l, element_shape=tf.constant(shape, tf.int32),
                element_dtype=dtype)
        return [stack(l) for l in (a, b, c, both, none, end)] + [
            last, ops.TensorListLength(input_handle=c),
            ops.TensorListGetItem(input_handle=b, index=0,
                                  element_shape=[3], **kind),
            ops.TensorListGather(input_handle=c, indices=[2, 0],
                                 element_shape=[3], **kind),
            ops.TensorListConcatV2(input_handle=c, element_shape=[3],
                                   leading_dims=tf.constant([], tf.int64),
                                   **kind)[0],
            stack(n, tf.int32, ())], [x]
    same(cluster, build, [(FED,)], versions=(2,))


@on_a_card
def a_list_goes_to_the_host_and_back(cluster):
    with graph():
        x, kind = value(), dict(element_dtype=tf.float32)
        for device in GPU % 0, "/cpu:0", GPU % 0:
            with tf.device(device):
                if x.dtype != tf.variant:
                    x = tf.raw_ops.TensorListFromTensor(
                        tensor=x + 1.0, element_shape=[3])
                x = tf.raw_ops.TensorListPushBack(
                    input_handle=x, tensor=tf.fill([3], 2.0))
        last = tf.raw_ops.TensorListStack(
            input_handle=x, element_shape=[3], **kind)
        with tf.Session(cluster.target()) as session:
            for _ in range(STEPS):
                got = session.run(last, {"Placeholder:0": FED})
                np.testing.assert_array_equal(
                    got, np.concatenate([FED + 1, np.full([3, 3], 2.0)]))


@on_a_card
def large_elements_of_a_list_come_from_the_host(cluster):
    """By a stream of their own, which what reads them waits for."""
    with graph():
        i = tf.placeholder(tf.float32, [])
        with tf.device("/cpu:0"):
            x = tf.raw_ops.TensorListReserve(
                element_shape=[300, 300], num_elements=4,
                element_dtype=tf.float32)
            for k in range(4):
                x = tf.raw_ops.TensorListSetItem(
                    input_handle=x, index=k, item=tf.fill([300, 300], i + k))
        with tf.device(GPU % 0):
            y = tf.raw_ops.TensorListStack(
                input_handle=x, element_shape=[300, 300],
                element_dtype=tf.float32) * 2.0
            low, high = tf.reduce_min(y, [1, 2]), tf.reduce_max(y, [1, 2])
        with tf.Session(cluster.target()) as session:
            for k in range(10 * STEPS):
                want = np.float32([2 * k, 2 * k + 2, 2 * k + 4, 2 * k + 6])
                for got in session.run([low, high], {i: k}):
                    np.testing.assert_array_equal(got, want)


@on_a_card
def arrays_say_what_is_wrong(cluster):
    with control_flow(1), graph(), tf.device(GPU % 0):
        x, i = value(), tf.placeholder(tf.int32, [])
        a = tf.TensorArray(tf.float32, 2, clear_after_read=True)
        a = a.unstack(x)
        twice = a.read(0) + a.read(i)
        none = tf.TensorArray(tf.float32, 2).write(i, x[0]).read(1 - i)
        with tf.Session(cluster.target()) as session:
            feeds = {x: FED, i: 1}
            np.testing.assert_array_equal(session.run(twice, feeds),
                                          FED[0] + FED[1])
            for y, at, text in ((twice, 0, "twice"), (twice, 2, "array size"),
                                (none, 2, "not resizeable")):
                with expect(tf.errors.InvalidArgumentError, text):
                    session.run(y, {x: FED, i: at})


# ---- Functions ----

@on_a_card
def functions(cluster):
    def build():
        x = value()

        @tf.function
        def inner(a, n):
            return tf.cond(n > 3, lambda: tf.exp(a), lambda: -a), n + 1

        @tf.function
        def outer(a):
            y, n = inner(a, tf.size(a))
            return inner(y, n)

        @tf.function
        def square(a):
            return tf.sinh(a) * a

        y, n = outer(x)
        z = square(x)
        return [y, n, z] + tf.gradients(z, x) + tf.gradients(y, x), [x]
    same(cluster, build, [(FED,)])


@on_a_card
def gradients_of_ones_own(cluster):
    def build():
        x = value()

        @tf.custom_gradient
        def clipped(a):
            return tf.identity(a), lambda dy: tf.clip_by_norm(dy, 0.5)

        y = clipped(x * 3.0) * x
        a, b, c = tf.identity_n([x, tf.size(x), y])
        return [a, b, c, tf.gradients(y, x)[0]], [x]
    same(cluster, build, [(FED,)])


@on_a_card
def functions_that_stay_calls(cluster):
    def build():
        from tensorflow.python.framework.function import Defun
        x, n = value(), tf.placeholder(tf.int32, [])

        @Defun(tf.float32, tf.int32)
        def more(a, i):
            return tf.logical_and(i < 4, tf.reduce_sum(a) < 1e3)

        @Defun(tf.float32, tf.int32)
        def body(a, i):
            return a * 2.0, i + 1

        @Defun(tf.float32, tf.int32)
        def other(a, i):
            return a - tf.cast(i, tf.float32), i * 2

        types = [tf.float32, tf.int32]
        for f in more, body, other:
            f.add_to_graph(tf.get_default_graph())
        outputs = []
        outputs += tf.raw_ops.While(input=[x, n], cond=more, body=body)
        outputs += tf.raw_ops.StatelessWhile(input=[x, n], cond=more,
                                             body=body)
        for cond in (n > 2, tf.reduce_sum(x)):
            for op in tf.raw_ops.If, tf.raw_ops.StatelessIf:
                outputs += op(cond=cond, input=[x, n], Tout=types,
                              then_branch=body, else_branch=other)
        for op in tf.raw_ops.Case, tf.raw_ops.StatelessCase:
            outputs += op(branch_index=n, input=[x, n], Tout=types,
                          branches=[body, other])
        for op in (tf.raw_ops.PartitionedCall,
                   tf.raw_ops.StatefulPartitionedCall):
            outputs += op(args=[x, n], Tout=types, f=other)
        return outputs, [x, n]
    same(cluster, build, [(FED, 1), (FED, 3)], versions=(1,))


# ---- Assertions ----

@on_a_card
def assertions(cluster):
    for version in (1, 2):
        with control_flow(version), graph(), tf.device(GPU % 0):
            x = value()
            check = tf.Assert(tf.reduce_all(x > -7.0), [x, tf.size(x)])
            with tf.control_dependencies([check]):
                y = x + 1.0
            with tf.Session(cluster.target()) as session:
                for _ in range(STEPS):
                    np.testing.assert_array_equal(
                        session.run(y, {x: FED}), FED + 1)
                    with expect(tf.errors.InvalidArgumentError,
                                "assertion failed: [[-8 -16 -24]"):
                        session.run(y, {x: FED * -8})


# ---- Queues ----

def queue():
    """Not tf.FIFOQueue, which asks for a CPU."""
    return tf.raw_ops.FIFOQueueV2(component_types=[tf.float32, tf.int32],
                                  shapes=[[2, 3], []], capacity=4)


@on_a_card
def queues(cluster):
    with graph(), tf.device(GPU % 0):
        x, q = value(), queue()
        put = tf.raw_ops.QueueEnqueueV2(handle=q,
                                        components=[x * 2.0, tf.size(x)])
        y, n = tf.raw_ops.QueueDequeueV2(
            handle=q, component_types=[tf.float32, tf.int32])
        y = y + 1.0
        size = tf.raw_ops.QueueSizeV2(handle=q)
        close = tf.raw_ops.QueueCloseV2(handle=q)
        closed = tf.raw_ops.QueueIsClosedV2(handle=q)
        with tf.Session(cluster.target()) as session:
            for _ in range(STEPS):
                for i in range(3):
                    session.run(put, {x: FED * i})
                assert session.run(size) == 3
                for i in range(3):
                    got = session.run([y, n])
                    np.testing.assert_array_equal(got[0], FED * i * 2 + 1)
                    assert got[1] == 6
            assert not session.run(closed)
            session.run(close)
            assert session.run(closed)
            with expect(tf.errors.OutOfRangeError, "is closed"):
                session.run(y)


@on_a_card
def a_step_waits_for_a_queue(cluster):
    """What is behind the element is enqueued once it is there."""
    with graph(), tf.device(GPU % 0):
        x, q = value(), queue()
        put = tf.raw_ops.QueueEnqueueV2(handle=q,
                                        components=[x * 2.0, tf.size(x)])
        y, _ = tf.raw_ops.QueueDequeueV2(
            handle=q, component_types=[tf.float32, tf.int32])
        y = tf.tanh(y + 1.0) * y
        z = tf.tanh(x - 1.0) * x
        with tf.Session(cluster.target()) as session:
            for _ in range(STEPS):
                got = []
                thread = threading.Thread(target=lambda: got.extend(
                    session.run([y, z], {x: FED})))
                thread.start()
                session.run(put, {x: FED})
                thread.join()
                np.testing.assert_allclose(
                    got[0], np.tanh(FED * 2 + 1) * FED * 2, rtol=1e-5)
                np.testing.assert_allclose(got[1], np.tanh(FED - 1) * FED,
                                           rtol=1e-5)


# ---- What has no kernel ----

@on_a_card
def other_ops_stay_refused(cluster):
    def batch(x):
        return tf.raw_ops.QueueDequeueManyV2(
            handle=queue(), n=2, component_types=[tf.float32, tf.int32])[0]

    def body_of_strings(x):
        return tf.cond(tf.size(x) > 3, lambda: tf.as_string(x),
                       lambda: tf.as_string(-x))

    for build in (tf.as_string, batch, body_of_strings):
        with graph(), tf.device(GPU % 0):
            y = build(value())
            with tf.Session(cluster.target()) as session:
                with expect(tf.errors.InvalidArgumentError, "Cannot assign a "
                            "device for operation"):
                    session.run(y)
