"""A real master with TensorFlow's default config, which rewrites graphs before
its workers see them: tfd computes what optimizers make of a client's ops."""
import dataclasses

from tests.cluster.client import graph, np, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.programs.play import play
from tests.cluster.suite import test
from tests.cluster.programs.test_programs import TIER_A, path_of

GRAPHS = {}
RANDOM = np.random.RandomState(0)
IMAGE = (2, 8, 8, 3)


def rewritten(*shape):
    """Registers a function of a float placeholder: what is fetched."""
    def register(function):
        GRAPHS[function.__name__] = function, shape
        return function
    return register


def data(*shape):
    return tf.constant((RANDOM.rand(*shape) - 0.5).astype(np.float32))


def dense(x, units=4):
    return tf.nn.bias_add(tf.matmul(x, data(x.shape[-1], units)), data(units))


def convolved(x, padding="SAME"):
    return tf.nn.conv2d(x, data(3, 3, x.shape[-1], 4), 1, padding)


def normal(x, training=False):
    n = x.shape[-1]
    known = {} if training else {"mean": data(n), "variance": tf.ones([n])}
    return tf.nn.fused_batch_norm(x, data(n), data(n), is_training=training,
                                  **known)[0]


@rewritten(8, 16)
def dense_layers(x):
    y = dense(x)
    cube = y + 0.044715 * tf.pow(y, 3.0)
    return [activation(dense(x)) for activation in (
        tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.leaky_relu, tf.tanh,
        tf.sigmoid, tf.identity, lambda v: v + data(8, 4))] + [
        0.5 * y * (1.0 + tf.math.erf(y / 1.4142135)),
        0.5 * y * (1.0 + tf.tanh(0.7978845608 * cube))]


@rewritten(8, 16)
def a_gelu(x):
    y = dense(x)
    return [0.5 * y * (1.0 + tf.math.erf(y * 0.7071067811865476))]


@rewritten(8, 16)
def a_gelu_by_tanh(x):
    y = dense(x)
    return [0.5 * y * (1.0 + tf.tanh(0.7978845608 * (
        y + 0.044715 * tf.pow(y, 3.0))))]


@rewritten(*IMAGE)
def convolutions(x):
    biased = [tf.nn.bias_add(convolved(x), data(4)) for _ in range(7)]
    padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
    return [tf.nn.relu(biased[0]), biased[1], tf.nn.elu(biased[2]),
            tf.nn.leaky_relu(biased[3]), tf.nn.relu6(biased[4]),
            tf.nn.relu(biased[5] + data(2, 8, 8, 4)), biased[6] + biased[0],
            tf.nn.relu(tf.nn.bias_add(convolved(padded, "VALID"), data(4)))]


@rewritten(*IMAGE)
def normalised_convolutions(x):
    return [normal(convolved(x)), tf.nn.relu(normal(convolved(x))),
            tf.nn.elu(normal(convolved(x)))]


@rewritten(*IMAGE)
def normalised_images(x):
    mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
    return [tf.nn.relu(normal(x)), tf.nn.relu(normal(x, True)),
            tf.nn.relu(normal(x) + x),
            (x - mean) * tf.rsqrt(variance + 1e-3) * data(3) + data(3)]


@rewritten(*IMAGE)
def depthwise_convolutions(x):
    y = [tf.nn.depthwise_conv2d(x, data(3, 3, 3, 2), [1] * 4, "SAME")
         for _ in range(3)]
    y = [tf.nn.bias_add(v, data(6)) for v in y]
    return [tf.nn.relu(y[0]), y[1], tf.nn.relu6(y[2])]


@rewritten(2, 3, 8, 8)
def products_of_batches(x):
    y = tf.matmul(x, data(2, 3, 8, 4)) * 0.5
    return [y + data(2, 1, 8, 4), tf.matmul(x, x, transpose_b=True) * 2.0]


@rewritten(30, 40)
def functions_in_a_row(x):
    return [tf.tanh(tf.sqrt(tf.abs(tf.sin(x)))), tf.exp(tf.abs(x)),
            tf.floor(tf.exp(tf.tanh(x))), tf.log(tf.exp(x)),
            tf.negative(tf.reciprocal(x)), x * tf.sigmoid(x),
            x * tf.tanh(tf.nn.softplus(x)), tf.nn.softmax(x)]


@rewritten(3, 4)
def arithmetic(x):
    x = tf.abs(x) + 0.1
    return [x * 1.0, (x + 0.0) * 2.0, x + x + x + x, x + x * 2.0 + 1.0,
            tf.pow(x, 2.0), tf.pow(x, 3.0), tf.pow(x, 0.5), x - x, x / x,
            tf.sqrt(x) * tf.sqrt(x), tf.square(x - 1.0),
            tf.matmul(tf.transpose(x), x), tf.transpose(tf.transpose(x))]


