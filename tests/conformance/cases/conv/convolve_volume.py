"""Cases of kernels/conv/convolve_volume.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.conv.windows import (close, of_filter,
                                                  of_forward, of_input,
                                                  ON_CPU, to_last)
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.old_graphs import old_node
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import bad, c, once, row, scenario


def window(stride=1, padding="SAME", **attrs):
    stride = [stride] * 3 if isinstance(stride, int) else list(stride)
    return {"strides": [1, *stride, 1], "padding": padding, **attrs}


CONVOLUTIONS = [
    ((2, 4, 5, 6, 3), (3, 3, 3, 3, 4), (2, 4, 5, 6, 4), window()),
    ((2, 4, 5, 6, 3), (2, 3, 2, 3, 4), (2, 3, 3, 5, 4),
     window(padding="VALID")),
    ((2, 5, 7, 7, 2), (3, 3, 3, 2, 3), (2, 3, 4, 4, 3), window(2)),
    ((1, 4, 7, 8, 2), (2, 2, 3, 2, 3), (1, 3, 2, 3, 3),
     window((1, 3, 2), "VALID")),
    ((2, 3, 4, 4, 3), (1, 1, 1, 3, 5), (2, 3, 4, 4, 5), window()),
    ((2, 3, 5, 5, 3), (1, 1, 1, 3, 2), (2, 2, 3, 3, 2), window(2)),
    ((1, 2, 3, 3, 1), (5, 4, 5, 1, 2), (1, 2, 3, 3, 2), window()),
    ((1, 2, 4, 3, 2), (2, 4, 3, 2, 3), (1, 1, 1, 1, 3),
     window(padding="VALID")),
    ((0, 3, 5, 5, 2), (3, 3, 3, 2, 3), (0, 3, 5, 5, 3), window()),
    ((2, 0, 5, 5, 2), (3, 3, 3, 2, 3), (2, 0, 5, 5, 3), window()),
]
LARGE = [
    ((2, 8, 12, 13, 8), (3, 3, 3, 8, 16), (2, 8, 12, 13, 16), window()),
    ((2, 7, 14, 14, 16), (3, 3, 3, 16, 8), (2, 4, 7, 7, 8), window(2)),
]
# Only oneDNN takes these: what TensorFlow's plain kernels say of them.
DILATED = ((1, 5, 6, 7, 2), (2, 2, 3, 2, 3), (1, 5, 6, 7, 3),
           window(dilations=[1, 2, 1, 2, 1]))
SECOND = ((1, 2, 3, 5, 6), (2, 3, 3, 2, 4), (1, 4, 3, 5, 6),
          window(data_format="NCDHW"))
WRONG = [
    ((3, 5, 5, 3), (3, 3, 3, 3, 4), (3, 5, 5, 4), window()),
    ((1, 3, 5, 5, 3), (3, 3, 3, 4), (1, 3, 5, 5, 4), window()),
    ((1, 3, 5, 5, 3), (3, 3, 3, 2, 4), (1, 3, 5, 5, 4), window()),
    ((1, 3, 5, 5, 4), (3, 3, 3, 2, 4), (1, 3, 5, 5, 4), window()),
    ((1, 3, 5, 5, 0), (3, 3, 3, 0, 4), (1, 3, 5, 5, 4), window()),
    ((1, 1, 3, 3, 1), (4, 2, 2, 1, 1), (1, 1, 2, 2, 1),
     window(padding="VALID")),
    ((1, 3, 5, 5, 1), (3, 3, 3, 1, 1), (1, 3, 5, 5, 1),
     {**window(), "strides": [2, 1, 1, 1, 1]}),
    ((1, 3, 5, 5, 1), (3, 3, 3, 1, 1), (1, 3, 5, 5, 1),
     {**window(), "strides": [1, 1, 1, 1, 2]}),
    ((1, 3, 5, 5, 1), (3, 3, 3, 1, 1), (1, 3, 5, 5, 1),
     window(dilations=[2, 1, 1, 1, 1])),
    ((1, 3, 5, 5, 1), (3, 3, 3, 1, 1), (1, 3, 5, 5, 1),
     window(dilations=[1, 1, 1, 1, 2])),
]
# The gradients look at dy as well.
WRONG_BACK = [
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (3, 5, 5, 3), window()),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (1, 3, 5, 5, 3), window()),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 3, 5, 5, 4), window()),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 2, 5, 5, 3), window()),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 3, 5, 4, 3), window()),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 3, 5, 5, 3),
     {**window(), "strides": [1, 0, 1, 1, 1]}),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 3, 5, 5, 3),
     {**window(), "strides": [1, 1, 1, 1, 1, 1]}),
    ((2, 3, 5, 5, 2), (3, 3, 3, 2, 3), (2, 3, 5, 5, 3),
     window(dilations=[1, 1, 1, 1, 1, 1])),
]


def convolutions(op, takes, more, tol):
    """takes(x, w, y): what the op takes, of shapes."""
    row(op, [c(*takes(*shapes), **attrs)
             for *shapes, attrs in CONVOLUTIONS] + [
        once(*takes(*shapes), **attrs) for *shapes, attrs in LARGE] + [
        bad(*takes(*shapes), **ON_CPU, **attrs)
        for *shapes, attrs in (DILATED, SECOND)] + [
        bad(*takes(*shapes), **attrs) for *shapes, attrs in WRONG] + more,
        SMALL, tol=tol)


convolutions("Conv3D", of_forward, [
    bad(x(1, 3, 5, 5, 2), x(3, 0, 3, 2, 3), **window()),
    bad(x(1, 3, 5, 5, 2), x(3, 3, 3, 2, 0), **window())], 64)
convolutions("Conv3DBackpropInputV2", of_input, [
    bad([1, -3, 5, 5, 2], x(2, 3, 3, 2, 3), x(1, 3, 5, 5, 3), **window()),
    bad([[1, 3, 5, 5, 2]], x(2, 3, 3, 2, 3), x(1, 3, 5, 5, 3), **window())] + [
    bad(*of_input(*shapes), **attrs)
    for *shapes, attrs in WRONG_BACK], 256)
# Of bfloat16 oneDNN's gradient by w reads planes of this that are not there.
STEPS = (4, 3, 12, 20, 16), (3, 3, 1, 16, 16), (4, 2, 6, 10, 16)
convolutions("Conv3DBackpropFilterV2", of_filter, [
    c(*of_filter(*STEPS), **window(2)),
    bad(x(1, 3, 5, 5, 2), [2, -3, 3, 2, 3], x(1, 3, 5, 5, 3), **window()),
    bad(x(1, 3, 5, 5, 2), [[2, 3, 3, 2, 3]], x(1, 3, 5, 5, 3),
        **window())] + [
    bad(*of_filter(*shapes), **attrs)
    for *shapes, attrs in WRONG_BACK], 256)


@scenario("Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2")
@fresh_graph
def layouts_and_dilations_of_volumes(side):
    """What TensorFlow takes with oneDNN alone: the gradients are the adjoints
    of the forward result, which is that of the other layout."""
    checks = {}
    for number, (volume, filter_, output, attrs) in enumerate(
            (DILATED, SECOND)):
        checks[number] = True
        if not side.target:
            continue
        a, w, dy = [SMALL.draw(tf.float32, dims, str(dims))
                    for dims in (volume, filter_, output)]
        with side.session() as session:
            y, dx, dw = session.run([
                tf.raw_ops.Conv3D(input=hidden(a), filter=w, **attrs),
                tf.raw_ops.Conv3DBackpropInputV2(
                    input_sizes=volume, filter=w, out_backprop=hidden(dy),
                    **attrs),
                tf.raw_ops.Conv3DBackpropFilterV2(
                    input=hidden(a), filter_sizes=filter_,
                    out_backprop=hidden(dy), **attrs)])
            if attrs.get("data_format"):
                last = session.run(tf.raw_ops.Conv3D(
                    input=to_last(a), filter=w, **window()))
                checks[number] = close(to_last(y), last)
        checks[number] = checks[number] and close(
            np.vdot(y, dy), np.vdot(a, dx)) and close(
            np.vdot(y, dy), np.vdot(w, dw))
    return checks


@scenario("Conv3DBackpropInput Conv3DBackpropFilter", tol=64)
@fresh_graph
def gradients_of_volumes_in_old_graphs(side):
    """With tensors of the shapes that are now given as numbers."""
    found = {}
    with side.session() as session:
        for dtype in (tf.float32, tf.float64):
            for number in (0, 2):
                *dims, attrs = CONVOLUTIONS[number]
                a, w, dy = [SMALL.draw(dtype, d, str(d)) for d in dims]
                for op in ("Conv3DBackpropInput", "Conv3DBackpropFilter"):
                    found["%s %s %d" % (op, dtype.name, number)] = session.run(
                        old_node(op, a, w, dy, T=dtype, **attrs))
    return found
