"""Cases of kernels/conv/pooling.c."""
from tests.cluster.client import tf
from tests.conformance import devices, inputs
from tests.conformance.cases.conv.windows import (close, explicit, ON_CPU,
                                                  to_last, window)
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, row, scenario


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
