"""Depthwise convolutions by filters without elements: TensorFlow's servers refuse
them for all types but double, and that before all else.  They do so where they
use oneDNN (by default; this suite turns it off: TF_ENABLE_ONEDNN_OPTS)."""
import os

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test

ONE = dict(worker=1)
SHAPES = (((1, 4, 4, 2), (0, 3, 2, 1)), ((1, 4, 4, 2), (3, 0, 2, 1)),
          ((1, 4, 4, 2), (3, 3, 2, 0)), ((1, 4, 4, 0), (3, 3, 0, 2)),
          ((0, 4, 4, 2), (0, 3, 2, 1)), ((1, 4, 4, 3), (0, 3, 2, 1)),
          ((4, 4, 3), (0, 3, 3, 1)))


def convolve(cluster, dtype, image, filter_):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        x, w = (tf.placeholder(dtype, None) for _ in range(2))
        y = tf.raw_ops.DepthwiseConv2dNative(
            input=x, filter=w, strides=[1, 1, 1, 1], padding="SAME")
        return session.run(y, {x: np.zeros(image, dtype.as_numpy_dtype),
                               w: np.zeros(filter_, dtype.as_numpy_dtype)})


@test(tfd_only=os.environ["TF_ENABLE_ONEDNN_OPTS"] == "0", **ONE)
def an_empty_filter_is_refused(cluster):
    for dtype in (tf.float32, tf.float16, tf.bfloat16):
        for image, filter_ in SHAPES:
            with expect(tf.errors.InvalidArgumentError,
                        "filter must not have zero elements"):
                convolve(cluster, dtype, image, filter_)
                raise AssertionError((dtype, image, filter_))


@test(**ONE)
def one_of_doubles_gives_nothing(cluster):
    for image, filter_ in SHAPES[2:4]:
        assert convolve(cluster, tf.float64, image, filter_).shape == (
            1, 4, 4, 0)


@test(**ONE)
def no_images_give_none(cluster):
    assert convolve(cluster, tf.float32, (0, 4, 4, 2),
                    (3, 3, 2, 1)).shape == (0, 4, 4, 2)
