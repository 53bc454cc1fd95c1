"""Cases of kernels/state/assign.c."""
import functools

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario, var

row("Assign", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(2, 3)), x(6), validate_shape=False),
    c(var(x(2, 3)), x(2, 3), use_locking=False), c(var(declared=[4]), x(4)),
    bad(var(x(2, 3)), x(3, 2)), bad(var(x(2)), x(3))], ANY)
row("AssignAdd AssignSub", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(4)), x(4), use_locking=True), once(var(x(300, 70)), x(300, 70)),
    bad(var(x(2)), x(3)), bad(var(declared=[2]), x(2))], runs=2)
row("AssignVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(2), declared=None), x(2), validate_shape=True),
    bad(var(x(2)), x(3), validate_shape=True)], ANY)
row("AssignAddVariableOp AssignSubVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(300, 70)), x(300, 70)), bad(var(x(2)), x(3)),
    bad(var(declared=[2]), x(2))], runs=2)


@scenario("AssignVariableOp AssignAddVariableOp ReadVariableOp VarHandleOp")
@fresh_graph
def shapes_of_variables_bind_those_who_ask(side):
    """The shape of a handle binds nobody, that of a value those who validate."""
    raw, out = tf.raw_ops, {}
    ones = functools.partial(np.ones, dtype=np.float32)
    with side.session() as session:
        for declared in ([3], [None], None):
            for first, second, validate in (
                    ((2,), (2,), True), ((2,), (3,), True),
                    ((2,), (3, 1), False), ((), (2,), True),
                    ((3, 1), (1, 3), True)):
                key = "%s %s %s %s" % (declared, first, second, validate)
                v = hidden(raw.VarHandleOp(dtype=tf.float32, shape=declared,
                                           shared_name="v" + key))
                for i, shape in enumerate((first, second)):
                    out["%s %d" % (key, i)] = told(
                        session, raw.AssignVariableOp(
                            resource=v, value=hidden(ones(shape)),
                            validate_shape=validate))
                    out["%s %d read" % (key, i)] = told(
                        session, raw.ReadVariableOp(resource=v,
                                                    dtype=tf.float32))
                out[key + " other"] = told(session, raw.AssignVariableOp(
                    resource=v, value=hidden(np.ones(second, np.float64))))
                out[key + " add other"] = told(session, raw.AssignAddVariableOp(
                    resource=v, value=hidden(np.ones(second, np.float64))))
                out[key + " add"] = told(session, raw.AssignAddVariableOp(
                    resource=v, value=hidden(ones((2, 2)))))
    return out


@scenario("Assign AssignAdd VariableV2")
@fresh_graph
def what_references_say_of_shapes(side):
    raw = tf.raw_ops
    with side.session() as session:
        v = raw.VariableV2(shape=[3], dtype=tf.float32)
        two = hidden(np.ones(2, np.float32))
        return {
            "other": told(session, raw.Assign(ref=v, value=two)),
            "any": told(session, raw.Assign(ref=v, value=two,
                                            validate_shape=False)),
            "add": told(session, raw.AssignAdd(
                ref=v, value=hidden(np.ones(3, np.float32))))}
