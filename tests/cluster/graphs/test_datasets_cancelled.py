"""Iterators whose step is cancelled while a function of their dataset computes,
loops, waits or finds nothing: the step ends, and so does what ran for it."""
import os
import tempfile

from tensorflow.python.data.ops import load_op

from tests.cluster.client import expect, graph, kept_session, tf
from tests.cluster.suite import test
from tests.cluster.watch import wait_metric

PATIENCE = tf.RunOptions(timeout_in_ms=300)
RUNNING = "tfd_steps_running"
SEEN = set()  # types of the ops that loops are


def endless_loop(x):
    """In a legacy function a TF1-style loop, Enter, Merge, Switch and Exit; in
    others one op with functions."""
    found = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [x])
    SEEN.update(op.type for op in found.graph.get_operations())
    return found


def waits(x):
    queue = tf.raw_ops.FIFOQueueV2(
        component_types=[tf.int64], shapes=[[]], shared_name="never")
    return x + tf.raw_ops.QueueDequeueV2(
        handle=queue, component_types=[tf.int64])[0]


def computes(x):
    """Much, and nothing of it asks whether it is still wanted."""
    m = tf.ones([400, 400]) * tf.cast(x, tf.float32)
    for _ in range(20):
        m = tf.matmul(m, m) * 0.0
    return tf.reduce_sum(m)


def nothing(_):
    return False


def numbers():
    return tf.data.Dataset.range(1000).repeat()


