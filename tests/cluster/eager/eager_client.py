"""A TensorFlow 2 coordinator without a strategy: single ops on every task.

  python -m tests.cluster.eager.eager_client '{"ps": [...], "worker": [...]}'
"""
import json
import os
import sys
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import ops  # noqa: E402
from tensorflow.python.ops import (  # noqa: E402
    resource_variable_ops as variables)


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError("no %s" % kind.__name__)


def values_stay_where_they_are_made(device):
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.device(device):
        a = tf.constant(matrix)
        product = tf.matmul(a, a, transpose_b=True)
        words = tf.strings.join([tf.constant(["a", "b"]), tf.constant("c")])
        total = tf.reduce_sum(tf.range(10))
    assert product.device.startswith(device), product.device
    np.testing.assert_allclose(product.numpy(), matrix @ matrix.T)
    assert words.numpy().tolist() == [b"ac", b"bc"] and int(total) == 45


def values_go_from_task_to_task(devices):
    x = tf.constant([1.0, 2.0])
    for device in devices:
        with tf.device(device):
            x = x + 1.0
    np.testing.assert_allclose(x.numpy(), np.array([1.0, 2.0]) + len(devices))


def variables_are_apart(device):
    with tf.device(device):
        made = [tf.Variable(float(i), name="same") for i in range(4)]
        for variable in made:
            variable.assign_add(10.0)
    assert [v.numpy() for v in made] == [10.0, 11.0, 12.0, 13.0]


def errors_come_in_words(device):
    with tf.device(device):
        raises(tf.errors.InvalidArgumentError, "not invertible",
               lambda: tf.linalg.inv(tf.zeros([2, 2])).numpy())
        assert float(tf.constant(3.0) + 4.0) == 7.0


def large_values_pass(device):
    with tf.device(device):
        big = tf.ones([1024, 1024]) * 3.0
    assert big.numpy().sum() == 3.0 * 1024 * 1024


def functions_are_batched(device):
    """A batch function by itself, which knows its argument's shape, and within a
    tf.function that threads call, which does not."""
    with tf.device(device):
        weight = tf.Variable(3.0)
        alone = tf.nondifferentiable_batch_function(1, 4, 0)(lambda x: x * weight)
        assert alone(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 6.0]
        raises(tf.errors.InvalidArgumentError, "Task size 5 is larger than maximum",
               lambda: alone(tf.ones([5])).numpy())

    @tf.nondifferentiable_batch_function(1, 4, 100000, allowed_batch_sizes=[2, 4])
    def layer(x):
        return x * weight, tf.fill([tf.shape(x)[0]], tf.shape(x)[0])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def call(x):
        with tf.device(device):
            return layer(x)

    found = [None] * 8

    def work(i):
        y, rows = call([float(i)])
        found[i] = y.numpy().tolist(), int(rows[0]) in (2, 4)
    threads = [threading.Thread(target=work, args=[i]) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [([3.0 * i], True) for i in range(len(found))], found


def packed_variables_have_a_value_per_device(devices):
    """One handle of a variable on each task: a node takes that of its own."""
    here, there, other = (d + "/device:CPU:0" for d in devices[:3])
    with tf.device(here):
        a = tf.Variable(1.0)
    with tf.device(there):
        b = tf.Variable(2.0)
    packed = ops.pack_eager_tensors([a.handle, b.handle])

    def read():
        return variables.read_variable_op(packed, tf.float32)

    @tf.function
    def add():
        with tf.device(here):
            x = read()
        with tf.device(there):
            y = read()
        return x + y

    @tf.function
    def read_plus(x):
        return read() + x

    @tf.function
    def grow():
        variables.assign_add_variable_op(packed, 10.0)
        with tf.device(here):
            variables.assign_add_variable_op(packed, 5.0)
    for device in (here, there, other):
        with tf.device(device):
            assert float(add()) == 3.0
    for device, value in ((here, 2.0), (there, 3.0)):
        with tf.device(device):
            assert float(read_plus(1.0)) == value
    with tf.device(other):
        raises(tf.errors.InvalidArgumentError, "Dst node should be assigned to "
               "an allowed device. Found an edge from node ReadVariableOp "
               "assigned to /job:localhost/replica:0/task:0/device:COMPOSITE:0",
               lambda: read_plus(1.0).numpy())
        grow()
    assert (a.numpy(), b.numpy()) == (16.0, 12.0), (a.numpy(), b.numpy())


def main():
    cluster = json.loads(sys.argv[1])
    tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec(cluster))
    devices = ["/job:%s/replica:0/task:%d" % (job, i)
               for job in sorted(cluster) for i in range(len(cluster[job]))]
    for device in devices:
        values_stay_where_they_are_made(device)
        variables_are_apart(device)
        errors_come_in_words(device)
        large_values_pass(device)
        functions_are_batched(device)
    values_go_from_task_to_task(devices)
    packed_variables_have_a_value_per_device(devices)
    print("ok")
    sys.stdout.flush()
    os._exit(0)  # as coordinators often end: without a word to the tasks


main()
