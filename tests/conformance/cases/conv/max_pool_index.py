"""Cases of kernels/conv/max_pool_index.c."""
import numpy as np

from tests.conformance.cases.conv.pooling import NCHW, pool
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, row

BATCHES = {"ksize": [2, 1, 1, 1], "strides": [2, 1, 1, 1], "padding": "SAME"}
DEEP = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}
BOTH = {"ksize": [1, 2, 2, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}
# Images, what their windows make of them, attributes.
WINDOWS = [
    ((2, 5, 6, 3), (2, 3, 3, 3), pool(2, 2)),
    ((1, 7, 5, 2), (1, 7, 5, 2), pool(3, 1)),
    ((1, 7, 5, 2), (1, 3, 3, 2), pool((3, 1), (2, 2), "VALID")),
    ((1, 4, 4, 1), (1, 1, 1, 1), pool(4, 1, "VALID")),
    ((1, 3, 3, 2), (1, 2, 2, 2), pool(1, 2)),
    ((2, 3, 3, 130), (2, 2, 2, 130), pool(2, 2)),
]


def ties(dims):
    """Small numbers, many of them twice."""
    return (np.arange(int(np.prod(dims))) * 7 % 11).reshape(dims)


def places(image, pooled, whole=False):
    """Numbers of elements, each of its image."""
    size = int(np.prod(image[1:]))
    found = (np.arange(int(np.prod(pooled))) * 5 % size).reshape(pooled)
    if whole:
        found += np.arange(image[0]).reshape(-1, 1, 1, 1) * size
    return found


row("MaxPoolWithArgmax", [every(x(2, 5, 6, 3), **pool(2, 2))] + [
    c(x(*image), **attrs) for image, _, attrs in WINDOWS] + [
    c(ties((2, 5, 6, 3)), **pool(3, 1)),
    c(x(2, 5, 6, 3), include_batch_in_index=True, **pool(2, 2)),
    every(ties((3, 4, 4, 2)), include_batch_in_index=True, **pool(2, 2)),
    c([[[[np.nan], [1]], [[2], [3]]]], dtypes=("float32", "float16"),
      **pool(2, 2)),
    c([[[[0], [1]], [[np.nan], [3]]]], dtypes=("float32", "float16"),
      **pool(2, 2)),
    c(x(1, 2, 2, 4), **DEEP),
    bad(x(4, 4, 1), **pool(2, 2)), bad(x(0, 4, 4, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 0), **pool(2, 2)), bad(x(2, 4, 4, 1), **BATCHES),
    bad(x(1, 2, 2, 4), **BOTH), bad(x(1, 2, 2, 1), **pool(4, 1, "VALID"))], SMALL)
row("MaxPoolGradWithArgmax", [
    c(x(*image), x(*y), places(image, y), include_batch_in_index=False, **attrs)
    for image, y, attrs in WINDOWS] + [
    c(x(2, 5, 6, 3), x(2, 3, 3, 3), places((2, 5, 6, 3), (2, 3, 3, 3), True),
      include_batch_in_index=True, **pool(2, 2)),
    c(x(0, 4, 4, 1), x(0, 2, 2, 1), np.zeros((0, 2, 2, 1)), **pool(2, 2)),
    bad(x(4, 4, 1), x(1, 2, 2, 1), np.zeros((1, 2, 2, 1)), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(1, 2, 1, 1), np.zeros((1, 2, 2, 1)), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(1, 2, 2, 1), np.zeros((1, 2, 1, 1)), **pool(2, 2)),
    bad(x(2, 4, 4, 1), x(2, 4, 4, 1), np.zeros((2, 4, 4, 1)), **BATCHES)],
    SMALL, tol=4)


def maxima(image, stride):
    """What a window as large as its stride makes of ties()."""
    b, rows, columns, n = image
    return ties(image).reshape(b, rows // stride, stride, columns // stride,
                               stride, n).max((2, 4))


AGAIN = [((2, 4, 6, 3), 2), ((1, 6, 6, 2), 3), ((3, 2, 2, 65), 2)]
OF_FOUR = ties((1, 4, 4, 1)), maxima((1, 4, 4, 1), 2)
row("MaxPoolGradGrad", [
    c(ties(image), maxima(image, n), x(*image), **pool(n, n))
    for image, n in AGAIN] + [
    c(x(2, 5, 6, 3), x(2, 3, 3, 3), x(2, 5, 6, 3), **pool(2, 2)),
    c(x(0, 4, 4, 1), x(0, 2, 2, 1), x(0, 4, 4, 1), **pool(2, 2)),
    bad(x(4, 4, 1), x(1, 2, 2, 1), x(1, 4, 4, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(2, 2, 1), x(1, 4, 4, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(1, 2, 2, 1), x(4, 4, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(1, 2, 1, 1), x(1, 4, 4, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 1), x(1, 2, 2, 1), x(1, 2, 2, 1), **pool(2, 2)),
    bad(x(1, 4, 4, 2), x(1, 4, 4, 1), x(1, 4, 4, 2), **DEEP),
    bad(x(2, 4, 4, 1), x(1, 4, 4, 1), x(2, 4, 4, 1), **BATCHES),
    bad(x(1, 1, 4, 4), x(1, 1, 2, 2), x(1, 1, 4, 4), **NCHW)], SMALL)
row("MaxPoolGradGradV2", [
    c(ties(image), maxima(image, n), x(*image), [1, n, n, 1], [1, n, n, 1],
      padding="SAME") for image, n in AGAIN] + [
    bad(*OF_FOUR, x(1, 4, 4, 1), [1, 2, 2], [1, 2, 2, 1], padding="SAME"),
    bad(*OF_FOUR, x(1, 4, 4, 1), [1, 2, 2, 1], [1, 2, 2], padding="SAME"),
    bad(*OF_FOUR, x(1, 4, 4, 1), [1, 2, 2, 1], [1, 0, 2, 1], padding="SAME"),
    bad(*OF_FOUR, x(1, 2, 2, 1), [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")],
    SMALL)
