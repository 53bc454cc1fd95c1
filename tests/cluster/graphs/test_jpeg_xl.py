"""JPEG XL files that claim more than they have: TensorFlow's servers ask for
that much memory, or for what the kernel gives."""
from tests.cluster.client import expect, graph, tf
from tests.cluster.suite import test
from tests.conformance import pictures

ONE = dict(worker=1)


def decode(cluster, file):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        return session.run(tf.raw_ops.DecodeJxl(contents=file))


@test(tfd_only=True, **ONE)
def a_huge_jpeg_xl_is_refused(cluster):
    for height, width in ((1 << 30, 1 << 30), (1 << 15, 1 << 15)):
        with expect(tf.errors.InvalidArgumentError,
                    "JPEG XL of 1 frames, %d by %d pixels, is too large: the "
                    "limit is 536870912 pixels" % (width, height)):
            decode(cluster, pictures.jxl_head(height, width))


@test(tfd_only=True, **ONE)
def thousands_of_channels_are_refused(cluster):
    with expect(tf.errors.ResourceExhaustedError,
                "JPEG XL of 20000 by 20000 pixels of 4099 channels"):
        decode(cluster, pictures.jxl_head(20000, 20000, 4096))


@test(tfd_only=True, **ONE)
def a_hidden_frame_of_many_gigabytes_is_refused(cluster):
    for side in (1 << 16, 1 << 18):
        with expect(tf.errors.InvalidArgumentError,
                    "Failed to decode JXL image"):
            decode(cluster, pictures.jxl_hidden(side))


@test(tfd_only=True, **ONE)
def a_jpeg_xl_is_decoded_after_that(cluster):
    assert (decode(cluster, pictures.JXL[0]) ==
            pictures.smooth(5, 7, 3)).all()
