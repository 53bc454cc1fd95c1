"""Cases of kernels/image/glimpse.c.

Noise is TensorFlow's clock's; so it is compared by what bounds it and by what
is known of many numbers."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import Data, x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, once, row, scenario

ZERO = {"uniform_noise": False, "noise": "zero"}
WAYS = [dict(centered=centered, normalized=normalized) for centered in (True, False)
        for normalized in (True, False)]
PLACES = [[0.0, 0.0], [0.25, -0.5], [-1.0, 1.0], [0.9, 0.9], [3.0, 4.0], [-2.5, 2.5],
          [100.0, -100.0], [np.inf, np.nan], [-0.01, 1e30]]
CALLS = [(x(9, 6, 7, 3), [3, 2], PLACES), (x(9, 6, 7, 3), [9, 12], PLACES),
         (x(9, 6, 7, 1), [6, 7], PLACES), (x(9, 1, 1, 2), [1, 1], PLACES),
         (x(9, 4, 4, 2), [2, 40], PLACES)]
EMPTY = [(x(0, 4, 4, 1), [2, 2], np.zeros([0, 2])), (x(2, 4, 4, 1), [0, 2], PLACES[:2]),
         (x(2, 4, 4, 0), [2, 2], PLACES[:2]), (x(2, 0, 4, 3), [2, 2], PLACES[:2])]
INSIDE = (x(2, 9, 9, 3), [3, 4], [[0.1, 0.1], [-0.1, 0.2]])  # no noise
BAD = [(x(9, 6, 7), [3, 2], PLACES), (x(9, 6, 7, 3), 3, PLACES),
       (x(9, 6, 7, 3), [3], PLACES), (x(9, 6, 7, 3), [[3, 2]], PLACES),
       (x(9, 6, 7, 3), [3, 2], PLACES[0]), (x(9, 6, 7, 3), [3, 2], PLACES[:2]),
       (x(2, 6, 7, 3), [3, 2], [[1.0] * 3] * 2)]

row("ExtractGlimpse ExtractGlimpseV2", [
    c(*call, **ZERO, **way) for call in CALLS + EMPTY for way in WAYS] + [
    c(*INSIDE), c(*INSIDE, uniform_noise=False, noise=""),
    c(*INSIDE, uniform_noise=False, noise="gaussian"), c(*INSIDE, noise=""),
    once(x(2, 90, 70, 3), [50, 60], PLACES[1:3], **ZERO)] + [
    bad(*call, **ZERO) for call in BAD] + [
    bad(x(1, 4, 4, 1), [-1, 2], PLACES[:1], **ZERO),
    bad(*INSIDE, uniform_noise=False, noise="white")], Data(-5, 5), tol=0)

NOISES = {"uniform": {}, "unnamed": {"noise": ""},
          "gaussian": {"uniform_noise": False, "noise": "gaussian"},
          "unnamed gaussian": {"uniform_noise": False, "noise": ""}}


PARTS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
NORMAL = np.array([-1.2816, -0.6745, 0, 0.6745, 1.2816])  # what lies below


def measures(image, noise, gaussian):
    """Whether the numbers are within the image's and spread as they should be:
    of 40,000 a quantile is off by a thousandth of the range or two."""
    least, most = image.min(), image.max()
    wanted = least + PARTS * (most - least)
    if gaussian:
        wanted = np.clip(image.mean() + NORMAL * image.std(), least, most)
    off = np.abs(np.quantile(noise, PARTS) - wanted) / (most - least)
    return {"within": bool(noise.min() >= least and noise.max() <= most),
            "some": bool(len(np.unique(noise)) > noise.size / 4),
            "like": bool(off.max() < 0.02)}


@scenario("ExtractGlimpse ExtractGlimpseV2")
@fresh_graph
def noise_of_glimpses(side):
    out = {}
    image = np.random.RandomState(3).uniform(-3, 9, (2, 8, 8, 1)).astype(np.float32)
    image[1] **= 2
    for op in (tf.raw_ops.ExtractGlimpse, tf.raw_ops.ExtractGlimpseV2):
        for name, way in NOISES.items():
            with side.session() as session:
                made = op(input=image, size=[200, 200], offsets=[[90.0, 90.0]] * 2, **way)
                first, again = session.run(made), session.run(made)
            key = "%s %s" % (op.__name__, name)
            out[key + " anew"] = bool((first != again).any())
            for i in range(2):
                for what, value in measures(image[i], first[i], "gauss" in name).items():
                    out["%s %d %s" % (key, i, what)] = value
    return out
