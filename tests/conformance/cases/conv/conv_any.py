"""Cases of kernels/conv/conv_any.c."""
from tests.conformance.cases.conv.windows import explicit
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row


def sides(*strides, padding="SAME", **attrs):
    return {"strides": [1, *strides, 1], "padding": padding, **attrs}


IMAGE, VOLUME = sides(1, 1), sides(1, 1, 1)
# Of several batch dimensions, one of them 0, TensorFlow forgets all but one.
row("Conv", [
    c(x(2, 5, 6, 3), x(3, 2, 3, 4), **IMAGE),
    c(x(2, 5, 6, 3), x(3, 2, 3, 4), **sides(2, 1, padding="VALID")),
    c(x(2, 4, 5, 6, 3), x(2, 3, 2, 3, 4), **VOLUME),
    c(x(2, 4, 5, 6, 3), x(2, 3, 2, 3, 4), **sides(1, 2, 3, padding="VALID")),
    c(x(2, 3, 4, 5, 2), x(2, 2, 2, 3), **IMAGE, batch_dims=2),
    c(x(2, 1, 3, 4, 5, 2), x(2, 2, 2, 2, 3), **VOLUME, batch_dims=2),
    c(x(5, 6, 3), x(3, 2, 3, 4), **IMAGE, batch_dims=0),
    c(x(4, 5, 6, 3), x(2, 3, 2, 3, 4), **VOLUME, batch_dims=0),
    c(x(1, 7, 6, 2), x(2, 3, 2, 3), **IMAGE, dilations=[1, 2, 1, 1]),
    c(x(1, 4, 5, 2), x(3, 3, 2, 2), **explicit((1, 2), (3, 0), **IMAGE)),
    c(x(0, 4, 5, 2), x(3, 3, 2, 2), **IMAGE),
    once(x(4, 20, 21, 16), x(3, 3, 16, 16), **IMAGE),
    bad(x(4, 5, 3), x(3, 2, 3, 4), **IMAGE),
    bad(x(1, 2, 4, 4, 5, 3), x(3, 2, 3, 4), **IMAGE),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **IMAGE, batch_dims=-1),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **IMAGE, batch_dims=2),
    bad(x(1, 4, 5, 3), x(3, 2, 2, 4), **IMAGE),
    bad(x(1, 4, 5, 4), x(3, 2, 2, 4), **IMAGE, groups=2),
    bad(x(1, 4, 5, 3), x(0, 2, 3, 4), **IMAGE),
    bad(x(1, 1, 1, 3), x(4, 2, 3, 4), **sides(1, 1, padding="VALID")),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **VOLUME),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **sides(1)),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), strides=[2, 1, 1, 1], padding="SAME"),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **sides(0, 1)),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **IMAGE, dilations=[1, 2, 1]),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **IMAGE, dilations=[1, 0, 1, 1]),
    bad(x(1, 4, 5, 5, 3), x(3, 2, 2, 3, 4), **VOLUME,
        dilations=[1, 2, 1, 1, 1]),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **sides(1, 1, padding="EXPLICIT")),
    bad(x(1, 4, 5, 3), x(3, 2, 3, 4), **IMAGE,
        explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0]),
    bad(x(1, 3, 4, 5), x(3, 2, 3, 4), **IMAGE, data_format="CHANNELS_FIRST",
        cpu=True),
    bad(x(1, 3, 4, 5, 5), x(3, 2, 2, 3, 4), **VOLUME,
        data_format="CHANNELS_FIRST", cpu=True)], SMALL, tol=64)
