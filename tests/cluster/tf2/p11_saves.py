"""Datasets that a worker saves, loads and keeps as a snapshot, in functions that
run there: what it has saved this process reads, and the other way round."""
import glob
import os

from program import FOLDER, Remote, np, play, tf

COUNT = 20
WORKER = "/job:worker/replica:0/task:%d/device:CPU:0"
KINDS = (None, "GZIP", "SNAPPY")


def path(name):
    return os.path.join(FOLDER, name)


def numbers():
    return tf.data.Dataset.range(COUNT).map(
        lambda x: {"x": x, "text": tf.strings.as_string(x * x)})


def wanted():
    return [(n, b"%d" % (n * n)) for n in range(COUNT)]


def told(dataset):
    return [(int(e["x"]), e["text"]) for e in dataset.as_numpy_iterator()]


def sum_of(dataset):
    return dataset.reduce(tf.constant(0, tf.int64), lambda s, e: s + e["x"])


def on(worker, function):
    """A function's value where it runs on that worker."""
    with tf.device(WORKER % worker):
        return tf.function(function)()


def saved_there():
    for kind in KINDS:
        name = path("there-%s" % kind)

        def save(n=name, k=kind):
            numbers().save(n, compression=k, shard_func=lambda e: e["x"] % 3)
        on(0, save)
        assert len(glob.glob(name + "/*/*.shard")) == 3
        found = tf.data.Dataset.load(name, compression=kind)
        assert sorted(told(found)) == wanted()
        assert int(found.cardinality()) == COUNT
        total = on(1, lambda n=name, k=kind: sum_of(
            tf.data.Dataset.load(n, compression=k)))
        assert int(total) == sum(range(COUNT)), total


def saved_here():
    for kind in KINDS:
        name = path("here-%s" % kind)
        numbers().save(name, compression=kind)

        def pairs(n=name, k=kind):
            one = tf.data.Dataset.load(n, compression=k).batch(
                COUNT).get_single_element()
            return one["x"], one["text"]
        x, text = on(1, pairs)
        assert list(zip(x.numpy().tolist(), text.numpy())) == wanted()


def kept():
    """The second pass reads what the first has written, on another worker."""
    name = path("kept")

    def total():
        return sum_of(numbers().snapshot(name, shard_func=lambda e: e["x"] % 2))
    for worker in (0, 1, 0):
        assert int(on(worker, total)) == sum(range(COUNT))
    assert len(glob.glob(name + "/*")) == 1
    assert len(glob.glob(name + "/*/*/")) == 1, "one run has written"


def failing():
    """What fails on the way is not there, and says so."""
    name = path("fails")

    def save():
        tf.data.Dataset.range(COUNT).map(lambda x: tf.debugging.check_numerics(
            1 / tf.cast(x - 9, tf.float32), "nine")).save(name)
    try:
        on(0, save)
    except tf.errors.InvalidArgumentError as error:
        assert "nine" in str(error)
    else:
        raise AssertionError("it has saved what cannot be computed")
    assert not glob.glob(name + "/*/*/*.snapshot")
    for lost, code in (("nowhere", tf.errors.NotFoundError),):
        try:
            on(0, lambda n=lost: sum_of(tf.data.Dataset.load(
                path(n), element_spec=numbers().element_spec)))
        except code:
            continue
        raise AssertionError("it has loaded " + lost)


def packed():
    """Elements that travel compressed."""
    def squeeze():
        return tf.raw_ops.CompressElement(components=[
            tf.range(1000), tf.constant("text")])
    with tf.device(WORKER % 0):
        there = tf.function(squeeze)()

    @tf.function
    def spread(one):
        return tf.raw_ops.UncompressElement(
            compressed=one, output_types=[tf.int32, tf.string],
            output_shapes=[[1000], []])
    with tf.device(WORKER % 0):
        x, text = spread(there)
    assert np.array_equal(x.numpy(), np.arange(1000)) and text.numpy() == b"text"


def body():
    Remote()
    saved_there()
    saved_here()
    kept()
    failing()
    packed()


play(body)
