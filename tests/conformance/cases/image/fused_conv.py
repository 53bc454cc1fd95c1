"""Cases of kernels/image/fused_conv.c.  Where an image to be padded has not
four dimensions TensorFlow crashes, and what it answers for a filter without
elements is what its memory had before.  Of a batch TensorFlow's kernels
convolve the first image again and again: they get images one by one."""
import itertools

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.csr.matrices import ranked, sized
from tests.conformance.cases.data.pipelines import answers, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

# image, sizes, borders of rows and columns, filter
WAYS = [
    ((1, 5, 6, 2), (7, 8), ((1, 2), (2, 1)), (3, 3, 2, 4)),
    ((2, 4, 3, 1), (4, 3), ((0, 0), (0, 0)), (2, 2, 1, 1)),
    ((2, 6, 5, 3), (3, 9), ((2, 0), (0, 2)), (1, 1, 3, 5)),
    ((1, 1, 1, 4), (2, 2), ((0, 0), (0, 0)), (1, 1, 4, 2)),
    ((3, 9, 8, 3), (1, 1), ((0, 0), (0, 0)), (1, 1, 3, 2)),
    ((1, 12, 11, 16), (24, 17), ((3, 3), (3, 3)), (7, 7, 16, 8)),
]
STRIDES = ([1, 1, 1, 1], [1, 2, 2, 1], [1, 1, 3, 1])
KINDS = {"float32": (tf.float32, 64), "float64": (tf.float64, 64),
         "float16": (tf.float16, 4), "bfloat16": (tf.bfloat16, 4)}


def drawn(shape, dtype, seed):
    """Positive, so that no sums cancel."""
    rng = np.random.RandomState(seed)
    x = rng.uniform(0.25, 1, shape).astype(np.float32)
    return tf.placeholder_with_default(
        x.astype(dtype.as_numpy_dtype), [None] * len(shape))


def borders(rows, columns, batch=(0, 0), depth=(0, 0)):
    return sized(np.int32([batch, rows, columns, depth]))


def one_by_one(op, side, x, count, **rest):
    """A whole batch at once only where it is not TensorFlow's kernel."""
    if side.target:
        return op(input=x, **rest)
    return tf.concat([op(input=x[i:i + 1], **rest) for i in range(count)], 0)


def both(side, image, sizes, border, filter_, mode, strides, padding, dtype):
    x, w = drawn(image, dtype, 1), drawn(filter_, dtype, 2)
    rest = dict(count=image[0], x=x, side=side, paddings=borders(*border), filter=w, mode=mode,
                strides=strides, padding=padding)
    yield "pad", lambda: one_by_one(raw.FusedPadConv2D, **rest)
    if dtype == tf.bfloat16:
        return
    for align in (False, True):
        yield "resize %d" % align, lambda align=align: one_by_one(
            raw.FusedResizeAndPadConv2D, size=ranked(np.int32(sizes)),
            resize_align_corners=align, **rest)


def fits(image, sizes, border, name, mode):
    have = image[1:3] if name == "pad" else sizes
    return all(max(b) <= n - (mode == "REFLECT")
               for b, n in zip(border, have))


def enlarged(side, dtype):
    found = {}
    for i, way in enumerate(WAYS):
        for mode, strides, padding in itertools.product(
                ("REFLECT", "SYMMETRIC"), STRIDES, ("SAME", "VALID")):
            for name, make in both(side, *way, mode, strides, padding, dtype):
                if fits(*way[:3], name, mode):
                    found["%s %d %s %s %s" % (name, i, mode, strides,
                                              padding)] = make()
    return answers(side, found)


def register(kind, dtype, tol):
    ops = "FusedPadConv2D" + (" FusedResizeAndPadConv2D"
                              if dtype != tf.bfloat16 else "")

    def enlarged_images_convolved(side):
        return enlarged(side, dtype)
    enlarged_images_convolved.__name__ += "_" + kind
    scenario(ops, tol=tol)(fresh_graph(enlarged_images_convolved))


