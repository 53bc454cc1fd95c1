"""A tf.data service of this process: TensorFlow's dispatcher and one worker."""
import os
import tempfile

from tensorflow.core.protobuf import snapshot_pb2
from tensorflow.python.data.experimental.service import server_lib
from tensorflow.python.ops import gen_experimental_dataset_ops as gen
from tensorflow.python.saved_model import nested_structure_coder

from tests.cluster.client import tf
from tests.cluster.cluster import wait_until


class Service:
    """With a folder, as saving needs it."""

    def __init__(self, port=0):
        self.folder = tempfile.TemporaryDirectory(prefix="tfd-service-")
        self.dispatcher = server_lib.DispatchServer(
            server_lib.DispatcherConfig(
                port=port, protocol="grpc", work_dir=self.folder.name,
                fault_tolerant_mode=True))
        self.address = self.dispatcher.target.split("://")[1]
        self.worker = server_lib.WorkerServer(server_lib.WorkerConfig(
            dispatcher_address=self.address, heartbeat_interval_ms=50))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.worker._stop()
        self.dispatcher._stop()
        self.folder.cleanup()


def save(dataset, path, address, metadata=None):
    """The op, as distributed_save() makes it."""
    if metadata is None:
        spec = nested_structure_coder.encode_structure(dataset.element_spec)
        metadata = snapshot_pb2.DistributedSnapshotMetadata(
            element_spec=spec.SerializeToString(),
            compression="AUTO").SerializeToString()
    return gen.distributed_save(
        dataset._variant_tensor, path, address, metadata)


def elements_of(path, seconds=30):
    """All, in any order, once they are there."""
    wait_until(lambda: os.path.exists(os.path.join(path, "DONE")), seconds,
               "the elements of " + path)
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(
            tf.data.Dataset.load(path)).get_next()
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found
