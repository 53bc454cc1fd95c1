"""Convolutions of padded images where TensorFlow crashes, answers what its
memory had before, or gives the first image's answer for all."""
from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test

ONE = dict(worker=1)
raw = tf.raw_ops


def padded(session, image, filter_, paddings=((0, 0),) * 4):
    x, w, p = (tf.placeholder(t, None) for t in (tf.float32,) * 2 + (tf.int32,))
    p.set_shape([4, 2])
    y = raw.FusedPadConv2D(input=x, paddings=p, filter=w, mode="SYMMETRIC",
                           strides=[1, 1, 1, 1], padding="VALID")
    return session.run(y, {x: image, w: filter_, p: paddings})


@test(tfd_only=True, **ONE)
def what_has_not_four_dimensions_is_refused(cluster):
    w = np.ones([1, 1, 1, 1], np.float32)
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        for shape in ([], [2], [1, 2, 2], [1, 2, 2, 1, 1]):
            with expect(tf.errors.InvalidArgumentError,
                        "input must be 4-dimensional[%s]" %
                        ",".join(map(str, shape))):
                padded(session, np.ones(shape, np.float32), w)


@test(tfd_only=True, **ONE)
def a_filter_without_elements_gives_zeros(cluster):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        y = padded(session, np.ones([1, 3, 3, 2], np.float32),
                   np.ones([0, 2, 2, 4], np.float32))
        assert y.shape == (1, 4, 2, 4) and not y.any()


@test(tfd_only=True, **ONE)
def every_image_of_a_batch_is_convolved(cluster):
    x = np.random.RandomState(0).uniform(size=[3, 4, 5, 2]).astype(np.float32)
    w = np.random.RandomState(1).uniform(size=[3, 3, 2, 4]).astype(np.float32)
    p = [[0, 0], [1, 2], [2, 1], [0, 0]]
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        y = padded(session, x, w, p)
        want = session.run(tf.nn.conv2d(
            np.pad(x, p, "symmetric"), w, [1, 1, 1, 1], "VALID"))
        assert np.allclose(y, want, rtol=1e-5)


@test(tfd_only=True, **ONE)
def a_border_that_is_too_large_is_refused(cluster):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        with expect(tf.errors.InvalidArgumentError, "no greater than"):
            padded(session, np.ones([1, 2, 2, 1], np.float32),
                   np.ones([1, 1, 1, 1], np.float32),
                   [[0, 0], [2 ** 31 - 1] * 2, [0, 0], [0, 0]])