for kind_, (dtype_, tol_) in KINDS.items():
    register(kind_, dtype_, tol_)


@scenario("FusedPadConv2D FusedResizeAndPadConv2D", tol=4)
@fresh_graph
def pixels_that_are_no_numbers(side):
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    x[0, 1, 2], x[0, 3, 3] = np.nan, np.inf
    rest = dict(paddings=borders((1, 2), (2, 1)), mode="REFLECT",
                filter=ranked(np.ones([1, 1, 1, 1], np.float32)),
                strides=[1, 1, 1, 1], padding="VALID")
    return answers(side, {
        "pad": raw.FusedPadConv2D(input=ranked(x), **rest),
        "resize": raw.FusedResizeAndPadConv2D(
            input=ranked(x), size=ranked(np.int32([5, 7])), **rest),
        "same size": raw.FusedResizeAndPadConv2D(
            input=ranked(x), size=ranked(np.int32([4, 4])), **rest)})


GOOD = dict(x=(1, 5, 6, 2), p=[[0, 0], [1, 2], [2, 1], [0, 0]], w=(3, 3, 2, 4),
            size=[7, 8], strides=[1, 1, 1, 1], padding="VALID", mode="REFLECT")
BAD = {
    "no image": dict(x=(0, 5, 6, 2)), "no rows": dict(x=(1, 0, 6, 2)),
    "no channels": dict(x=(1, 5, 6, 0)),
    "no image and bad paddings": dict(x=(0, 5, 6, 2),
                                      p=[[0, 0], [-1, 9], [0, 0], [0, 0]]),
    "below": dict(p=[[0, 0], [-1, 2], [2, 1], [0, 0]]),
    "far": dict(p=[[0, 0], [1, 50], [2, 1], [0, 0]]),
    "as far as there is": dict(p=[[0, 0], [7, 0], [0, 0], [0, 0]]),
    "farther than there is": dict(p=[[0, 0], [0, 0], [0, 9], [0, 0]],
                                  mode="SYMMETRIC"),
    "batches": dict(p=[[0, 1], [1, 1], [1, 1], [0, 0]], mode="SYMMETRIC"),
    "one batch reflected": dict(p=[[0, 1], [1, 50], [1, 1], [0, 0]]),
    "channels": dict(p=[[0, 0], [1, 1], [1, 1], [1, 0]], mode="SYMMETRIC"),
    "filter's channels": dict(w=(3, 3, 3, 4)), "group": dict(w=(3, 3, 1, 4)),
    "no filter channels": dict(w=(3, 3, 0, 4)),
    "no result": dict(w=(3, 3, 2, 0)), "long": dict(w=(30, 3, 2, 4)),
    "one row too long": dict(w=(11, 3, 2, 4), p=np.zeros([4, 2])),
    "wide and of other channels": dict(w=(3, 30, 3, 4)),
    "batch stride": dict(strides=[2, 1, 1, 1]),
    "channel stride": dict(strides=[1, 1, 1, 2]),
}
BAD_SIZES = {"one": [7], "three": [7, 8, 9], "none": [0, 8], "below": [7, -8]}


def one(x, p, w, size, **rest):
    image = ranked(np.ones(x, np.float32))
    rest.update(paddings=sized(np.int32(p)),
                filter=ranked(np.ones(w, np.float32)))
    return (raw.FusedPadConv2D(input=image, **rest),
            raw.FusedResizeAndPadConv2D(input=image, size=ranked(np.int32(size)),
                                        **rest))


@scenario("FusedPadConv2D FusedResizeAndPadConv2D", tol=4)
@fresh_graph
def bad_enlarged_images(side):
    found = {}
    for name, other in BAD.items():
        found[name], found[name + " resized"] = one(**{**GOOD, **other})
    for name, size in BAD_SIZES.items():
        found["size " + name] = one(**{**GOOD, "size": size})[1]
    return answers(side, found)
