"""Cases of kernels/state/variable.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import types_of, x
from tests.conformance.scenarios import attempt, fresh_graph, sample, told
from tests.conformance.table import bad, c, row, scenario, var

row("IsVariableInitialized", [c(var(x(2))), c(var(declared=[2]))],
    dtypes=types_of("Assign"))
row("ReadVariableOp", [c(var(x(2, 3))), c(var(x())), c(var(x(0, 2))),
                       bad(var(declared=[2]))], ANY,
    dtypes=types_of("AssignVariableOp"))
row("VarIsInitializedOp", [
    c(var(x(2), "float32")), c(var(None, "int64", [2]))])
row("DisableCopyOnRead", [c(var(x(2, 3), "float32")),
                          bad(var(None, "float32", [2]))])
row("DestroyResourceOp", [
    c(var(x(2), "float32")), c(var(None, "float32", [2])),
    bad(var(None, "float32", [2]), ignore_lookup_error=False)], reads=False)
row("VariableShape", [
    c(var(x(2, 3), "float32")), c(var(x(), "int64")),
    c(var(x(0, 2), "string")), bad(var(None, "float32", [2]))], reads=False)
ASSIGNED = [tf.as_dtype(name) for name in types_of("Assign")
            if name in types_of("AssignVariableOp")]


@scenario("VariableV2 VarHandleOp Assign AssignVariableOp ReadVariableOp "
          "IsVariableInitialized VarIsInitializedOp")
@fresh_graph
def variables_of_every_type(side):
    out = {}
    with side.session() as session:
        for dtype in ASSIGNED:
            for resource in (False, True):
                v = tf.Variable(tf.placeholder(dtype, [2, 3]), dtype=dtype,
                                use_resource=resource, trainable=False,
                                name="%s_%s" % (dtype.name, resource))
                feed = {v.initializer.inputs[1]: sample(dtype)}
                key = "%s %s" % (dtype.name, resource)
                ready = tf.is_variable_initialized(v)
                out[key + " before"] = session.run(ready)
                out[key + " read"] = attempt(session, v.read_value())
                session.run(v.initializer, feed)
                out[key + " after"] = session.run(ready)
                out[key] = session.run(v.read_value())
    return out


@scenario("VarHandleOp ReadVariableOp AssignVariableOp VariableV2 Assign")
@fresh_graph
def wrong_uses_of_variables_are_refused(side):
    raw, out = tf.raw_ops, {}
    name = tf.get_default_graph().get_name_scope() + "/v"
    good = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name)
    other = raw.VarHandleOp(dtype=tf.float64, shape=[2], shared_name=name)
    with side.session() as session:
        session.run(raw.AssignVariableOp(resource=good, value=[1.0, 2.0]))
        out["type"] = attempt(session, raw.ReadVariableOp(
            resource=other, dtype=tf.float64))
        out["assign type"] = attempt(session, raw.AssignVariableOp(
            resource=other, value=np.float64([1, 2])))
        out["fine"] = session.run(raw.ReadVariableOp(
            resource=good, dtype=tf.float32))
        first = raw.VariableV2(shape=[2], dtype=tf.float32,
                               shared_name=name + "r")
        second = raw.VariableV2(shape=[2], dtype=tf.float64,
                                shared_name=name + "r")
        session.run(raw.Assign(ref=first, value=[1.0, 2.0]).op)
        out["ref type"] = attempt(session, raw.Identity(input=second))
        out["container"] = attempt(session, raw.Assign(
            ref=raw.VariableV2(shape=[], dtype=tf.float32, container="a b"),
            value=1.0))
    return out


@scenario("Variable RefIdentity")
@fresh_graph
def old_variables_and_other_names_of_references(side):
    raw, out = tf.raw_ops, {}
    v = raw.Variable(shape=[2], dtype=tf.float32)
    free = raw.Variable(shape=[], dtype=tf.int32)
    same = raw.RefIdentity(input=v)
    out["shapes"] = "%s %s %s" % (v.shape, free.shape, same.shape)
    with side.session() as session:
        out["early"] = attempt(session, raw.Identity(input=same))
        session.run(raw.Assign(ref=same, value=[1.0, 2.0]).op)
        out["through both"] = session.run([raw.Identity(input=v),
                                           raw.Identity(input=same)])[0]
        out["added"] = session.run(raw.AssignAdd(ref=same, value=[1.0, 1.0]))
        session.run(raw.Assign(ref=free, value=[[1, 2, 3]],
                               validate_shape=False).op)
        out["free"] = session.run(raw.Identity(input=free))
    return out


@scenario("RefSelect")
@fresh_graph
def one_of_several_references(side):
    raw, out = tf.raw_ops, {}
    refs = [raw.VariableV2(shape=[2], dtype=tf.float32) for _ in range(3)]
    index = tf.placeholder(tf.int32, None)
    one = raw.RefSelect(index=index, inputs=refs)
    added = raw.AssignAdd(ref=one, value=[10.0, 10.0])
    with side.session() as session:
        session.run([raw.Assign(ref=ref, value=[float(i), i + 0.5]).op
                     for i, ref in enumerate(refs)])
        for i in range(3):
            out["read %d" % i] = session.run(raw.Identity(input=one), {index: i})
        session.run(added.op, {index: 1})
        for i, ref in enumerate(refs):
            out["left %d" % i] = session.run(raw.Identity(input=ref))
        for wrong in (-1, 3, [1]):
            out["wrong %s" % wrong] = told(session, raw.Identity(input=one),
                                           {index: wrong})
    return out