@rewritten(30)
def moves(x):
    twice = tf.concat([x * 1.0, x + 0.0], 0)
    return [tf.cast(tf.cast(x, tf.float32), tf.int32), tf.split(twice, 2)[0],
            tf.reduce_mean(tf.reshape(x, [5, 6]), [0, 1]), tf.tile(x, [1]),
            tf.pad(x, [[0, 0]]), tf.slice(x, [0], [30]), tf.reverse(x, []),
            tf.squeeze(tf.expand_dims(x, 0)), tf.stack([x, x]),
            tf.strings.join([tf.as_string(tf.shape(x)), "a"])]


@rewritten(8, 16)
def gradients(x):
    weights = data(16, 4), data(4), data(4, 3)
    hidden = tf.nn.relu(tf.matmul(x, weights[0]) + weights[1])
    loss = tf.reduce_sum(tf.square(tf.matmul(hidden, weights[2]) * 1.0))
    return [loss] + tf.gradients(loss, weights)


@rewritten(*IMAGE)
def gradients_of_images(x):
    weights = data(3, 3, 3, 4), data(4)
    y = tf.nn.relu(tf.nn.bias_add(
        tf.nn.conv2d(x, weights[0], 1, "SAME"), weights[1]))
    loss = tf.reduce_sum(tf.square(tf.nn.max_pool2d(y, 2, 2, "SAME")))
    return [loss] + tf.gradients(loss, weights)


@rewritten(4)
def loops_and_branches(x):
    found = []
    for switch in (tf.disable_control_flow_v2, tf.enable_control_flow_v2):
        switch()
        found += [
            tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.0 + x),
                          [0, tf.zeros([4])])[1],
            tf.cond(x[0] > 0.1, lambda: x * 1.0, lambda: tf.tanh(tf.exp(x)))]
    tf.disable_control_flow_v2()
    return found


@rewritten(32, 16)
def training(x):
    """The losses of three steps of Adam, and what they leave."""
    hidden = tf.nn.relu(tf.matmul(x, variable("w", 16, 8)) + variable("b", 8))
    logits = tf.nn.bias_add(tf.matmul(hidden, variable("v", 8, 2)),
                            variable("c", 2))
    labels = tf.cast(x[:, 0] > 0, tf.int32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss)]):
        return [tf.identity(loss)]


def variable(name, *shape):
    return tf.get_variable(name, use_resource=len(shape) > 1,
                           initializer=data(*shape))


@dataclasses.dataclass
class Built:
    feed: dict
    fetches: list
    init: object
    variables: list


def build(name, device):
    function, shape = GRAPHS[name]
    RANDOM.seed(1)
    value = RANDOM.rand(*shape) - 0.3
    with tf.device(device):
        x = tf.placeholder(tf.float32, shape)
        fetches = function(x)
    return Built({x: value}, fetches, tf.global_variables_initializer(),
                 tf.global_variables())


def values_of(name, target, device):
    with graph():
        built = build(name, device)
        with tf.Session(target) as session:
            session.run(built.init)
            runs = [session.run(built.fetches, built.feed)
                    for _ in range(3 if built.variables else 1)]
            return sum(runs, []) + session.run(built.variables)


def same(got, want):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        if np.asarray(b).dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(a, b)


def compare_all(server, master):
    failed = []
    with Cluster(server, others={("worker", 0): master}, ps=1,
                 worker=2) as cluster:
        for name in GRAPHS:
            want = values_of(name, "", "")
            try:
                same(values_of(name, cluster.target(),
                               "/job:worker/task:1"), want)
            except (tf.errors.OpError, AssertionError) as error:
                failed.append("%s: %.600s" % (name, error))
    assert not failed, "\n".join(failed)


@test(limit=180, tfd_only=True)
def graphs_that_a_real_master_rewrites(server):
    compare_all(server, tensorflow_server(server.slow))


@test(limit=180, tfd_only=True)
def graphs_that_a_real_master_rewrites_for_onednn(server):
    """As TensorFlow does by default; these tests do not, for the last bits."""
    master = tensorflow_server(server.slow)
    compare_all(server, dataclasses.replace(master, command=[
        "env", "TF_ENABLE_ONEDNN_OPTS=1"] + master.command))


# Their graphs are rewritten in ways that the others' are not.
ALWAYS = ("a03_saver", "a07_partitioned")


def register_program(name):
    def run(server):
        others = {("worker", 0): tensorflow_server(server.slow)}
        with Cluster(server, others=others, ps=1, worker=2) as cluster:
            play(path_of(name), cluster.target(), 1)
    run.__name__ = "%s_beside_a_real_master" % name
    test(limit=TIER_A[name], tfd_only=True, rare=name not in ALWAYS)(run)


for _name in TIER_A:
    register_program(_name)
