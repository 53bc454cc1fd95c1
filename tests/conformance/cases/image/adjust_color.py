"""Cases of kernels/image/adjust_color.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.image.color_space import EDGES, LENGTHS, NO_COLORS
from tests.conformance.inputs import Data, x
from tests.conformance.old_graphs import old_node, old_op
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario

IMAGES = [x(4, 5, 3), x(2, 3, 4, 3), x(0, 2, 2, 3), x(2, 0, 3), x(2, 1, 1, 5, 3),
          [EDGES]]
BAD = [bad(x(2, 3), 0.5), bad(x(2, 2, 3), [0.5]), bad(x(3), 1.0)]
DEEP = [bad(x(2, 2, 4), 0.5), bad(x(2, 2, 1), 0.5)]

row("AdjustContrastv2", [c(image, by) for image in IMAGES + [x(5, 4, 1), x(3, 3, 4), x(1, 1, 2)]
                         for by in (0.0, 0.5, 1.0, 2.5, -1.0)] + [
    c(image, 0.3) for image in LENGTHS + [x(3, 5, 16), x(3, 5, 17), x(2, 5, 257)]] + [
    once(x(2, 100, 90, 3), 1.7)] + BAD, Data(0, 1))
row("AdjustHue", [c(image, by) for image in IMAGES
                  for by in (0.0, 0.1, 0.5, 1.0, -0.25, -1.0, 3.3)] + [
    c(image, by) for image in LENGTHS + [[NO_COLORS]] for by in (0.3, -0.7, 1.01)] + [
    once(x(2, 100, 90, 3), 0.3)] + BAD + DEEP, Data(0, 1))
row("AdjustSaturation", [c(image, by) for image in IMAGES
                         for by in (0.0, 0.5, 1.0, 2.5, -1.0)] + [
    c(image, 0.3) for image in LENGTHS + [[NO_COLORS]]] + [
    once(x(2, 100, 90, 3), 1.7)] + BAD + DEEP, Data(0, 1))


def old_contrast(image, by=1.5, least=10.0, most=90.0):
    """AdjustContrast was given up with graphs of version 2."""
    return old_op("AdjustContrast", 1, image, np.float32(by), np.float32(least),
                  np.float32(most), producer=1)[0]


@scenario("AdjustContrast")
@fresh_graph
def contrast_by_its_old_name(side):
    out = {}
    for dtype in ("uint8", "int8", "int16", "int32", "float32", "float64"):
        for shape in ((4, 5, 3), (2, 3, 4, 1), (0, 2, 2, 3), (2, 0, 3), (2, 1, 1, 5, 3),
                      (1, 1, 2)):
            image = np.random.RandomState(4).uniform(0, 100, shape).astype(dtype)
            for by in (0.0, 0.5, 1.0, 2.5, -1.0):
                with side.session() as session:
                    out["%s %s %s" % (dtype, shape, by)] = session.run(
                        old_contrast(image, by))
    return out


@scenario("AdjustContrast")
@fresh_graph
def bad_contrast_by_its_old_name(side):
    out = {}
    image, one, two = np.ones([2, 2, 3], np.float32), np.float32(1), np.float32([2])
    for name, call in {"rank": (image[0], one, one, one), "factor": (image, two, one, one),
                       "least": (image, one, two, one), "most": (image, one, one, two)}.items():
        with side.session() as session:
            out[name] = told(session, old_node(
                "AdjustContrast", *map(hidden, call), producer=1, T=tf.float32))
    return out
