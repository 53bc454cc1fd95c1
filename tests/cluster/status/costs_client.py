"""A TensorFlow 2 coordinator that looks at what a task keeps for it.

  python -m tests.cluster.status.costs_client '{"worker": ["HOST:PORT"]}'
"""
import gc
import json
import os
import sys
import time
from urllib.request import urlopen

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf  # noqa: E402

MB = 1 << 20
LITTLE = MB // 4


def row(address):
    with urlopen("http://%s/status.json" % address, timeout=10) as answer:
        (found,) = json.load(answer)["contexts"]["list"]
    return found


def becomes(address, low, high):
    """Drops are sent without waiting for their end."""
    end = time.monotonic() + 20
    while not low <= row(address)["memory_bytes"] <= high:
        assert time.monotonic() < end, (row(address), low, high)


def on(device, function):
    with tf.device(device):
        return function()


def main():
    spec = json.loads(sys.argv[1])
    (address,), device = spec["worker"], "/job:worker/task:0/device:CPU:0"
    tf.config.experimental_connect_to_cluster(
        tf.train.ClusterSpec(spec), job_name="chief", protocol="grpc")

    def value():
        return tf.zeros([2 * MB])

    def variable():
        return tf.Variable(tf.zeros([2 * MB]))

    for make, small in ((value, lambda: tf.zeros([1])),
                        (variable, lambda: tf.Variable([0.0]))):
        on(device, small)
        on(device, make).numpy()  # compiles, and is gone
        gc.collect()
        tf.constant(0.0).numpy()
        on(device, lambda: tf.constant(1.0) + 1.0).numpy()
        becomes(address, 1, 4 * MB)
        before = row(address)
        kept = on(device, make)
        becomes(address, before["memory_bytes"] + 8 * MB - LITTLE,
                before["memory_bytes"] + 8 * MB + LITTLE)
        assert float(tf.reduce_sum(kept)) == 0
        sent = row(address)["sent_bytes"]
        assert sent >= before["sent_bytes"], (sent, before)
        del kept
        gc.collect()
        on(device, lambda: tf.constant(1.0) + 1.0).numpy()
        becomes(address, 1, before["memory_bytes"] + LITTLE)
    before = row(address)["received_bytes"]
    on(device, lambda: tf.identity(tf.random.uniform([MB // 4]))).numpy()
    with tf.device("/job:chief/task:0/device:CPU:0"):
        local = tf.random.uniform([MB // 4])
    on(device, lambda: tf.reduce_sum(local)).numpy()
    assert row(address)["received_bytes"] >= before + MB
    print("ok")


if __name__ == "__main__":
    main()
