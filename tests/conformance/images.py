"""Rows of the table: convolutions, pools, normalisation, images."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance import devices, inputs
from tests.conformance.inputs import Data, types_of, x
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
from tests.conformance.table import bad, c, once, row, scenario

SMALL = Data(-4, 4)
# For one that TensorFlow's oneDNN kernels do not take over.
PLAIN = ("float64",)
# What its plain kernels refuse for that, and those of GPUs do not.
ON_CPU = {"dtypes": PLAIN, "cpu": True}


def window(stride=1, padding="SAME", **attrs):
    """Attributes of a convolution: strides of rows and columns."""
    rows, columns = stride if isinstance(stride, tuple) else (stride, stride)
    found = {"strides": [1, rows, columns, 1], "padding": padding, **attrs}
    if attrs.get("data_format") == "NCHW":
        found["strides"] = [1, 1, rows, columns]
    return found


def explicit(rows, columns, **attrs):
    return {**attrs, "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, *rows, *columns, 0, 0]}


# ---- Convolutions: x, filter, y, attributes ---------------------------------

CONVOLUTIONS = [
    ((2, 5, 6, 3), (3, 3, 3, 4), (2, 5, 6, 4), window()),
    ((2, 5, 6, 3), (3, 2, 3, 4), (2, 3, 5, 4), window(padding="VALID")),
    ((1, 7, 7, 2), (3, 3, 2, 3), (1, 4, 4, 3), window(2)),
    ((1, 7, 8, 2), (2, 3, 2, 3), (1, 2, 6, 3), window((3, 1), "VALID")),
    ((2, 4, 4, 3), (1, 1, 3, 5), (2, 4, 4, 5), window()),
    ((2, 5, 5, 3), (1, 1, 3, 2), (2, 3, 3, 2), window(2)),
    ((1, 3, 3, 1), (5, 5, 1, 2), (1, 3, 3, 2), window()),
    ((1, 4, 5, 2), (3, 3, 2, 2), (1, 5, 6, 2),
     window(**explicit((1, 2), (3, 0)))),
    ((1, 4, 4, 2), (4, 4, 2, 3), (1, 1, 1, 3), window(padding="VALID")),
]
BROADLY = [
    ((1, 7, 7, 2), (3, 3, 2, 3), (1, 7, 7, 3),
     window(dilations=[1, 2, 2, 1])),
    ((1, 9, 7, 2), (3, 2, 2, 3), (1, 3, 6, 3),
     window(padding="VALID", dilations=[1, 3, 1, 1])),
    ((2, 5, 5, 4), (3, 3, 2, 6), (2, 5, 5, 6), window()),
    ((1, 5, 5, 4), (1, 1, 1, 4), (1, 5, 5, 4), window()),
]
SECOND = [
    ((2, 3, 5, 6), (3, 3, 3, 4), (2, 4, 5, 6), window(data_format="NCHW")),
    ((1, 2, 7, 7), (3, 3, 2, 3), (1, 3, 3, 3),
     window(2, "VALID", data_format="NCHW")),
]
# Large enough for oneDNN, where it is installed and threads are few; it leaves
# the last, whose window is longer than the image, to products.
LARGE = [
    ((5, 14, 14, 8), (5, 5, 8, 16), (5, 14, 14, 16), window()),
    ((4, 13, 12, 7), (3, 3, 7, 19), (4, 11, 10, 19), window(padding="VALID")),
    ((4, 16, 15, 16), (2, 3, 16, 16), (4, 6, 15, 16), window((3, 1))),
    ((4, 8, 8, 16), (4, 3, 16, 16), (4, 12, 10, 16),
     window(**explicit((3, 4), (2, 2)))),
    ((3, 9, 9, 64), (1, 1, 64, 32), (3, 9, 9, 32), window()),
    ((3, 3, 3, 32), (7, 7, 32, 16), (3, 3, 3, 16), window()),
]
LARGE_BROADLY = [
    ((4, 14, 14, 16), (3, 3, 16, 16), (4, 14, 14, 16),
     window(dilations=[1, 2, 3, 1])),
    ((3, 16, 14, 14), (3, 3, 16, 16), (3, 16, 14, 14),
     window(data_format="NCHW")),
    ((3, 16, 15, 14), (3, 3, 16, 16), (3, 16, 7, 6),
     window(2, "VALID", data_format="NCHW")),
]
WRONG = [
    ((1, 5, 5, 3), (3, 3, 2, 4), (1, 5, 5, 4), window()),
    ((1, 5, 5), (3, 3, 5, 4), (1, 5, 5, 4), window()),
    ((1, 5, 5, 3), (3, 3, 3), (1, 5, 5, 3), window()),
    ((1, 1, 1, 1), (3, 3, 1, 1), (1, 1, 1, 1), window(padding="VALID")),
    ((1, 5, 5, 1), (3, 3, 1, 1), (1, 5, 5, 1),
     {"strides": [2, 1, 1, 1], "padding": "SAME"}),
]


def convolutions(op, takes, broad=(), wrong=(), tol=32):
    """takes(x, w, y): what the op takes, of shapes."""
    cases = [c(*takes(*shapes), **attrs)
             for *shapes, attrs in CONVOLUTIONS]
    cases += [c(*takes(*shapes), **attrs) if op == "Conv2D" else
              bad(*takes(*shapes), **ON_CPU, **attrs)
              for *shapes, attrs in BROADLY]
    cases += [bad(*takes(*shapes), **ON_CPU, **attrs)
              for *shapes, attrs in SECOND]
    cases += [once(*takes(*shapes), **attrs) for *shapes, attrs in LARGE]
    cases += [bad(*takes(*shapes), **attrs) for *shapes, attrs in WRONG]
    row(op, cases + list(broad) + list(wrong), SMALL, tol=tol)


def of_forward(image, filter_, _):
    return x(*image), x(*filter_)


def of_input(image, filter_, output):
    return list(image), x(*filter_), x(*output)


def of_filter(image, filter_, output):
    return x(*image), list(filter_), x(*output)


convolutions("Conv2D", of_forward, broad=[
    c(x(0, 5, 5, 2), x(3, 3, 2, 3), **window()),
    c(x(2, 5, 5, 2), x(3, 3, 2, 0), **window()),
    c(x(0, 5, 5, 2), x(0, 3, 2, 3), **window()),
    once(x(8, 28, 28, 8), x(5, 5, 8, 16), **window()),
    once(x(3, 30, 31, 16), x(3, 3, 16, 32), **window(2))], wrong=[
        bad(x(2, 5, 5, 2), x(0, 3, 2, 3), **window()),
        bad(x(2, 5, 5, 2), x(3, 0, 2, 3), **window()),
        bad(x(2, 5, 5, 0), x(3, 3, 0, 3), **window())])
convolutions("Conv2DBackpropInput", of_input, broad=[
    c([0, 5, 5, 2], x(3, 3, 2, 3), x(0, 5, 5, 3), **window()),
    c([5, 5], x(3, 3, 2, 3), x(2, 5, 5, 3), **window()),
    once([8, 28, 28, 8], x(5, 5, 8, 16), x(8, 28, 28, 16), **window()),
    once([3, 30, 31, 16], x(3, 3, 16, 32), x(3, 15, 16, 32), **window(2))],
    wrong=[bad([2, 5, 5, 2], x(3, 3, 2, 3), x(2, 4, 5, 3), **window()),
           bad([2, 5, 5, 2], x(3, 3, 2, 3), x(2, 5, 5, 4), **window()),
           bad([1, 5, 5, 2], x(3, 3, 2, 3), x(2, 5, 5, 3), **window()),
           bad([5, 5, 2], x(3, 3, 2, 3), x(2, 5, 5, 3), **window()),
           bad([2, -5, 5, 2], x(3, 3, 2, 3), x(2, 5, 5, 3), **window()),
           bad([[2, 5, 5, 2]], x(3, 3, 2, 3), x(2, 5, 5, 3), **window())])
convolutions("Conv2DBackpropFilter", of_filter, broad=[
    c(x(0, 5, 5, 2), [3, 3, 2, 3], x(0, 5, 5, 3), **window()),
    once(x(8, 28, 28, 8), [5, 5, 8, 16], x(8, 28, 28, 16), **window()),
    once(x(3, 30, 31, 16), [3, 3, 16, 32], x(3, 15, 16, 32), **window(2))],
    wrong=[bad(x(2, 5, 5, 2), [3, 3, 2, 3], x(2, 4, 5, 3), **window()),
           bad(x(2, 5, 5, 2), [3, 3, 2, 3], x(2, 5, 5, 4), **window()),
           bad(x(2, 5, 5, 2), [3, 3, 2], x(2, 5, 5, 3), **window()),
           bad(x(1, 5, 5, 2), [3, 3, 2, 3], x(2, 5, 5, 3), **window()),
           bad(x(2, 5, 5, 2), [[3, 3, 2, 3]], x(2, 5, 5, 3), **window()),
           bad(x(2, 5, 5, 2), [3, 3, 2, -3], x(2, 5, 5, 3), **window())],
    tol=256)  # sums of thousands that nearly cancel

# ---- Pools: x, window, y, attributes ----------------------------------------


def pool(size, stride, padding="SAME", **attrs):
    rows, columns = size if isinstance(size, tuple) else (size, size)
    return {"ksize": [1, rows, columns, 1], **window(stride, padding),
            **attrs}


POOLS = [
    ((2, 5, 6, 3), (2, 3, 3, 3), pool(2, 2)),
    ((2, 5, 6, 3), (2, 2, 3, 3), pool(2, 2, "VALID")),
    ((1, 7, 5, 2), (1, 7, 5, 2), pool(3, 1)),
    ((1, 7, 5, 2), (1, 3, 3, 2), pool((3, 1), (2, 2), "VALID")),
    ((1, 4, 4, 1), (1, 1, 1, 1), pool(4, 1, "VALID")),
    ((1, 3, 3, 2), (1, 2, 2, 2), pool(1, 2)),
    ((2, 3, 3, 130), (2, 2, 2, 130), pool(2, 2)),
    # Channels that are packs of all types, or of some.
    ((2, 7, 6, 16), (2, 4, 3, 16), pool(3, 2)),
    ((1, 5, 6, 8), (1, 4, 5, 8), pool(2, 1, "VALID")),
    ((2, 5, 4, 12), (2, 5, 4, 12), pool((2, 3), 1)),
    ((0, 4, 4, 2), (0, 2, 2, 2), pool(2, 2)),
    ((1, 4, 4, 0), (1, 2, 2, 0), pool(2, 2)),
]
EXPLICIT = [
    ((1, 5, 4, 2), (1, 3, 2, 2),
     {**pool(2, 2), **explicit((1, 1), (0, 1))}),
]
POOLS_WRONG = [
    ((5, 5, 3), (3, 3, 3), pool(2, 2)),
    ((1, 2, 2, 1), (1, 1, 1, 1), pool(4, 1, "VALID")),
    ((2, 4, 4, 1), (1, 4, 4, 1),
     {"ksize": [2, 1, 1, 1], "strides": [2, 1, 1, 1], "padding": "SAME"}),
    ((1, 4, 4, 2), (1, 4, 4, 1),
     {"ksize": [1, 2, 2, 2], "strides": [1, 1, 1, 2], "padding": "SAME"}),
]
DEEP = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}
SPARE = {"ksize": [1, 1, 1, 3], "strides": [1, 1, 1, 3], "padding": "VALID"}
NCHW = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "SAME",
        "data_format": "NCHW"}

row("MaxPool", [c(x(*image), **attrs)
                for image, _, attrs in POOLS + EXPLICIT] + [
    c(x(2, 3, 2, 4), **DEEP), bad(x(1, 3, 3, 4), **SPARE),
    bad(x(1, 2, 4, 4), **ON_CPU, **NCHW)] + [
    bad(x(*image), **attrs) for image, _, attrs in POOLS_WRONG], SMALL)
row("AvgPool", [c(x(*image), **attrs) for image, _, attrs in POOLS] + [
    bad(x(1, 2, 4, 4), **ON_CPU, **NCHW), bad(x(1, 3, 3, 4), **DEEP)] + [
    bad(x(*image), **attrs) for image, _, attrs in POOLS_WRONG], SMALL, tol=4)
row("MaxPoolGrad", [c(x(*image), x(*y), x(*y), **attrs)
                    for image, y, attrs in POOLS + EXPLICIT] + [
    bad(x(2, 5, 6, 3), x(2, 3, 3, 3), x(2, 3, 2, 3), **pool(2, 2)),
    bad(x(2, 5, 6, 3), x(2, 3, 2, 3), x(2, 3, 3, 3), **pool(2, 2)),
    bad(x(1, 2, 4, 4), x(1, 2, 2, 2), x(1, 2, 2, 2), cpu=True, **NCHW)] + [
    bad(x(*image), x(*y), x(*y), **attrs)
    for image, y, attrs in POOLS_WRONG], SMALL, tol=4)
row("AvgPoolGrad", [c(list(image), x(*y), **attrs)
                    for image, y, attrs in POOLS] + [
    bad([2, 5, 6], x(2, 3, 3, 3), **pool(2, 2)),
    bad([2, -5, 6, 3], x(2, 3, 3, 3), **pool(2, 2)),
    bad([[2, 5, 6, 3]], x(2, 3, 3, 3), **pool(2, 2)),
    bad([1, 2, 4, 4], x(1, 2, 2, 2), **ON_CPU, **NCHW)] + [
    bad(list(image), x(*y), **attrs)
    for image, y, attrs in POOLS_WRONG], SMALL, tol=4)


def v2(attrs):
    """(ksize, strides, attributes)"""
    rest = {"padding": attrs["padding"]}
    return attrs["ksize"], attrs["strides"], rest


row("MaxPoolV2", [c(x(*image), *v2(attrs)[:2], **v2(attrs)[2])
                  for image, _, attrs in POOLS] + [
    c(x(2, 3, 2, 4), *v2(DEEP)[:2], **v2(DEEP)[2]),
    bad(x(2, 4, 4, 1), [1, 2, 2], [1, 2, 2, 1], padding="SAME"),
    bad(x(2, 4, 4, 1), [1, 2, 2, 1], [1, 2, 2], padding="SAME"),
    bad(x(2, 4, 4, 1), [1, 2, 2, 1], [1, 0, 2, 1], padding="SAME"),
    bad(x(2, 4, 4, 1), [1, -2, 2, 1], [1, 2, 2, 1], padding="SAME")] + [
    bad(x(*image), *v2(attrs)[:2], **v2(attrs)[2])
    for image, _, attrs in POOLS_WRONG], SMALL)
row("MaxPoolGradV2", [
    c(x(*image), x(*y), x(*y), *v2(attrs)[:2], **v2(attrs)[2])
    for image, y, attrs in POOLS] + [
    bad(x(2, 4, 4, 1), x(2, 2, 2, 1), x(2, 2, 2, 1), [1, 2, 2], [1, 2, 2, 1],
        padding="SAME"),
    bad(x(2, 4, 4, 1), x(2, 2, 2, 1), x(2, 2, 2, 1), [1, 2, 2, 1],
        [1, 0, 2, 1], padding="SAME"),
    bad(x(2, 4, 4, 1), x(2, 2, 2, 1), x(2, 2, 1, 1), [1, 2, 2, 1],
        [1, 2, 2, 1], padding="SAME")] + [
    bad(x(*image), x(*y), x(*y), *v2(attrs)[:2], **v2(attrs)[2])
    for image, y, attrs in POOLS_WRONG], SMALL, tol=4)

# ---- Normalisation ----------------------------------------------------------

POSITIVE = Data(0.1, 4)
NORM_WRONG = [
    bad(x(2, 3, 4), x(4), x(4), x(4), x(4)),
    bad(x(2, 3, 4, 2), x(3), x(2), x(2), x(2)),
    bad(x(2, 3, 4, 2), x(2), x(2, 1), x(2), x(2)),
    bad(x(2, 3, 4, 2), x(2), x(2), x(3), x(2), is_training=False),
    bad(x(2, 3, 4, 2), x(2), x(2), x(2), x(0), is_training=False),
    bad(x(2, 3, 4, 2), x(2), x(2), x(0), x(0), exponential_avg_factor=0.5)]
NORMS = [
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5)),
    c(x(2, 3, 4, 5), x(5), x(5), x(0), x(0), epsilon=0.01),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), epsilon=0.0),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), epsilon=-0.01),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), epsilon=-0.01,
      data_format="NCHW"),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), is_training=False),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), exponential_avg_factor=0.25),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW"),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW",
      is_training=False),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW",
      exponential_avg_factor=0.25),
    # Channels, or what is within them, that are packs.
    c(x(2, 3, 4, 16), x(16), x(16), x(16), x(16), epsilon=-0.01),
    c(x(2, 3, 4, 12), x(12), x(12), x(12), x(12), is_training=False),
    c(x(2, 3, 4, 40), x(40), x(40), x(40), x(40), is_training=False),
    c(x(2, 3, 4, 6), x(3), x(3), x(3), x(3), data_format="NCHW",
      is_training=False),
    c(x(1, 1, 1, 3), x(3), x(3), x(3), x(3)),
    # Averages that nobody looks at.
    c(x(2, 3, 4, 2), x(2), x(2), x(3), x(1)),
    c(x(0, 3, 4, 2), x(2), x(2), x(2), x(2)),
    c(x(0, 3, 4, 2), x(2), x(2), x(2), x(2), is_training=False),
    once(x(8, 30, 30, 17), x(17), x(17), x(17), x(17))]
DEEP_NORMS = [
    c(x(2, 3, 2, 2, 5), x(5), x(5), x(5), x(5), data_format="NDHWC"),
    c(x(2, 3, 2, 2, 5), x(3), x(3), x(3), x(3), data_format="NCDHW")]


def filled(case):
    """TensorFlow leaves what it keeps for the gradient as it finds it, in
    inference and of no images."""
    if case.attrs.get("is_training", True) and 0 not in case.inputs[0].dims:
        return None
    return 3


row("FusedBatchNorm FusedBatchNormV2", NORMS + NORM_WRONG, POSITIVE, tol=16,
    defined=filled)
row("FusedBatchNormV3", NORMS + DEEP_NORMS + NORM_WRONG, POSITIVE, tol=16,
    defined=filled)


def norm_gradients(*more):
    return [
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more,
          is_training=False),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
          data_format="NCHW"),
        bad(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
            data_format="NCHW", is_training=False),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more,
          epsilon=-0.01),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
          epsilon=-0.01, data_format="NCHW"),
        c(x(2, 3, 4, 16), x(2, 3, 4, 16), x(16), x(16), x(16), *more,
          epsilon=-0.01),
        c(x(2, 3, 4, 40), x(2, 3, 4, 40), x(40), x(40), x(40), *more,
          is_training=False),
        c(x(1, 1, 1, 3), x(1, 1, 1, 3), x(3), x(3), x(3), *more),
        c(x(0, 3, 4, 2), x(0, 3, 4, 2), x(2), x(2), x(2), *more),
        once(x(8, 30, 30, 7), x(8, 30, 30, 7), x(7), x(7), x(7), *more),
        bad(x(2, 3, 4), x(2, 3, 4), x(4), x(4), x(4), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 3, 2), x(2), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(3), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(0), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2, 1), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2, 1), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2), x(3), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2), x(2, 1), *more)]


row("FusedBatchNormGrad FusedBatchNormGradV2", norm_gradients(), POSITIVE,
    tol=64)
row("FusedBatchNormGradV3", norm_gradients(x(0)) + [
    c(x(2, 3, 2, 2, 5), x(2, 3, 2, 2, 5), x(5), x(5), x(5), x(0),
      data_format="NDHWC"),
    c(x(2, 3, 2, 2, 5), x(2, 3, 2, 2, 5), x(3), x(3), x(3), x(0),
      data_format="NCDHW")], POSITIVE, tol=64)

row("LRN", [
    c(x(2, 3, 4, 9)), c(x(2, 3, 4, 9), depth_radius=2, bias=2.0, alpha=0.01,
                        beta=0.75), c(x(1, 1, 1, 3), depth_radius=100),
    c(x(2, 2, 2, 5), depth_radius=0), c(x(0, 2, 2, 3)), c(x(1, 2, 2, 0)),
    # Channels that are packs of both types, or of float.
    c(x(1, 3, 2, 32)), c(x(2, 2, 3, 24), depth_radius=1, bias=2.0),
    c(x(1, 2, 2, 20), depth_radius=0), c(x(1, 2, 2, 8), depth_radius=9),
    # Many rows at a time, and rows too long for that.
    c(x(1, 29, 31, 3), beta=0.75), once(x(1, 2, 3, 1200)),
    once(x(1, 2, 3, 1200), beta=0.75, alpha=0.01),
    once(x(5, 20, 20, 33)), bad(x(2, 3, 4)), bad(x(2, 3, 4, 1, 1))],
    Data(0.5, 4), tol=8)
row("LRNGrad", [
    c(x(2, 3, 4, 9), x(2, 3, 4, 9), x(2, 3, 4, 9)),
    c(x(2, 3, 4, 9), x(2, 3, 4, 9), x(2, 3, 4, 9), depth_radius=2, bias=2.0,
      alpha=0.01, beta=0.75), c(x(0, 2, 2, 3), x(0, 2, 2, 3), x(0, 2, 2, 3)),
    c(x(1, 3, 2, 32), x(1, 3, 2, 32), x(1, 3, 2, 32), bias=2.0),
    c(x(1, 2, 3, 20), x(1, 2, 3, 20), x(1, 2, 3, 20), depth_radius=2, bias=2.0),
    once(x(5, 20, 20, 33), x(5, 20, 20, 33), x(5, 20, 20, 33)),
    once(x(1, 2, 3, 1200), x(1, 2, 3, 1200), x(1, 2, 3, 1200), bias=2.0,
         alpha=0.01, beta=0.75),
    bad(x(2, 3, 4), x(2, 3, 4), x(2, 3, 4)),
    bad(x(2, 3, 4, 2), x(2, 3, 4, 1), x(2, 3, 4, 2)),
    bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2, 3, 5, 2))], Data(0.5, 2), tol=64)

# ---- Depthwise convolutions -------------------------------------------------

DEPTHWISE = [
    ((2, 5, 6, 3), (3, 3, 3, 1), (2, 5, 6, 3), window()),
    ((2, 5, 6, 3), (3, 2, 3, 2), (2, 3, 5, 6), window(padding="VALID")),
    ((1, 7, 7, 2), (3, 3, 2, 3), (1, 4, 4, 6), window(2)),
    ((1, 4, 5, 2), (3, 3, 2, 2), (1, 5, 6, 4),
     window(**explicit((1, 2), (3, 0)))),
    ((1, 3, 3, 4), (1, 1, 4, 1), (1, 3, 3, 4), window()),
    # Channels that are packs of all types, or of some.
    ((2, 5, 6, 16), (3, 3, 16, 1), (2, 5, 6, 16), window()),
    ((1, 7, 6, 40), (3, 2, 40, 1), (1, 4, 3, 40), window(2)),
    ((1, 4, 5, 12), (2, 3, 12, 1), (1, 3, 3, 12), window(padding="VALID")),
    ((2, 4, 3, 8), (3, 3, 8, 3), (2, 4, 3, 24), window()),
    ((1, 3, 4, 2), (2, 2, 2, 6), (1, 3, 4, 12), window()),
]
DEPTHWISE_WRONG = [
    ((1, 5, 5), (3, 3, 5, 1), (1, 5, 5, 5), window()),
    ((1, 5, 5, 3), (3, 3, 3), (1, 5, 5, 3), window()),
    ((1, 5, 5, 3), (3, 3, 2, 1), (1, 5, 5, 3), window()),
    ((1, 1, 1, 1), (3, 3, 1, 1), (1, 1, 1, 1), window(padding="VALID")),
]


def depthwise(op, takes, *more):
    cases = [c(*takes(*shapes), **attrs) for *shapes, attrs in DEPTHWISE]
    cases += [bad(*takes(*shapes), dtypes=PLAIN, **attrs)
              for *shapes, attrs in DEPTHWISE_WRONG]
    cases += [bad(*takes((1, 5, 5, 2), (3, 3, 2, 1), (1, 3, 5, 2)),
                  **ON_CPU, **window((2, 1))),
              bad(*takes((1, 2, 5, 5), (3, 3, 2, 1), (1, 2, 5, 5)),
                  **ON_CPU, **window(data_format="NCHW"))]
    row(op, cases + list(more), SMALL, tol=64)


# By the filter TensorFlow leaves the sum of nothing as it finds it.
NOTHING = (0, 3, 3, 4), (1, 1, 4, 1), (0, 3, 3, 4)

# oneDNN refuses an empty filter: tests/cluster/graphs/test_empty_filters.py.
EMPTY_FILTERS = ((1, 4, 4, 2), (3, 3, 2, 0)), ((1, 4, 4, 0), (3, 3, 0, 2))

depthwise("DepthwiseConv2dNative", of_forward, c(
    *of_forward(*NOTHING), **window()), bad(
    x(1, 5, 5, 2), x(3, 3, 2, 1), **ON_CPU,
    **window(dilations=[1, 2, 2, 1])), *[
        c(x(*a), x(*w), dtypes=PLAIN, **window())
        for a, w in EMPTY_FILTERS])
depthwise("DepthwiseConv2dNativeBackpropInput", of_input,
          c(*of_input(*NOTHING), **window()),
          bad([1, 5, 5, 3], x(3, 3, 3, 1), x(1, 5, 4, 3), **window()),
          bad([5, 5, 3], x(3, 3, 3, 1), x(1, 5, 5, 3), **window()),
          bad([1, -5, 5, 3], x(3, 3, 3, 1), x(1, 5, 5, 3), **window()))
depthwise("DepthwiseConv2dNativeBackpropFilter", of_filter,
          bad(x(1, 5, 5, 3), [3, 3, 3, 1], x(1, 5, 4, 3), **window()),
          bad(x(1, 5, 5, 3), [3, 3, 3], x(1, 5, 5, 3), **window()),
          bad(x(1, 5, 5, 3), [3, 3, -3, 1], x(1, 5, 5, 3), **window()))

# ---- Blocks of space --------------------------------------------------------

FOLDS = [  # x, block, paddings
    ((2, 4, 6, 3), [2, 3], [[0, 0], [0, 0]]),
    ((1, 4, 5, 2), [3, 2], [[1, 1], [2, 1]]),
    ((2, 3), [1], [[0, 0]]), ((2, 4), [2], [[1, 1]]),
    ((0, 4, 2), [2], [[0, 0]]), ((1, 0, 2), [2], [[1, 1]]),
    ((2, 2, 2, 2, 2), [2, 1, 2], [[0, 0], [1, 1], [2, 0]]),
    ((2, 4), [3], [[0, 0]]), ((2, 5), [3], [[0, 0]]), ((3,), [2], [[0, 0]])]
UNFOLDS = [  # x, block, crops
    ((12, 2, 2, 3), [2, 3], [[0, 0], [0, 0]]),
    ((6, 2, 4, 2), [3, 2], [[1, 1], [2, 1]]),
    ((2, 3), [1], [[0, 0]]), ((4, 3), [2], [[1, 1]]),
    ((0, 4, 2), [2], [[0, 0]]), ((4, 1), [2], [[1, 1]]),
    ((3, 4), [2], [[0, 0]]), ((2, 4), [2], [[5, 4]]), ((4,), [2], [[0, 0]])]


@scenario("SpaceToBatchND BatchToSpaceND")
@fresh_graph
def blocks_of_space(side):
    """The client wants to know the block's size; the rest is hidden."""
    out = {}
    with side.session() as session:
        for name in types_of("SpaceToBatchND")[::4]:
            for dims, block, pads in FOLDS:
                out["fold %s %s %s" % (name, dims, block)] = attempt(
                    session, tf.raw_ops.SpaceToBatchND(
                        input=hidden(sample(tf.as_dtype(name), dims)),
                        block_shape=block, paddings=hidden(pads)))
            for dims, block, pads in UNFOLDS:
                out["unfold %s %s %s" % (name, dims, block)] = attempt(
                    session, tf.raw_ops.BatchToSpaceND(
                        input=hidden(sample(tf.as_dtype(name), dims)),
                        block_shape=np.array(block, np.int64),
                        crops=hidden(np.array(pads, np.int64))))
    return out


