"""Cases of kernels/text/summary_media.c.  PNG files may be packed in any way, so
they are compared by what TensorFlow reads out of them."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import Data, x
from tests.conformance.old_graphs import PRODUCER, constant
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import bad, c, row, scenario

row("AudioSummaryV2", [
    c(b"g", [[0, .5, -.5, 1, -1, 2, 1e-5, .99999, .123456]], 44100),
    c(b"g", [[i / 65536 for i in range(-9, 10)]], 44100),
    c(b"g", [[.999999, 32767.4 / 32768, 32766.5 / 32768, -32767.5 / 32768,
              -32768.4 / 32768, np.inf, -np.inf, np.nan]], 44100),
    *(c(b"g", x(1, n), 8000) for n in (1, 2, 7, 8, 9, 15, 17, 31, 33, 65)),
    c(b"g", x(5, 9), 8000), c(b"g", x(5, 9), 8000, max_outputs=1),
    c(b"g", x(2, 3, 3), 22050.7), c(b"g", x(1, 0), 0.4), c(b"g", x(0, 3), 1),
    c(b"g", x(2, 300), 1, max_outputs=7), c(b"g", x(1, 5), [44100]),
    c(b"g", x(1, 2, 300), 44100.5),
    bad(b"g", x(1, 5), 0), bad(b"g", x(1, 5), -4), bad(b"g", x(1, 5), 1e12),
    bad(b"g", x(5), 44100), bad([b"g"], x(1, 5), 44100),
    bad(b"g", x(1, 1, 0), 44100), bad(b"g", x(1, 1, 65536), 44100),
    bad(b"g", x(1, 2), [1, 2])], Data(-1.2, 1.2))
NUMBERS = {"uint8": 255, "float32": 1, "float64": 1, "float16": 1}


def pictures(serialized):
    """(tag, height, width, channels, pixels) of each image."""
    found = []
    for value in tf.Summary.FromString(serialized).value:
        image = value.image
        with tf.Graph().as_default(), tf.Session() as session:
            pixels = session.run(tf.image.decode_png(
                image.encoded_image_string))
        found.append((value.tag, image.height, image.width, image.colorspace,
                      pixels.tolist()))
    return repr(found)


def image_of(session, values, tag="g", **attrs):
    result = attempt(session, tf.raw_ops.ImageSummary(
        tag=hidden(tag), tensor=hidden(values), **attrs))
    return pictures(result) if isinstance(result, bytes) else result


def drawn(dtype, *dims):
    rng = np.random.RandomState(len(dims))
    return (rng.uniform(0, NUMBERS[dtype], dims)).astype(dtype)


@scenario("ImageSummary")
@fresh_graph
def image_summaries(side):
    out = {}
    with side.session() as session:
        for dtype in NUMBERS:
            for dims in ((2, 5, 4, 1), (5, 3, 2, 3), (1, 4, 4, 4),
                         (0, 2, 2, 1), (1, 40, 300, 3)):
                key = "%s %s" % (dtype, dims)
                out[key] = image_of(session, drawn(dtype, *dims))
            for dims in ((1, 2, 2, 2), (2, 2, 2), (1, 0, 2, 1), (1, 2, 0, 1)):
                key = "bad %s %s" % (dtype, dims)
                out[key] = image_of(session, drawn(dtype, *dims))
        out["one"] = image_of(session, drawn("float32", 3, 2, 2, 1),
                              max_images=1)
        out["vector tag"] = image_of(session, drawn("float32", 1, 2, 2, 1),
                                     ["a"])
        out.update(_scaled(session))
        out.update(_bad_colors(session))
    return out


def _scaled(session):
    out = {}
    for dtype in ("float32", "float64", "float16"):
        values = drawn(dtype, 1, 6, 6, 3)
        for name, other in (("signed", values - dtype_of(dtype, 0.3)),
                            ("dark", values * dtype_of(dtype, 0)),
                            ("large", values * dtype_of(dtype, 300))):
            out["%s %s" % (name, dtype)] = image_of(session, other)
        values[0, 0, 0] = np.nan
        values[0, 1, 1, 2] = np.inf
        out["not finite " + dtype] = image_of(session, values)
    out["nothing finite"] = image_of(
        session, np.full((1, 2, 2, 1), np.nan, np.float32))
    return out


def dtype_of(dtype, value):
    return np.dtype(dtype).type(value)


def _bad_colors(session):
    missing = np.full((1, 1, 2, 4), np.nan, np.float32)
    colors = {"four": ([1, 2, 3, 4], tf.uint8), "three": ([1, 2, 3], tf.uint8),
              "float": ([1, 2, 3, 4], tf.float32),
              "matrix": ([[1, 2, 3, 4]], tf.uint8)}
    return {"color " + name: image_of(
        session, missing, bad_color=tf.make_tensor_proto(*color))
            for name, color in colors.items()}


def old_audio(tag, sound, **attrs):
    """AudioSummary, which graphs of today do not have."""
    graph = tf.GraphDef()
    graph.versions.producer = PRODUCER
    graph.node.append(constant("tag", tag))
    graph.node.append(constant("sound", sound))
    node = graph.node.add(name="op", op="AudioSummary")
    node.input.extend(["tag", "sound"])
    node.attr["sample_rate"].f = attrs["rate"]
    if "most" in attrs:
        node.attr["max_outputs"].i = attrs["most"]
    return tf.import_graph_def(graph, name="old", return_elements=["op:0"])[0]


@scenario("AudioSummary")
@fresh_graph
def audio_summaries_of_old_graphs(side):
    out = {}
    sounds = {"many": np.full([5, 3, 2], 0.25, np.float32),
              "one": np.full([1, 9], -0.5, np.float32),
              "flat": np.zeros([3], np.float32),
              "none": np.zeros([0, 3], np.float32),
              "wide": np.zeros([1, 1, 65536], np.float32)}
    with side.session() as session:
        for key, sound in sounds.items():
            for rate in (44100.0, 44100.5, 0.0, -1.0, 1e20):
                out["%s %s" % (key, rate)] = told(session, old_audio(
                    b"t", sound, rate=rate))
        out["few"] = told(session, old_audio(b"t", sounds["many"], rate=1.0,
                                             most=1))
        out["tags"] = told(session, old_audio([b"t"], sounds["one"], rate=1.0))
    return out
