"""trainers.py [--rounds N] [--steps N] - a cluster of 1 ps and 2 workers that
trains MNIST, two Python clients, in alternating rounds on tfd and on real
TensorFlow servers.  Prints steps a second of each round and their ratio."""
import argparse
import gzip
import os
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
DATA = os.path.join(os.path.dirname(__file__), "..", "..", "examples",
                    "mnist", "data")


def mnist():
    """Images as floats in [0, 1], labels."""
    import numpy as np
    arrays = []
    for name, header in (("train-images-idx3", 16), ("train-labels-idx1", 8)):
        with gzip.open(os.path.join(DATA, name + "-ubyte.gz")) as file:
            data = file.read()
        count = struct.unpack(">i", data[4:8])[0]
        arrays.append(np.frombuffer(data, np.uint8, offset=header)
                      .reshape(count, -1))
    return arrays[0].astype("float32") / 255, arrays[1][:, 0].astype("int32")


def client(target, index, steps):
    """Trains; prints the times when its steps began and ended."""
    import numpy as np
    import tensorflow.compat.v1 as tf
    from tests.cluster.programs.waits import be_quick
    tf.disable_v2_behavior()
    be_quick()  # the second may look before the first has made the variables
    images, labels = mnist()
    with tf.device(tf.train.replica_device_setter(
            1, worker_device="/job:worker/task:%d" % index)):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int32, [None])
        w = tf.get_variable("w", [784, 10],
                            initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [10], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=y, logits=tf.matmul(x, w) + b))
        train = tf.train.AdagradOptimizer(0.01).minimize(
            loss, global_step=step)
    random, done, start = np.random.RandomState(index), 0, None
    with tf.train.MonitoredTrainingSession(
            master=target, is_chief=index == 0,
            hooks=[tf.train.StopAtStepHook(last_step=steps)]) as session:
        while not session.should_stop():
            rows = random.randint(0, len(images), 100)
            session.run([train, loss], {x: images[rows], y: labels[rows]})
            done += 1
            if done == 20:
                start = time.time()
    print(done - 20, start, time.time())


def measure(server, steps):
    """Steps a second of both clients together."""
    from tests.cluster.cluster import Cluster
    with Cluster(server, ps=1, worker=2) as cluster:
        clients = [subprocess.Popen(
            [sys.executable, __file__, "--target", cluster.target("worker", i),
             "--index", str(i), "--steps", str(steps)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for i in range(2)]
        lines = [c.communicate()[0].split()[-3:] for c in clients]
    return sum(int(n) / (float(end) - float(start)) for n, start, end in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--server", default="build/tfd")
    parser.add_argument("--target")
    parser.add_argument("--index", type=int)
    options = parser.parse_args()
    if options.target:
        return client(options.target, options.index, options.steps)
    from tests.cluster.cluster import Server, tensorflow_server
    ratios = []
    for _ in range(options.rounds):
        real = measure(tensorflow_server(), options.steps)
        ours = measure(Server([options.server], True), options.steps)
        ratios.append(ours / real)
        print("tensorflow %.0f steps/s  tfd %.0f steps/s  ratio %.2f" % (
            real, ours, ratios[-1]), flush=True)
    print("median ratio %.2f" % statistics.median(ratios))


if __name__ == "__main__":
    main()
