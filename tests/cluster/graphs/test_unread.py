"""Ops that nobody reads: waited for, but not computed, as TensorFlow's master
does unless the session's config says otherwise.

Whether one was computed shows by its error: an index out of range."""
from tensorflow.core.protobuf import rewriter_config_pb2

from tests.cluster.client import expect, graph, np, plain_config, tf
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=1)
OFF = rewriter_config_pb2.RewriterConfig.OFF


def failing(index, device=""):
    """An error when it is computed: two rows, and never these indices."""
    with tf.device(device):
        rows = tf.placeholder_with_default(np.zeros(2, np.float32), [2])
        return tf.gather(rows, index)


def step(cluster, build, config=None):
    """One step of build(index), its index fed with 7."""
    with graph(), tf.Session(cluster.target("worker", 0),
                             config=config) as session:
        index = tf.placeholder(tf.int32, [])
        fetches = build(index)
        session.run(tf.global_variables_initializer())
        return session.run(fetches, {index: 7})


def after(*ops):
    """The index fed, once these have run."""
    def build(index):
        with tf.control_dependencies([op(index) for op in ops]):
            return index + 1
    return build


UNREAD = {
    "an op": after(failing),
    "what only such an op reads": after(lambda i: tf.exp(failing(i)) * 2),
    "one in another task": after(lambda i: failing(i, "/job:ps")),
    "both": after(lambda i: failing(i, "/job:ps"), failing),
    "behind a NoOp": after(lambda i: tf.group(failing(i).op)),
}


@test(**PAIR)
def what_nobody_reads_is_not_computed(cluster):
    for name, build in UNREAD.items():
        assert step(cluster, build) == 8, name


@test(**PAIR)
def nor_is_it_for_a_target(cluster):
    def build(index):
        with tf.control_dependencies([failing(index)]):
            return tf.no_op()

    assert step(cluster, build) is None


@test(**PAIR)
def what_is_fetched_or_a_target_is_computed(cluster):
    def both(index):
        x = failing(index)
        return [after(lambda _: x)(index), x]

    for build in (failing, lambda i: failing(i).op, both):
        with expect(tf.errors.InvalidArgumentError, "indices = 7 is not in"):
            step(cluster, build)


@test(**PAIR)
def a_config_turns_it_off(cluster):
    every, one, named = (tf.ConfigProto() for _ in range(3))
    every.graph_options.rewrite_options.disable_meta_optimizer = True
    one.graph_options.rewrite_options.dependency_optimization = OFF
    named.graph_options.rewrite_options.optimizers.append("constfold")
    for config in (every, one, named, plain_config()):
        for name, build in UNREAD.items():
            with expect(tf.errors.InvalidArgumentError,
                        "indices = 7 is not in"):
                step(cluster, build, config)
                raise AssertionError(name)


@test(**PAIR)
def an_op_with_a_state_runs(cluster):
    def build(index):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        add = v.assign_add(1.0, read_value=False)
        with tf.control_dependencies([add]):
            late = tf.exp(tf.cast(index, tf.float32))
        with tf.control_dependencies([late]):
            return v.read_value()

    assert step(cluster, build) == 2.0


@test(**PAIR)
def it_is_still_waited_for(cluster):
    """exp() is not computed, but comes after the assignment that it reads."""
    def build(index):
        with tf.device("/job:ps"):
            v = tf.get_variable("v", initializer=1.0, use_resource=True)
            with tf.control_dependencies([v.assign(5.0, read_value=False)]):
                read = v.read_value()
        with tf.device("/job:worker"):
            late = tf.exp(read)
        with tf.control_dependencies([late]):
            return v.read_value(), index

    for _ in range(20):
        assert step(cluster, build) == (5.0, 7)


@test(**PAIR)
def a_branch_not_taken_stays_untaken(cluster):
    """What waits for an unread op of a branch is of the branch."""
    def build(index):
        ran = tf.get_variable("ran", initializer=0, use_resource=True)

        def taken(add):
            with tf.control_dependencies([failing(tf.identity(index))]):
                with tf.control_dependencies([ran.assign_add(add)]):
                    return tf.identity(index)

        value = tf.cond(index > 3, lambda: taken(1), lambda: taken(10))
        with tf.control_dependencies([value]):
            return value, ran.read_value()

    tf.disable_control_flow_v2()
    assert step(cluster, build) == (7, 1)


@test(**PAIR)
def in_a_loop_as_well(cluster):
    def build(index):
        def body(i, x):
            with tf.control_dependencies([failing(i + 2 + tf.cast(x, tf.int32),
                                                  "/job:ps")]):
                return i + 1, tf.identity(x + 1)
        return tf.while_loop(lambda i, x: i < index, body, [0, 0.0])

    assert step(cluster, build) == [7, 7.0]
