"""Cases of kernels/codec/encode_image.c.  PNG files may be packed in any way, so
they are compared by what TensorFlow reads out of them."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.pictures import drawn, smooth
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, row, scenario

IMAGES = [smooth(*size) for size in ((37, 41, 3), (16, 16, 3), (33, 50, 1),
                                     (1, 1, 3), (5, 1, 1))] + [drawn(9, 200, 3)]
SMALL = IMAGES[1]
SHAPES = [drawn(4, 5), drawn(4, 5, 2), drawn(4, 5, 4), drawn(2, 4, 5, 3),
          drawn(0, 5, 3), drawn(5, 0, 1), drawn(1, 65501, 1), drawn(4, 5, 0)]
SETTINGS = ({}, {"quality": 0}, {"quality": 100}, {"quality": 31},
            {"progressive": True}, {"optimize_size": True},
            {"chroma_downsampling": False}, {"density_unit": "cm"},
            {"x_density": 72, "y_density": 65535},
            {"xmp_metadata": b"<x:xmpmeta/>"})

row("EncodeJpeg", [c(image, **settings) for image in IMAGES
                   for settings in SETTINGS] + [
    c(SMALL, format="rgb"), c(IMAGES[2], format="grayscale"),
    bad(SMALL, format="grayscale"), bad(IMAGES[2], format="rgb"),
    bad(SMALL, quality=101), bad(SMALL, quality=-1),
    bad(SMALL, xmp_metadata=b"x" * 65510)] + [bad(image) for image in SHAPES], tol=0)
row("EncodeJpegVariableQuality", [
    c(image, quality) for image in IMAGES for quality in (0, 50, 95, 100)] + [
    bad(SMALL, 101), bad(SMALL, -1), bad(SMALL, [50])] + [
    bad(image, 50) for image in SHAPES], tol=0)


def pixels(file, dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.raw_ops.DecodePng(contents=file, dtype=dtype)).tolist()


def written(session, image, **attrs):
    found = told(session, tf.raw_ops.EncodePng(image=hidden(image), **attrs))
    if isinstance(found, str):
        return found
    return repr((np.shape(found), [pixels(file, image.dtype)
                                   for file in np.ravel(found)]))


@scenario("EncodePng")
@fresh_graph
def pngs_written(side):
    out = {}
    with side.session() as session:
        for dtype, most in ((np.uint8, 256), (np.uint16, 65536)):
            for dims in ((4, 5, 1), (4, 5, 2), (4, 5, 3), (1, 1, 4), (60, 70, 3),
                         (3, 4, 5, 1), (2, 2, 3, 4, 3), (0, 4, 5, 3), (4, 5, 0),
                         (4, 5, 5), (4, 5),
                         (3,), (), (1, 1000001, 1)):
                image = drawn(*dims, most=most, dtype=dtype) * np.ones([], dtype)
                out["%s %s" % (dtype.__name__, dims)] = written(session, image)
        for level in range(-2, 11):
            out["level %d" % level] = written(session, drawn(20, 30, 3),
                                              compression=level)
    return out
