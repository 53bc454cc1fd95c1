"""Cases of kernels/image/random_crop.c, which graphs of today cannot have."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.old_graphs import old_node, old_op
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

BEFORE = 7
TYPES = ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")


def crop(image, size, seed2=1):
    return old_op("RandomCrop", 1, image, np.asarray(size, np.int64),
                  producer=BEFORE, seed=11, seed2=seed2)[0]


@scenario("RandomCrop")
@fresh_graph
def old_random_crop(side):
    out = {}
    for dtype in TYPES:
        image = np.arange(7 * 9 * 2).reshape(7, 9, 2).astype(dtype)
        for number, size in enumerate([(3, 4), (7, 9), (7, 1), (1, 9), (0, 3), (3, 0)]):
            with side.session() as session:
                made = crop(image, size, number)
                for turn in range(3):
                    out["%s %s %d" % (dtype, size, turn)] = session.run(made)
    return out


@scenario("RandomCrop")
@fresh_graph
def bad_random_crop(side):
    out = {}
    image = np.zeros([5, 6, 1], np.float32)
    for name, (value, size) in {
            "wide": (image, (3, 7)), "high": (image, (6, 3)), "both": (image, (6, 7)),
            "rank": (image[0], (1, 1)), "rank 4": (image[None], (1, 1)),
            "sizes": (image, (1, 1, 1)), "scalar": (image, 3),
            "matrix": (image, [[1, 1]])}.items():
        with side.session() as session:
            out[name] = told(session, old_node(
                "RandomCrop", hidden(value), hidden(np.int64(size)), producer=BEFORE,
                T=tf.float32, seed=5))
    return out
