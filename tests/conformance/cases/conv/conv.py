"""Cases of kernels/conv/conv.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.conv.windows import (close, explicit, of_filter,
                                                  of_forward, of_input,
                                                  ON_CPU, terms_of_input,
                                                  to_last, window)
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import bad, c, once, row, scenario

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


def convolutions(op, takes, broad=(), wrong=(), tol=32, terms=None):
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
    row(op, cases + list(broad) + list(wrong), SMALL, tol=tol, terms=terms)


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
           bad([[2, 5, 5, 2]], x(3, 3, 2, 3), x(2, 5, 5, 3), **window())],
    tol=64,  # sums of hundreds that nearly cancel, in the code's own order, ...
    terms=terms_of_input)  # ... and the others much nearer
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
