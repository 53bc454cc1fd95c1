"""Cases of kernels/conv/pooling_volume.c."""
from tests.cluster.client import tf
from tests.conformance.cases.conv.windows import close, to_last
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, row, scenario


def pool(size, stride, padding="SAME", **attrs):
    """Numbers of planes, rows and columns, or one for all."""
    size, stride = ([n] * 3 if isinstance(n, int) else n
                    for n in (size, stride))
    return {"ksize": [1, *size, 1], "strides": [1, *stride, 1],
            "padding": padding, **attrs}


POOLS = [
    ((2, 4, 5, 6, 3), (2, 2, 3, 3, 3), pool(2, 2)),
    ((2, 5, 5, 6, 3), (2, 2, 2, 3, 3), pool(2, 2, "VALID")),
    ((1, 3, 7, 5, 2), (1, 3, 7, 5, 2), pool(3, 1)),
    ((1, 4, 7, 5, 2), (1, 2, 3, 3, 2), pool((3, 3, 1), (1, 2, 2), "VALID")),
    ((1, 2, 3, 4, 1), (1, 1, 1, 1, 1), pool((2, 3, 4), 1, "VALID")),
    ((1, 3, 5, 3, 2), (1, 2, 2, 2, 2), pool(1, (2, 3, 2))),
    ((1, 2, 3, 3, 130), (1, 1, 2, 2, 130), pool(2, 2)),
    ((1, 2, 2, 2, 1), (1, 2, 2, 2, 1), pool((9, 7, 8), 1)),
    ((2, 3, 4, 4, 16), (2, 2, 3, 3, 16), pool(2, 1, "VALID")),
    ((0, 4, 4, 4, 2), (0, 2, 2, 2, 2), pool(2, 2)),
    ((1, 4, 4, 4, 0), (1, 2, 2, 2, 0), pool(2, 2)),
    ((1, 0, 4, 4, 2), (1, 0, 2, 2, 2), pool(2, 2)),
]
WRONG = [
    ((5, 5, 5, 3), (3, 3, 3, 3), pool(2, 2)),
    ((1, 1, 3, 3, 1), (1, 1, 1, 1, 1), pool((5, 2, 2), 1, "VALID")),
    ((2, 4, 4, 4, 1), (1, 4, 4, 4, 1),
     {**pool(1, 1), "ksize": [2, 1, 1, 1, 1]}),
    ((2, 4, 4, 4, 1), (1, 4, 4, 4, 1),
     {**pool(1, 1), "strides": [2, 1, 1, 1, 1]}),
    ((2, 4, 4, 4, 2), (2, 4, 4, 4, 1),
     {**pool(1, 1), "ksize": [1, 1, 1, 1, 2]}),
    ((2, 4, 4, 4, 2), (2, 4, 4, 4, 1),
     {**pool(1, 1), "strides": [1, 1, 1, 1, 2]}),
]
FULL = [found for found in POOLS if 0 not in found[0]]
row("MaxPool3D AvgPool3D",
    [c(x(*volume), **attrs) for volume, _, attrs in POOLS] + [
        bad(x(*volume), **attrs) for volume, _, attrs in WRONG], SMALL, tol=4)
row("MaxPool3DGrad", [c(x(*volume), x(*y), x(*y), **attrs)
                      for volume, y, attrs in POOLS] + [
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 3, 3), x(2, 2, 3, 2, 3), **pool(2, 2)),
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 2, 3), x(2, 2, 3, 3, 3), **pool(2, 2)),
    bad(x(2, 4, 5, 6, 3), x(2, 3, 2, 3), x(2, 2, 3, 3, 3), **pool(2, 2)),
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 3, 3), x(2, 3, 3, 3), **pool(2, 2)),
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 3, 3), x(2, 2, 3, 3, 3),
        **{**pool(2, 2), "strides": [1, 0, 2, 2, 1]}),
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 3, 3), x(2, 2, 3, 3, 3),
        **{**pool(2, 2), "ksize": [1, 2, 2, 2, 2, 1]}),
    bad(x(2, 4, 5, 6, 3), x(2, 2, 3, 3, 3), x(2, 2, 3, 3, 3),
        **{**pool(2, 2), "strides": [1, 2, 2, 2, 2, 1]})] + [
    bad(x(*volume), x(*y), x(*y), **attrs)
    for volume, y, attrs in WRONG], SMALL, tol=4)
