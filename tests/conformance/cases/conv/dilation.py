"""Cases of kernels/conv/dilation.c."""
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row


def taps(stride=(1, 1), rate=(1, 1), padding="SAME"):
    return {"strides": [1, *stride, 1], "rates": [1, *rate, 1],
            "padding": padding}


# Images, filters, what becomes of them, attributes.
FITTING = [
    ((2, 5, 6, 3), (3, 3, 3), (2, 5, 6, 3), taps()),
    ((1, 7, 6, 2), (3, 2, 2), (1, 3, 3, 2), taps((2, 2), padding="VALID")),
    ((1, 7, 8, 1), (2, 3, 1), (1, 5, 4, 1), taps(rate=(2, 2), padding="VALID")),
    ((1, 5, 5, 2), (3, 3, 2), (1, 3, 2, 2), taps((2, 3), (3, 1))),
    ((1, 2, 2, 1), (5, 5, 1), (1, 2, 2, 1), taps()),
    ((2, 3, 3, 130), (2, 2, 130), (2, 3, 3, 130), taps()),
    ((0, 4, 4, 2), (2, 2, 2), (0, 4, 4, 2), taps()),
    ((1, 4, 4, 0), (2, 2, 0), (1, 4, 4, 0), taps()),
]
ONE = (1, 2, 2, 1), (1, 1, 1), (1, 2, 2, 1)
WRONG = [
    ((4, 4, 1), (2, 2, 1), (1, 4, 4, 1), taps()),
    ((1, 4, 4, 1), (2, 2, 1, 1), (1, 4, 4, 1), taps()),
    ((1, 4, 4, 1), (2, 2, 2), (1, 4, 4, 1), taps()),
    ((1, 2, 2, 1), (4, 4, 1), (1, 2, 2, 1), taps(padding="VALID")),
    (*ONE, taps((0, 1))),
    (*ONE, {**taps(), "strides": [2, 1, 1, 1]}),
    (*ONE, {**taps(), "rates": [1, 1, 1, 2]}),
]
row("Dilation2D", [c(x(*image), x(*filter_), **attrs)
                   for image, filter_, _, attrs in FITTING] + [
    c(x(1, 2, 2, 1), x(0, 1, 1), **taps())] + [
    bad(x(*image), x(*filter_), **attrs)
    for image, filter_, _, attrs in WRONG], SMALL)
row("Dilation2DBackpropInput Dilation2DBackpropFilter", [
    c(x(*image), x(*filter_), x(*y), **attrs)
    for image, filter_, y, attrs in FITTING] + [
    bad(x(*image), x(*filter_), x(*y), **attrs)
    for image, filter_, y, attrs in WRONG] + [
    bad(x(1, 2, 2, 1), x(1, 1, 1), x(1, 2, 1, 1), **taps()),
    bad(x(1, 2, 2, 1), x(1, 1, 1), x(2, 2, 1), **taps())], SMALL, tol=4)
