"""A real TensorFlow server configured as tfd is: the tests' reference.

Reads TF_CONFIG; of tfd's flags it knows --device_count=TYPE:N and --threads=N,
that many threads for nodes and as many for the parts of one."""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow.compat.v1 as tf  # noqa: E402

config = tf.ConfigProto()
for flag in sys.argv[1:]:
    name, _, value = flag.partition("=")
    if name == "--device_count":
        kind, _, count = value.partition(":")
        config.device_count[kind] = int(count)
    if name == "--threads":
        config.intra_op_parallelism_threads = int(value)
        config.inter_op_parallelism_threads = int(value)
described = json.loads(os.environ["TF_CONFIG"])
config.experimental.collective_group_leader = (
    "/job:%s/replica:0/task:0" % next(
        (job for job in ("chief", "master", "worker")
         if job in described["cluster"]), "ps"))
server = tf.train.Server(
    described["cluster"], job_name=described["task"]["type"],
    task_index=int(described["task"]["index"]), config=config)
server.join()