row("MaxPool3DGradGrad", [c(x(*volume), x(*y), x(*volume), **attrs)
                          for volume, y, attrs in FULL] + [
    bad(x(0, 4, 4, 4, 2), x(0, 2, 2, 2, 2), x(0, 4, 4, 4, 2), **pool(2, 2)),
    bad(x(1, 4, 4, 4, 2), x(1, 2, 2, 0, 2), x(1, 4, 4, 4, 2), **pool(2, 2)),
    bad(x(1, 4, 4, 4, 2), x(1, 2, 2, 2, 2), x(1, 4, 4, 0, 2), **pool(2, 2)),
    bad(x(1, 4, 4, 4, 2), x(1, 2, 2, 1, 2), x(1, 4, 4, 4, 2), **pool(2, 2)),
    bad(x(1, 4, 4, 4, 2), x(1, 2, 2, 2, 2), x(1, 2, 2, 2, 2), **pool(2, 2)),
    bad(x(1, 4, 4, 4, 2), x(1, 2, 2, 2, 2), x(4, 4, 4, 2), **pool(2, 2)),
    bad(x(1, 2, 4, 4, 4), x(1, 2, 2, 2, 2), x(1, 2, 4, 4, 4), cpu=True,
        ksize=[1, 1, 2, 2, 2], strides=[1, 1, 2, 2, 2], padding="SAME",
        data_format="NCDHW")] + [
    bad(x(*volume), x(*y), x(*volume), **attrs)
    for volume, y, attrs in WRONG], SMALL, tol=4)
row("AvgPool3DGrad", [c(list(volume), x(*y), **attrs)
                      for volume, y, attrs in POOLS] + [
    bad([2, 4, 5, 6], x(2, 2, 3, 3, 3), **pool(2, 2)),
    bad([2, -4, 5, 6, 3], x(2, 2, 3, 3, 3), **pool(2, 2)),
    bad([2, 4, 5, 6, 3], x(2, 3, 3, 3), **pool(2, 2)),
    bad([2, 4, 5, 6, 3], x(2, 2, 3, 3, 3),
        **{**pool(2, 2), "ksize": [1, 0, 2, 2, 1]}, words=False),
    bad([2, 4, 5, 6, 3], x(2, 2, 3, 3, 3),
        **{**pool(2, 2), "strides": [1, -1, 2, 2, 1]})] + [
    bad(list(volume), x(*y), **attrs)
    for volume, y, attrs in WRONG[2:]], SMALL, tol=4)


def pooled(a, dy, **attrs):
    y = tf.raw_ops.MaxPool3D(input=a, **attrs)
    return [y, tf.raw_ops.AvgPool3D(input=a, **attrs),
            tf.raw_ops.AvgPool3DGrad(orig_input_shape=a.shape, grad=dy,
                                     **attrs),
            tf.raw_ops.MaxPool3DGrad(orig_input=a, orig_output=y, grad=dy,
                                     **attrs)]


@scenario("MaxPool3D MaxPool3DGrad AvgPool3D AvgPool3DGrad")
@fresh_graph
def volumes_with_channels_second(side):
    """As with the channels last: TensorFlow takes them with oneDNN alone."""
    a = SMALL.draw(tf.float32, (2, 3, 4, 5, 6), "x")
    dy = SMALL.draw(tf.float32, (2, 3, 2, 3, 3), "dy")
    if not side.target:
        return {"same": True}
    with side.session() as session:
        second = session.run(pooled(
            a, dy, ksize=[1, 1, 2, 2, 2], strides=[1, 1, 2, 2, 2],
            padding="SAME", data_format="NCDHW"))
        last = session.run(pooled(to_last(a), to_last(dy), **pool(2, 2)))
    return {"same": all(close(to_last(one), other)
                        for one, other in zip(second, last))}
