"""A real TensorFlow server configured as tfd is: the tests' reference.

Reads TF_CONFIG; of flags only --device_count=TYPE:N."""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow.compat.v1 as tf  # noqa: E402

config = tf.ConfigProto()
for flag in sys.argv[1:]:
    kind, _, count = flag.removeprefix("--device_count=").partition(":")
    config.device_count[kind] = int(count)
described = json.loads(os.environ["TF_CONFIG"])
server = tf.train.Server(
    described["cluster"], job_name=described["task"]["type"],
    task_index=int(described["task"]["index"]), config=config)
server.join()
