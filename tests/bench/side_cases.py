"""What tests/bench/sides runs: CASES, name to function, which builds a graph
and returns (what a step runs, what it feeds)."""
import numpy as np

from tests.cluster.client import tf

CASES = {}
WORKER = "/job:worker/task:0/cpu:0"
PS = "/job:ps/task:0/cpu:0"


def case(name, *arguments):
    def add(function):
        CASES[name] = lambda: function(*arguments)
        return function
    return add


def variable(name, shape, dtype=tf.float32):
    return tf.get_variable(
        name, shape, dtype, use_resource=True,
        initializer=tf.random_uniform_initializer(0, 0.1, dtype=dtype))


@case("null")
def null():
    return tf.no_op(), {}


@case("const")
def const():
    return (tf.constant(1.0) + 2) * 3, {}


@case("scalar", [])
@case("dense1m", [1 << 18])
@case("dense100m", [25 << 20])
def update_on_ps(shape):
    with tf.device(PS):
        v = tf.get_variable("v", shape, use_resource=False,
                            initializer=tf.zeros_initializer())
    with tf.device(WORKER):
        g = tf.identity(v) * 0.5
    with tf.device(PS):
        return tf.assign_add(v, g).op, {}


@case("fan50")
def fan():
    with tf.device(PS):
        parts = [variable("v%d" % i, [100]) for i in range(50)]
    with tf.device(WORKER):
        return tf.add_n([tf.identity(v) for v in parts]).op, {}


@case("chain1000")
def chain():
    with tf.device(WORKER):
        x = y = variable("v", []).read_value()
        for _ in range(500):
            x = (x - y) * y
    return x.op, {}


@case("tanh2k", 2000)
@case("tanh20k", 20000)
def elementwise(n):
    with tf.device(WORKER):
        y = variable("x", [n])
        for _ in range(20):
            y = tf.tanh(y)
    return y.op, {}


@case("products16")
def products():
    with tf.device(WORKER):
        x = variable("x", [64, 64])
        return tf.add_n([tf.matmul(tf.matmul(x, x), x)
                         for _ in range(16)]).op, {}


@case("while1000")
def loop():
    with tf.device(WORKER):
        return tf.while_loop(
            lambda i, x: i < 1000, lambda i, x: (i + 1, x * 0.5 + 1),
            [0, tf.constant(1.0)], parallel_iterations=1)[1], {}


@case("lstm50", False)
@case("lstm50_gradient", True)
def lstm(gradient):
    with tf.device(WORKER):
        w, x = variable("w", [160, 512]), variable("x", [50, 16, 32])

        def body(i, h, c):
            gates = tf.matmul(tf.concat([x[i], h], 1), w)
            a, b, f, o = tf.split(gates, 4, 1)
            c = c * tf.sigmoid(f) + tf.sigmoid(a) * tf.tanh(b)
            return i + 1, tf.tanh(c) * tf.sigmoid(o), c
        zero = tf.zeros([16, 128])
        y = tf.reduce_sum(tf.while_loop(lambda i, *_: i < 50, body,
                                        [0, zero, zero])[1])
        return (tf.gradients(y, w)[0].op if gradient else y), {}


def dense(x, count, name, relu=True):
    y = tf.matmul(x, variable(name + "_w", [x.shape[1], count])) + variable(
        name + "_b", [count])
    return tf.nn.relu(y) if relu else y


def training(net, batch):
    draw = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [batch, 784])
    y = tf.placeholder(tf.int32, [batch])
    with tf.device(tf.train.replica_device_setter(
            ps_device=PS, worker_device=WORKER, ps_tasks=1)):
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=y, logits=net(x)))
        train = tf.train.AdagradOptimizer(0.01).minimize(loss)
    return [train, loss], {x: draw.rand(batch, 784),
                           y: draw.randint(0, 10, batch)}


@case("softmax")
def softmax():
    return training(lambda x: dense(x, 10, "out", False), 100)


@case("mlp")
def mlp():
    return training(lambda x: dense(dense(dense(x, 500, "a"), 500, "b"), 10,
                                    "out", False), 100)


@case("cnn")
def cnn():
    def net(x):
        h = tf.reshape(x, [-1, 28, 28, 1])
        for i, o in ((1, 32), (32, 64)):
            w = variable("c%d" % i, [5, 5, i, o])
            h = tf.nn.relu(tf.nn.conv2d(h, w, 1, "SAME"))
            h = tf.nn.max_pool2d(h, 2, 2, "SAME")
        h = dense(tf.reshape(h, [-1, 7 * 7 * 64]), 512, "h")
        return dense(h, 10, "out", False)
    return training(net, 64)


def convolution(kind, batch, side, channels, width, dtype=tf.float32):
    """By "y", or the gradient by "x" or "w"."""
    image = [batch, side, side, channels]
    with tf.device(WORKER):
        x = variable("x", image, dtype)
        w = variable("w", [width, width, channels, channels], dtype)
        how = {"strides": [1] * 4, "padding": "SAME"}
        if kind == "y":
            return tf.nn.conv2d(x, w, **how).op, {}
        if kind == "x":
            return tf.raw_ops.Conv2DBackpropInput(
                input_sizes=image, filter=w, out_backprop=x, **how).op, {}
        return tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=w.shape.as_list(), out_backprop=x,
            **how).op, {}


for KIND in "yxw":
    case("conv_%s_1x56x64" % KIND, KIND, 1, 56, 64, 3)(convolution)
    case("conv_%s_32x28x64" % KIND, KIND, 32, 28, 64, 3)(convolution)
    case("conv_%s_16x28x12" % KIND, KIND, 16, 28, 12, 3)(convolution)
    case("conv_%s_16x28x32_double" % KIND, KIND, 16, 28, 32, 3,
         tf.float64)(convolution)


@case("matmul512", 512)
@case("matmul1024", 1024)
def matmul(n):
    with tf.device(WORKER):
        x = variable("x", [n, n])
        return tf.matmul(x, x).op, {}


@case("regex20k")
def regex():
    texts = np.array([b"%d" % (i * 7919) for i in range(20000)], object)
    with tf.device(WORKER):
        v = tf.get_variable("v", initializer=tf.constant(texts),
                            use_resource=True)
        return tf.raw_ops.StaticRegexFullMatch(
            input=v, pattern="[1-4]*5.*").op, {}
