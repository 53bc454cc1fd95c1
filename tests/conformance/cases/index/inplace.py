"""Cases of kernels/index/inplace.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import types_of, x
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import bad, c, once, row, scenario

ROWS = [c(x(5, 3), [0, 4, 2], x(3, 3)), c(x(5), [1, 1, 0], x(3)),
        c(x(5), [-1, 7], x(2)), c(x(3, 0), [1], x(1, 0)),
        c(x(5), np.zeros([0]), x(0)), c(x(4, 2, 3), [2], x(1, 2, 3)),
        once(x(300, 70), [7, 9], x(2, 70)), bad(x(5), 1, x(1)),
        bad(x(5, 3), [1], x(3)), bad(x(5, 3), [1], x(1, 4)),
        bad(x(5), [1, 2], x(3))]
PLAIN = [t for t in types_of("DeepCopy") if t[0] != "q"]
row("InplaceUpdate", ROWS, dtypes=PLAIN)
row("DeepCopy", [c(x(2, 3)), c(x()), c(x(0, 2))], dtypes=PLAIN)


@scenario("InplaceAdd InplaceSub DeepCopy")
@fresh_graph
def rows_are_added_to_a_copy(side):
    """TensorFlow changes what is fed, so each op gets a copy."""
    raw, fetches = tf.raw_ops, {}
    for name in types_of("AddN"):
        dtype = tf.as_dtype(name)
        if dtype == tf.variant:
            continue
        given = tf.constant(sample(dtype, (5, 3)), dtype)
        more = tf.constant(sample(dtype, (4, 3)), dtype)
        for op in (raw.InplaceAdd, raw.InplaceSub):
            fetches[op.__name__ + name] = op(
                x=raw.DeepCopy(x=given), i=[0, -1, 7, 0], v=more)
            fetches[name + " itself"] = given
    with side.session() as session:
        out = session.run(fetches)
        for key, inputs in {
                "matrix": ([[1.0]], [[0]], [[1.0]]), "rank": ([1.0], [0], [[1.0]]),
                "width": ([[1.0, 2]], [0], [[1.0]]),
                "count": ([1.0], [0, 0], [1.0])}.items():
            out[key] = told(session, raw.InplaceAdd(
                x=raw.DeepCopy(x=tf.constant(inputs[0])), i=inputs[1],
                v=hidden(tf.constant(inputs[2]))))
    return out
