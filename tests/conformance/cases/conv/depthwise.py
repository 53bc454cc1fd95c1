"""Cases of kernels/conv/depthwise.c."""
from tests.conformance.cases.conv.windows import (explicit, of_filter,
                                                  of_forward, of_input,
                                                  ON_CPU, PLAIN, window)
from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

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
