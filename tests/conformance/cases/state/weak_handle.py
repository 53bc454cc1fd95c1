"""Cases of kernels/state/weak_handle.c."""
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario
from tests.conformance.unlisted import op

raw = tf.raw_ops
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def variable(name=None):
    name = name or tf.get_default_graph().unique_name("v").replace("/", "_")
    return raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name)


def owned():
    return {"table": raw.AnonymousHashTable(key_dtype=tf.int64, value_dtype=tf.int64),
            "variable": variable(ANONYMOUS),
            "iterator": raw.AnonymousIteratorV3(output_types=[tf.int64],
                                                output_shapes=[[]])}


def named():
    return {"table": raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64),
            "variable": variable(),
            "queue": raw.FIFOQueueV2(component_types=[tf.int64])}


def weak(handle):
    return op("MakeWeakResourceHandle", handle=handle)


def counts(handle):
    return op("IsResourceHandleRefCounting", handle=handle)


def plain(text):
    """Without names of containers and of resources that have none."""
    return re.sub(r"_[0-9]+_\w+|Resource-[0-9]+-at-0x[0-9a-f]+|Anonymous|localhost|worker|ps",
                  "N", text) if isinstance(text, str) else text


@scenario("IsResourceHandleRefCounting MakeWeakResourceHandle", tol=0)
@fresh_graph
def handles_that_own(side):
    with side.session() as session:
        out = {}
        for kind, handles in ("owned", owned()), ("named", named()):
            for name, handle in handles.items():
                key = kind + " " + name
                out[key] = session.run(counts(handle))
                out[key + ", weak"] = session.run(counts(weak(handle)))
        out["two"] = session.run(counts(tf.stack(2 * [variable()])))
        out["weak of two"] = session.run(counts(weak(tf.stack(2 * [variable()]))))
    return out


@scenario("MakeWeakResourceHandle", tol=0)
@fresh_graph
def what_weak_handles_find(side):
    v = variable()
    table = named()["table"]
    with side.session() as session:
        session.run(raw.AssignVariableOp(resource=weak(v), value=[3.0, 4.0]))
        return {"variable": session.run(raw.ReadVariableOp(resource=weak(v),
                                                           dtype=tf.float32)),
                "table": session.run(raw.LookupTableSizeV2(table_handle=weak(table))),
                "ended": told(session, raw.LookupTableSizeV2(
                    table_handle=weak(owned()["table"])))[:15],
                "wrong kind": told(session, raw.LookupTableSizeV2(
                    table_handle=weak(v)))[:60]}


@scenario("DeleteRpcFutureResource", tol=0)
@fresh_graph
def deleting(side):
    v = variable()
    deleter = raw.EmptyTensorList(element_shape=tf.constant([], tf.int32),
                                  max_num_elements=0, element_dtype=tf.float32)

    def delete(handle):
        return op("DeleteRpcFutureResource", handle=handle, deleter=deleter)

    with side.session() as session:
        session.run(raw.AssignVariableOp(resource=v, value=[3.0, 4.0]))
        session.run(delete(v))
        return {"gone": session.run(raw.VarIsInitializedOp(resource=v)),
                "again": told(session, delete(v))[:15],
                "never": told(session, delete(variable()))[:15]}


@scenario("DtypeWithDefaultOp", tol=0)
@fresh_graph
def names_of_types(side):
    with side.session() as session:
        out = {dtype.name: session.run(op("DtypeWithDefaultOp",
                                          **{"in": tf.constant(sample(dtype), dtype)}))
               for dtype in TYPES}
        out["scalar"] = session.run(op("DtypeWithDefaultOp", **{"in": np.uint8(3)}))
        out["resource"] = session.run(op("DtypeWithDefaultOp", **{"in": variable()}))
        out["hidden"] = session.run(op("DtypeWithDefaultOp", **{"in": hidden(1.0)}))
    return out
