"""Cases of kernels/control/list_array.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import spread
from tests.conformance.scenarios import attempt, fresh_graph, told
from tests.conformance.table import scenario


@scenario("_ListToArray _ArrayToList", tol=0)
@fresh_graph
def tensors_are_passed_on(side):
    """No client asks for them; functions' bodies that TensorFlow wrote do."""
    graph, out = tf.get_default_graph(), {}

    def types(*names):
        return tf.AttrValue(list=tf.AttrValue.ListValue(
            type=[tf.as_dtype(name).as_datatype_enum for name in names]))

    def passed(op, values, name, count, listed):
        attrs = {"T": tf.AttrValue(type=tf.as_dtype(name).as_datatype_enum),
                 "N": tf.AttrValue(i=count),
                 "Tin" if op == "_ListToArray" else "out_types": types(*listed)}
        given = [tf.constant(value, kind) for value, kind in values]
        results = [name] * count if op == "_ListToArray" else list(listed)
        return list(graph.create_op(op, given, [tf.as_dtype(r) for r in results], name="pass",
                                    attrs=attrs).outputs)

    for name in ("float32", "int64", "string", "bool", "complex64"):
        value = {"string": b"a", "bool": True}.get(name, 1)
        values = [(np.array([value] * 3), name), (value, name)]
        for op in ("_ListToArray", "_ArrayToList"):
            with side.session() as session:
                spread(out, "%s %s" % (op, name), told(
                    session, passed(op, values, name, 2, [name] * 2)))
    for op, count, listed in (("_ListToArray", 3, ["float32"] * 2),
                              ("_ArrayToList", 2, ["float32"] * 3),
                              ("_ArrayToList", 2, ["float32", "int32"])):
        with side.session() as session:
            out["%s %d %s" % (op, count, listed)] = attempt(
                session, passed(op, [(1, "float32")] * 2, "float32", count, listed))
    return out
