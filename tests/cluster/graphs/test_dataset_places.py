"""Datasets where they cannot be: on their way to another task, and in folders
outside the roots."""
import tempfile

from tests.cluster.client import expect, graph, np, plain_config, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.suite import test

raw = tf.raw_ops
LATE = tf.RunOptions(timeout_in_ms=10000)


def numbers():
    return raw.RangeDataset(
        start=np.int64(0), stop=np.int64(3), step=np.int64(1),
        output_types=[tf.int64], output_shapes=[[]])


def stays(cluster):
    """A dataset is of its task; the session and other variants go on."""
    for source, other in (("ps", "worker"), ("worker", "ps")):
        with graph():
            with tf.device("/job:%s/task:0" % source):
                dataset = numbers()
                optional = raw.OptionalFromValue(components=[tf.constant(3)])
                here = raw.DatasetCardinality(input_dataset=dataset)
            with tf.device("/job:%s/task:0" % other):
                there = raw.DatasetCardinality(input_dataset=dataset)
                value = raw.OptionalHasValue(optional=optional)
            with tf.Session(cluster.target(), config=plain_config()) as s:
                for _ in range(2):
                    with expect(tf.errors.InternalError):
                        s.run(there, options=LATE)
                    assert s.run([here, value], options=LATE) == [3, True]


@test(limit=60, ps=1, worker=1)
def a_dataset_does_not_leave_its_task(cluster):
    stays(cluster)


@test(limit=60, tfd_only=True)
def a_dataset_does_not_leave_for_tensorflow(server):
    others = {("ps", 0): tensorflow_server(server.slow)}
    with Cluster(server, others=others, ps=1, worker=1) as cluster:
        stays(cluster)


@test(limit=60, tfd_only=True, worker=1)
def its_error_names_it(cluster):
    with graph(), tf.Session(cluster.target(), config=plain_config()) as s:
        with expect(tf.errors.InternalError, "Dataset",
                    "does not leave its task"):
            s.run(numbers())
        scalar = tf.constant([], tf.int32)
        one = raw.TensorListFromTensor(tensor=[1., 2.], element_shape=scalar)
        nested = raw.TensorListFromTensor(
            tensor=tf.stack([one]), element_shape=scalar)
        with expect(tf.errors.InternalError, "variant within a variant"):
            s.run(nested)


def loaded(folder):
    @tf.function
    def joined(of_shards):
        return of_shards.flat_map(lambda shard: shard)
    made = tf.data.Dataset.load(
        folder, tf.TensorSpec([], tf.int64), reader_func=joined)
    return tf.data.make_one_shot_iterator(made).get_next()


@test(limit=60, tfd_only=True)
def folders_outside_the_roots_load_nothing(server):
    with tempfile.TemporaryDirectory() as root:
        with Cluster(server, ["--file_root=" + root], worker=1) as cluster:
            for folder, error in (
                    ("/etc", tf.errors.PermissionDeniedError),
                    (root + "/../none", tf.errors.PermissionDeniedError),
                    (root + "/none", tf.errors.NotFoundError)):
                with graph():
                    element = loaded(folder)
                    with tf.Session(cluster.target()) as session:
                        with expect(error):
                            session.run(element, options=LATE)
