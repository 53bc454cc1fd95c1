"""Pools and depthwise convolutions with channels second, where a GPU moves
columns in packs of 16 bytes: against TensorFlow's own with channels last."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance import inputs
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import FLOATS
from tests.conformance.scenarios import attempt, fresh_graph, hidden
from tests.conformance.table import scenario

# Pools: x as channels second, window, strides, padding.  Rows that are packs
# of all types, of some or of none; of x, of y or of both.
POOLS = [
    ((2, 3, 5, 16), (3, 3), 1, "SAME"),
    ((1, 2, 4, 24), (2, 2), 1, "VALID"),
    ((1, 2, 4, 17), (2, 2), 1, "VALID"),
    ((2, 2, 6, 32), (3, 3), 2, "SAME"),
    ((1, 3, 6, 16), (2, 2), 2, "VALID"),
    ((1, 2, 5, 32), (3, 2), (1, 2), "SAME"),
    ((1, 2, 5, 16), (2, 3), (2, 1), "SAME"),
    ((1, 2, 7, 24), (3, 3), 3, "SAME"),
    ((1, 2, 4, 32), (1, 1), 4, "SAME"),
    ((1, 1, 3, 48), (2, 11), 3, "SAME"),
    ((1, 2, 5, 8), (3, 20), 1, "SAME"),
    ((2, 1, 5, 16), (2, 11), 2, "SAME"),
    ((1, 1, 4, 27), (2, 20), 1, "VALID"),
    ((1, 2, 3, 12), (3, 3), 1, "SAME"),
    ((1, 2, 3, 6), (2, 2), 1, "SAME"),
    ((1, 3, 5, 7), (3, 2), 2, "SAME"),
    ((2, 5, 33, 64), (3, 3), 2, "SAME"),
    ((0, 2, 4, 8), (2, 2), 1, "SAME"),
    ((2, 0, 4, 8), (2, 2), 1, "SAME"),
]
# Of maxima alone: the padding of rows and columns.
PADDED = [
    ((1, 2, 5, 16), (3, 3), 1, ((1, 2), (2, 0))),
    ((1, 2, 5, 16), (2, 3), 2, ((1, 0), (1, 0))),
    ((1, 2, 4, 15), (3, 4), 1, ((0, 0), (3, 1))),
]
WRONG = [
    ((1, 2, 4, 8), (5, 2), 1, "VALID"),
    ((1, 2, 4, 8), (2, 9), 1, "VALID"),
    ((1, 2, 4, 8), (2, 2), 1, ((0, 0), (2, 0))),
    ((2, 4, 8), (2, 2), 1, "SAME"),
]
# Depthwise convolutions: x, filter, stride, padding, dilation of both sides.
FILTERS = [
    ((2, 3, 5, 16), (3, 3, 3, 1), 1, "SAME", 1),
    ((1, 2, 4, 16), (2, 3, 2, 3), 1, "SAME", 1),
    ((1, 2, 4, 17), (3, 2, 2, 2), 1, "VALID", 1),
    ((1, 2, 4, 18), (2, 3, 2, 1), 1, "VALID", 1),
    ((2, 3, 5, 32), (3, 3, 3, 2), 2, "SAME", 1),
    ((1, 2, 7, 24), (3, 3, 2, 2), 3, "SAME", 1),
    ((1, 2, 4, 24), (2, 2, 2, 1), 1, "VALID", 1),
    ((1, 2, 3, 8), (3, 20, 2, 1), 1, "SAME", 1),
    ((1, 1, 4, 16), (2, 11, 1, 2), 2, "SAME", 1),
    ((1, 2, 3, 12), (3, 3, 2, 1), 1, "SAME", 1),
    ((1, 3, 5, 7), (3, 2, 3, 2), 2, "SAME", 1),
    ((1, 2, 4, 16), (3, 4, 2, 2), 1, ((1, 2), (3, 0)), 1),
    ((1, 2, 4, 16), (2, 3, 2, 1), 2, ((1, 0), (9, 8)), 1),
    ((3, 2, 33, 64), (3, 3, 2, 1), 1, "SAME", 1),
    ((1, 2, 6, 16), (3, 3, 2, 2), 1, "SAME", 2),
    ((1, 2, 7, 40), (3, 3, 2, 1), 1, "SAME", 3),
    ((1, 1, 3, 64), (1, 3, 1, 1), 1, "SAME", 12),
    ((1, 2, 6, 32), (2, 3, 2, 1), 2, "SAME", 2),
]
# x, filter, dy, stride, padding.
WRONG_FILTERS = [
    ((1, 2, 4, 8), (3, 3, 3, 1), (1, 3, 4, 8), 1, "SAME"),
    ((1, 2, 4, 8), (3, 9, 2, 1), (1, 2, 2, 8), 1, "VALID"),
    ((1, 2, 4, 8), (5, 11, 2, 1), (1, 2, 1, 8), 1, "VALID"),
    ((1, 2, 4, 8), (3, 3, 2, 1), (1, 2, 4, 16), 1, "SAME"),
    ((1, 2, 4, 8), (3, 3, 2, 1), (1, 4, 4, 8), 1, "SAME"),
    ((1, 2, 4, 8), (3, 3, 2, 1), (2, 2, 4, 8), 1, "SAME"),
]


def to_last(array):
    return np.moveaxis(array, 1, -1)


def to_second(array):
    return np.moveaxis(array, -1, 1)


def types():
    """What a server has channels second for."""
    return FLOATS if inputs.ON_GPU else (tf.float32, tf.bfloat16)


def attributes(stride, padding, second, **lists):
    """lists: pairs for rows and columns."""
    rows, columns = stride if isinstance(stride, tuple) else (stride, stride)
    lists = {"strides": (rows, columns), **lists}
    found = {name: [1, 1, *pair] if second else [1, *pair, 1]
             for name, pair in lists.items()}
    if second:
        found["data_format"] = "NCHW"
    if isinstance(padding, str):
        return {"padding": padding, **found}
    sides = [*padding[0], *padding[1]]
    return {"padding": "EXPLICIT", "explicit_paddings": [0] * 4 + sides
            if second else [0, 0, *sides, 0, 0], **found}


def draw(dtype, dims, seed):
    return SMALL.draw(dtype, dims, "%s %s" % (seed, dims))


class Layout:
    """Runs ops there with channels second, here with channels last."""

    def __init__(self, side, session):
        self.second, self.session = bool(side.target), session

    def run(self, op, *images, **arguments):
        """The result, of channels second; images: (name, array)."""
        given = {name: hidden(a if self.second or a.ndim != 4 else to_last(a))
                 for name, a in images}
        y = attempt(self.session, op(**given, **arguments))
        return y if self.second or isinstance(y, str) else to_second(y)

    def dims(self, shape):
        """Of an image of channels second."""
        n, c, h, w = shape
        return list(shape) if self.second else [n, h, w, c]


def pools(layout, dtype, image, size, stride, padding, means=True):
    """Op -> its result."""
    raw, found = tf.raw_ops, {}
    attrs = attributes(stride, padding, layout.second, ksize=size)
    x = draw(dtype, image, "x")
    y = found["MaxPool"] = layout.run(raw.MaxPool, ("input", x), **attrs)
    if means:
        mean = layout.run(raw.AvgPool, ("value", x), **attrs)
        found["AvgPool"] = mean
    if isinstance(y, str):
        y = x
    dy = draw(dtype, y.shape, "dy")
    if inputs.ON_GPU:
        found["MaxPoolGrad"] = layout.run(
            raw.MaxPoolGrad, ("orig_input", x), ("orig_output", y),
            ("grad", dy), **attrs)
    if means:
        found["AvgPoolGrad"] = layout.run(
            raw.AvgPoolGrad, ("grad", dy), orig_input_shape=hidden(
                np.int32(layout.dims(image) if len(image) == 4 else image)),
            **attrs)
    return found


@scenario("MaxPool MaxPoolGrad AvgPool AvgPoolGrad", tol=8, on="gpu")
@fresh_graph
def pools_of_planes(side):
    out = {}
    with side.session() as session:
        layout = Layout(side, session)
        for dtype in types():
            for number, case in enumerate(POOLS + PADDED):
                found = pools(layout, dtype, *case,
                              means=isinstance(case[-1], str))
                for op, y in found.items():
                    out["%s %s %d" % (op, dtype.name, number)] = y
    return out


@scenario("MaxPool MaxPoolGrad AvgPool", on="gpu")
@fresh_graph
def wrong_pools_of_planes(side):
    out = {}
    with side.session() as session:
        layout = Layout(side, session)
        for number, case in enumerate(WRONG):
            found = pools(layout, tf.float32, *case,
                          means=isinstance(case[-1], str))
            # TensorFlow does not compare dy with what the windows give.
            found.pop("AvgPoolGrad", None)
            for op, y in found.items():
                out["%s %d" % (op, number)] = y
    return out


def spread(w, dilation):
    """A filter with that many rows and columns from tap to tap."""
    rows, columns, *channels = w.shape
    wide = np.zeros(((rows - 1) * dilation + 1, (columns - 1) * dilation + 1,
                     *channels), w.dtype)
    wide[::dilation, ::dilation] = w
    return wide


def outputs(image, filter_, stride, padding):
    """The shape of y."""
    sides = []
    for d in range(2):
        size, step = image[2 + d], filter_[d]
        if padding == "SAME":
            sides.append(-(-size // stride))
        else:
            more = 0 if padding == "VALID" else sum(padding[d])
            sides.append((size + more - step) // stride + 1)
    return (image[0], filter_[2] * filter_[3], *sides)


def depthwise(layout, x, w, dy, stride, padding, dilation=1):
    """Op -> its result.  TensorFlow's plain kernels have no dilations: there
    the filter is spread out, and its gradient gathered."""
    raw, name, lists = tf.raw_ops, "DepthwiseConv2dNative", {}
    if layout.second:
        lists["dilations"] = (dilation, dilation)
    else:
        w = spread(w, dilation)
    attrs = attributes(stride, padding, layout.second, **lists)
    a, slope = (hidden(i if layout.second else to_last(i)) for i in (x, dy))
    dw = attempt(layout.session, raw.DepthwiseConv2dNativeBackpropFilter(
        input=a, filter_sizes=w.shape, out_backprop=slope, **attrs))
    if not layout.second and not isinstance(dw, str):
        dw = dw[::dilation, ::dilation]
    return {
        name: layout.run(raw.DepthwiseConv2dNative, ("input", x),
                         filter=hidden(w), **attrs),
        name + "BackpropInput": layout.run(
            raw.DepthwiseConv2dNativeBackpropInput, ("out_backprop", dy),
            input_sizes=hidden(np.int32(layout.dims(x.shape))),
            filter=hidden(w), **attrs),
        name + "BackpropFilter": dw}


@scenario("DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput "
          "DepthwiseConv2dNativeBackpropFilter", tol=64, on="gpu")
@fresh_graph
def depthwise_convolutions_of_planes(side):
    out = {}
    with side.session() as session:
        layout = Layout(side, session)
        for dtype in types():
            for number, case in enumerate(FILTERS):
                image, filter_, stride, padding, dilation = case
                w = draw(dtype, filter_, "w")
                dy = draw(dtype, outputs(image, spread(w, dilation).shape,
                                         stride, padding), "dy")
                found = depthwise(layout, draw(dtype, image, "x"), w, dy,
                                  stride, padding, dilation)
                for op, y in found.items():
                    out["%s %s %d" % (op, dtype.name, number)] = y
    return out


@scenario("DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput "
          "DepthwiseConv2dNativeBackpropFilter", tol=64, on="gpu")
@fresh_graph
def wrong_depthwise_convolutions_of_planes(side):
    out = {}
    with side.session() as session:
        layout = Layout(side, session)
        for number, (*shapes, stride, padding) in enumerate(WRONG_FILTERS):
            x, w, dy = (draw(tf.float32, dims, name)
                        for dims, name in zip(shapes, ("x", "w", "dy")))
            found = depthwise(layout, x, w, dy, stride, padding)
            for op, y in found.items():
                out["%s %d" % (op, number)] = y
    return out