# ---- What TensorFlow has only with oneDNN -----------------------------------


def close(a, b):
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-3))


def to_last(array):
    return np.moveaxis(array, 1, -1)


@scenario("Conv2D Conv2DBackpropInput Conv2DBackpropFilter")
@fresh_graph
def layouts_groups_and_dilations_of_floats(side):
    """TensorFlow's plain kernels, which rows compare with, refuse these.  The
    forward result is that of the other layout; the gradients are its adjoints:
    <y(x, w), dy> = <x, dx(dy, w)> = <w, dw(x, dy)>."""
    checks = {}
    for number, (image, filter_, output, attrs) in enumerate(
            BROADLY + SECOND + LARGE_BROADLY):
        checks[number] = True
        if not side.target:
            continue
        a, w, dy = [SMALL.draw(tf.float32, dims, str(dims))
                    for dims in (image, filter_, output)]
        with side.session() as session:
            y, dx, dw = session.run([
                tf.raw_ops.Conv2D(input=hidden(a), filter=w, **attrs),
                tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=image, filter=w, out_backprop=hidden(dy),
                    **attrs),
                tf.raw_ops.Conv2DBackpropFilter(
                    input=hidden(a), filter_sizes=filter_,
                    out_backprop=hidden(dy), **attrs)])
            if attrs.get("data_format"):
                strides = attrs["strides"]
                last = session.run(tf.raw_ops.Conv2D(
                    input=to_last(a), filter=w, padding=attrs["padding"],
                    strides=[1, strides[2], strides[3], 1]))
                checks[number] = close(to_last(y), last)
        checks[number] = checks[number] and close(
            np.vdot(y, dy), np.vdot(a, dx)) and close(
            np.vdot(y, dy), np.vdot(w, dw))
    return checks


