"""Cases of kernels/index/scatter.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY, NONE, REALS
from tests.conformance.inputs import Data, x
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario, var

SCATTERED = [
    c(var(x(5, 3)), [0, 4, 0], x(3, 3)), c(var(x(5)), 2, x()),
    c(var(x(5)), [[1, 2]], x(1, 2)), c(var(x(5)), [1, 1], x()),
    c(var(x(5, 2)), np.zeros([0]), x(0, 2)), c(var(x(2, 0)), [1], x(1, 0)),
    c(var(x(4, 2, 3)), [3, 3, 0, 3], x(4, 2, 3)),
    c(var(x(5, 16)), [0, 4, 0], x(3, 16)), c(var(x(3, 16)), [2, 2], x()),
    c(var(x(3, 9)), [2, 2], x()),
    once(var(x(300, 70)), list(range(299, 0, -2)) * 7, x(1050, 70)),
    once(var(x(40)), list(range(40)) * 2000, x(80000)),
    bad(var(x(5)), [5], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [-1], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [[0, 9]], [[2, 3]], gpu=c(var(x(5)), [0], [2])),
    bad(var(x()), [0], x(1)),
    bad(var(x(5)), [0, 1], x(3)), bad(var(x(5, 2)), [0, 1], x(3, 2)),
    bad(var(x(5)), np.zeros([0]), x(1, 1)),
    bad(var(x(0)), [0], x(1), gpu=c(var(x(0)), NONE, x(0))),
    bad(var(declared=[5]), [0], x(1))]
row("ScatterAdd ScatterSub ResourceScatterAdd ResourceScatterSub", SCATTERED,
    tol=64, runs=2)
row("ScatterMul ResourceScatterMul", SCATTERED, Data(-1.5, 1.5), tol=64,
    runs=2)
row("ScatterDiv ResourceScatterDiv", SCATTERED, Data(-3, 3, nonzero=True),
    tol=512, runs=2)
row("ScatterMin ScatterMax", SCATTERED,
    dtypes=REALS + ("int32", "int64"))
row("ResourceScatterMin ResourceScatterMax", SCATTERED)
row("ScatterUpdate ResourceScatterUpdate", SCATTERED[:-3] + SCATTERED[-2:],
    ANY)


@scenario("ResourceScatterUpdate ResourceGather")
@fresh_graph
def lists_are_scattered_into_a_variable(side):
    raw, out = tf.raw_ops, {}

    def lists(*rows):
        return [hidden(raw.TensorListFromTensor(
            tensor=np.array(row, np.float32), element_shape=[1]))
            for row in rows]

    def element(i):
        return raw.TensorListStack(input_handle=hidden(raw.ResourceGather(
            resource=v, indices=hidden(np.int32(i)), dtype=tf.variant)),
            element_shape=-1, element_dtype=tf.float32)

    def scatter(indices, updates):
        return told(session, raw.ResourceScatterUpdate(
            resource=v, indices=hidden(indices), updates=hidden(updates)))

    with side.session() as session:
        v = hidden(raw.VarHandleOp(dtype=tf.variant, shape=[3]))
        new = lists([[7.], [8.]], [[9.]])
        session.run(raw.AssignVariableOp(resource=v, value=hidden(raw.Pack(
            values=lists([[1.]], [[2.], [3.]], [[4.]])))))
        old = hidden(raw.ReadVariableOp(resource=v, dtype=tf.variant))
        for name, indices, updates in (
                ("two", [2, 0], raw.Pack(values=new)),
                ("one for all", np.array([1, 0]), new[1]),
                ("beyond", [3], raw.Pack(values=new[:1])),
                ("too few", [0, 1], raw.Pack(values=new[:1]))):
            out[name] = scatter(indices, updates)
            for i in range(4):
                out["%s %d" % (name, i)] = told(session, element(i))
        out["read"] = told(session, raw.Shape(input=old))
    return out
