"""Ops that would compute the same are computed once, as TensorFlow's master
does unless the session's config says otherwise."""
from tensorflow.core.protobuf import rewriter_config_pb2

from tests.cluster.client import graph, np, plain_config, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=1)
OFF = rewriter_config_pb2.RewriterConfig.OFF


def kernels_run(cluster, build, op, config=None):
    """The result of build(x), x fed, and how many nodes called op... ran."""
    with graph(), tf.Session(cluster.target("worker", 0),
                             config=config) as session:
        x = tf.placeholder(tf.float32, [2, 2])
        y = build(x)
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        out = session.run(
            y, {x: [[1, 2], [3, 4]]},
            tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        return out, sum(n.node_name.split("/")[-1].startswith(op)
                        for d in metadata.step_stats.dev_stats
                        if "CPU" in d.device for n in d.node_stats)


def products(x):
    return tf.exp(tf.matmul(x, x)[0]) + tf.sin(tf.matmul(x, x)[0])


WANT = np.exp(np.float32([7, 10])) + np.sin(np.float32([7, 10]))


@test(**PAIR)
def a_product_named_twice_is_computed_once(cluster):
    out, count = kernels_run(cluster, products, "MatMul")
    assert np.allclose(out, WANT, rtol=1e-5), out
    assert count == 1, count


@test(**PAIR)
def a_config_turns_it_off(cluster):
    one = tf.ConfigProto()
    one.graph_options.rewrite_options.arithmetic_optimization = OFF
    one.graph_options.optimizer_options.opt_level = -1
    for config in (one, plain_config()):
        out, count = kernels_run(cluster, products, "MatMul", config)
        assert np.allclose(out, WANT, rtol=1e-5), out
        assert count == 2, count


@test(**PAIR)
def random_numbers_are_drawn_for_each(cluster):
    def build(x):
        return tf.random.uniform([9]) - tf.random.uniform([9])

    out, count = kernels_run(cluster, build, "RandomUniform")
    assert count == 2 and np.all(out != 0), (out, count)


@test(**PAIR)
def reads_of_a_variable_are_not_one(cluster):
    def build(x):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        before = tf.exp(v.read_value())
        with tf.control_dependencies([before]):
            add = v.assign_add(1.0, read_value=False)
        with tf.control_dependencies([add]):
            return before, tf.exp(v.read_value())

    out, _ = kernels_run(cluster, build, "Exp")
    assert np.allclose(out, np.exp([1.0, 2.0])), out


@test(**PAIR)
def each_task_computes_its_own(cluster):
    def build(x):
        with tf.device("/job:ps"):
            a = tf.matmul(x, x)
        with tf.device("/job:worker"):
            return a - tf.matmul(x, x)

    out, count = kernels_run(cluster, build, "MatMul")
    assert not np.any(out) and count == 2, (out, count)


@test(**PAIR)
def fetches_and_loops_keep_their_values(cluster):
    def build(x):
        both = tf.exp(x), tf.exp(x)
        loop = tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.sqrt(y) * tf.sqrt(y) + 1), [0, x])[1]
        branch = tf.cond(x[0, 0] > 0, lambda: tf.abs(x) + tf.abs(x),
                         lambda: x)
        return both, loop, branch

    x = np.float32([[1, 2], [3, 4]])
    (both, loop, branch), _ = kernels_run(cluster, build, "Exp")
    assert np.allclose(both, [np.exp(x)] * 2), both
    assert np.allclose(loop, x + 3) and np.allclose(branch, 2 * x)