def pooled(side, a, dy, **attrs):
    """MaxPool, AvgPool, AvgPoolGrad; and MaxPoolGrad, which CPUs have for
    channels last alone."""
    y = tf.raw_ops.MaxPool(input=a, **attrs)
    out = [y, tf.raw_ops.AvgPool(value=a, **attrs),
           tf.raw_ops.AvgPoolGrad(orig_input_shape=a.shape, grad=dy, **attrs)]
    if inputs.ON_GPU and side.device != devices.CPU:
        out.append(tf.raw_ops.MaxPoolGrad(orig_input=a, orig_output=y, grad=dy,
                                          **attrs))
    return out


def depthwise_all(a, w, dy, **attrs):
    """DepthwiseConv2dNative and its gradients."""
    return [tf.raw_ops.DepthwiseConv2dNative(input=a, filter=w, **attrs),
            tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
                input_sizes=a.shape, filter=w, out_backprop=dy, **attrs),
            tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
                input=a, filter_sizes=w.shape, out_backprop=dy, **attrs)]


@scenario("MaxPool MaxPoolGrad AvgPool AvgPoolGrad DepthwiseConv2dNative "
          "DepthwiseConv2dNativeBackpropInput "
          "DepthwiseConv2dNativeBackpropFilter")
@fresh_graph
def channels_second_of_floats(side):
    """As with the channels last."""
    a = SMALL.draw(tf.float32, (2, 3, 5, 6), "x")
    dy = SMALL.draw(tf.float32, (2, 3, 3, 3), "dy")
    w = SMALL.draw(tf.float32, (3, 3, 3, 2), "w")
    wide = SMALL.draw(tf.float32, (2, 6, 5, 6), "wide")
    if not side.target:
        return {"same": True}
    with side.session() as session:
        second = session.run(
            pooled(side, a, dy, **NCHW) +
            depthwise_all(a, w, wide, **window(data_format="NCHW")))
        last = session.run(
            pooled(side, to_last(a), to_last(dy), **pool(2, 2)) +
            depthwise_all(to_last(a), w, to_last(wide), **window()))
    return {"same": all(
        close(one if one.shape == w.shape else to_last(one), other)
        for one, other in zip(second, last))}
