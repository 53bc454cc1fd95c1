"""Cases of kernels/array/ensure_shape.c."""
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("EnsureShape", [
    c(x(2, 3), shape=[2, 3]), c(x(2, 3), shape=[None, 3]),
    c(x(2, 3), shape=[None, None]), c(x(), shape=[]),
    c(x(0, 3), shape=[0, None]), c(x(4), shape=[4]),
    # TensorFlow names the argument that it has made of the feed.
    bad(x(2, 3), shape=[2, 2], words=False), bad(x(2, 3), shape=[2], words=False),
    bad(x(2, 3), shape=[], words=False), bad(x(), shape=[1], words=False),
    bad(x(2, 3), shape=[2, 3, None], words=False),
    bad(x(0), shape=[1], words=False)], ANY)