def without_threads(data):
    """As the program wrote it: no stage of its own at the end."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return data.with_options(options)


def is_cancelled(cluster, data):
    """A step that waits for an element ends, and one of another iterator runs
    on the same session."""
    with graph():
        element = tf.data.make_one_shot_iterator(
            without_threads(data())).get_next()
        other = tf.data.make_one_shot_iterator(without_threads(
            tf.data.Dataset.range(3).map(lambda x: x * 2).skip(2))).get_next()
        session = kept_session(cluster.target())
        for _ in range(2):
            with expect(tf.errors.DeadlineExceededError if cluster.server.is_tfd
                        else tf.errors.OpError):  # or that it was cancelled
                session.run(element, options=PATIENCE)
        assert session.run(other) == 4
        session.close()
    if cluster.server.is_tfd:
        wait_metric(cluster["worker", 0], RUNNING, 0, 15)


def old_loop_is_cancelled(cluster, data):
    tf.disable_control_flow_v2()
    is_cancelled(cluster, data)
    assert {"Enter", "Merge", "Switch", "NextIteration"} <= SEEN, SEEN


@test(limit=60, worker=1)
def a_loop_in_a_map_is_cancelled(cluster):
    old_loop_is_cancelled(cluster, lambda: numbers().map_with_legacy_function(
        endless_loop))


@test(limit=60, worker=1)
def a_loop_in_a_parallel_map_is_cancelled(cluster):
    old_loop_is_cancelled(cluster, lambda: numbers().map_with_legacy_function(
        endless_loop, num_parallel_calls=3))


@test(limit=60, worker=1)
def a_loop_in_a_filter_is_cancelled(cluster):
    old_loop_is_cancelled(
        cluster, lambda: numbers().filter_with_legacy_function(
            lambda x: endless_loop(x) > 0))


@test(limit=60, worker=1)
def a_loop_behind_a_prefetch_is_cancelled(cluster):
    old_loop_is_cancelled(cluster, lambda: numbers().map_with_legacy_function(
        endless_loop).prefetch(2))


@test(limit=60, worker=1)
def a_functional_loop_is_cancelled(cluster):
    is_cancelled(cluster, lambda: numbers().map(endless_loop))
    assert "StatelessWhile" in SEEN, SEEN


@test(limit=60, worker=1)
def a_kernel_that_waits_is_cancelled(cluster):
    is_cancelled(cluster, lambda: numbers().map(waits))


@test(limit=60, worker=1)
def a_filter_that_finds_nothing_is_cancelled(cluster):
    """No loop and no kernel that waits: the iterator itself goes round."""
    is_cancelled(cluster, lambda: numbers().filter(nothing))


@test(limit=60, worker=1)
def a_batch_of_filtered_elements_is_cancelled(cluster):
    is_cancelled(cluster, lambda: numbers().filter(nothing).batch(2).prefetch(1))


@test(limit=60, worker=1)
def elements_that_compute_much_are_cancelled(cluster):
    """The one function that computes ends as it would, and none begins."""
    is_cancelled(cluster, lambda: numbers().map(computes).batch(100000))


@test(limit=60, worker=1)
def chunks_that_do_not_come_are_cancelled(cluster):
    with tempfile.TemporaryDirectory() as folder:
        is_cancelled(cluster,
                     lambda: load_op._ListSnapshotChunksDataset(folder))


@test(limit=60, worker=1)
def a_snapshot_of_nothing_is_cancelled(cluster):
    """Its folder is there, and says that nothing in it is complete."""
    with tempfile.TemporaryDirectory() as folder:
        is_cancelled(cluster, lambda: numbers().filter(nothing).snapshot(
            folder))
        found, = os.listdir(folder)
        assert "snapshot.metadata" in os.listdir(os.path.join(folder, found))


@test(limit=60, worker=1)
def a_save_of_nothing_is_cancelled(cluster):
    with tempfile.TemporaryDirectory() as folder, graph():
        save = numbers().filter(nothing).save(folder)
        del save
        operation, = [op for op in tf.get_default_graph().get_operations()
                      if op.type == "SaveDataset"]
        session = kept_session(cluster.target())
        with expect(tf.errors.DeadlineExceededError if cluster.server.is_tfd
                    else tf.errors.OpError):
            session.run(operation, options=PATIENCE)
        session.close()
        if cluster.server.is_tfd:
            wait_metric(cluster["worker", 0], RUNNING, 0, 15)


@test(limit=60, worker=1)
def a_map_and_batch_that_waits_is_cancelled(cluster):
    is_cancelled(cluster, lambda: numbers().apply(
        tf.data.experimental.map_and_batch(waits, 4, num_parallel_calls=3)))


def in_parallel(source, predicate):
    """A filter that asks ahead: Python makes it of none."""
    plain = source.filter(predicate)._variant_tensor.op
    made = tf.get_default_graph().create_op(
        "ParallelFilterDataset",
        list(plain.inputs) + [tf.constant(3, tf.int64)], [tf.variant],
        attrs={name: plain.node_def.attr[name] for name in (
            "predicate", "Targuments", "output_types", "output_shapes")})
    return tf.data.experimental.from_variant(
        made.outputs[0], tf.TensorSpec([], tf.int64))


@test(limit=60, worker=1, tfd_only=True)
def a_parallel_filter_that_waits_is_cancelled(cluster):
    is_cancelled(cluster, lambda: in_parallel(
        numbers(), lambda x: waits(x) > 0))


@test(limit=60, worker=1, tfd_only=True)
def a_parallel_filter_that_finds_nothing_is_cancelled(cluster):
    is_cancelled(cluster, lambda: in_parallel(numbers(), nothing))


def ends(cluster, fetch, *before):
    """A step of one op that waits ends when its time is over."""
    session = kept_session(cluster.target())
    session.run(before)
    with expect(tf.errors.DeadlineExceededError if cluster.server.is_tfd
                else tf.errors.OpError):
        session.run(fetch, options=PATIENCE)
    assert session.run(tf.constant(4) + 1) == 5
    session.close()
    if cluster.server.is_tfd:
        wait_metric(cluster["worker", 0], RUNNING, 0, 15)


@test(limit=60, worker=1)
def a_table_of_an_endless_dataset_is_cancelled(cluster):
    with graph():
        table = tf.raw_ops.HashTableV2(key_dtype=tf.int64,
                                       value_dtype=tf.int64)
        pairs = without_threads(tf.data.Dataset.range(9).map(
            lambda x: (x, waits(x))))
        ends(cluster, tf.raw_ops.InitializeTableFromDataset(
            table_handle=table, dataset=pairs._variant_tensor))


@test(limit=60, worker=1)
def functions_of_rows_that_wait_are_cancelled(cluster):
    with graph():
        function = tf.function(waits).get_concrete_function(
            tf.TensorSpec([], tf.int64))
        function.add_to_graph(tf.get_default_graph())
        ends(cluster, tf.raw_ops.MapDefun(
            arguments=[tf.range(9, dtype=tf.int64)], captured_inputs=[],
            output_types=[tf.int64], output_shapes=[[]], f=function))


@test(limit=60, worker=1)
def a_global_shuffle_that_waits_is_cancelled(cluster):
    with graph():
        source = without_threads(tf.data.Dataset.range(9).map(waits).apply(
            tf.data.experimental.assert_cardinality(9)))
        shuffled = tf.data.experimental.from_variant(
            tf.raw_ops.GlobalShuffleDataset(
                input_dataset=source._variant_tensor, seed=1, seed2=2,
                seed_generator=tf.raw_ops.DummySeedGenerator(),
                output_types=[tf.int64], output_shapes=[[]]),
            tf.TensorSpec([], tf.int64))
        iterator = tf.data.make_initializable_iterator(
            without_threads(shuffled))
        ends(cluster, iterator.get_next(), iterator.initializer)
