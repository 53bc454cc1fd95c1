"""Cases of kernels/control/for_loop.c."""
import numpy as np
from tensorflow.python.framework import function

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import spread
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario


@scenario("For")
@fresh_graph
def numbers_of_a_range(side):
    graph, out = tf.get_default_graph(), {}

    @function.Defun(tf.int32, tf.float32, tf.int32)
    def body(i, x, n):
        return x * 2 + tf.cast(i, tf.float32), n + 1

    @function.Defun(tf.int32, tf.float32)
    def grow(i, x):
        return tf.concat([x, [tf.cast(i, tf.float32)]], 0)

    @function.Defun(tf.int32)
    def nothing(i):
        with tf.control_dependencies([tf.debugging.assert_less(i, 3)]):
            tf.no_op()
        return []

    @function.Defun(tf.int32, tf.float32)
    def failing(i, x):
        return tf.gather(x, [i])

    @function.Defun(tf.int32, tf.float32)
    def two(i, x):
        return x, x

    @function.Defun(tf.float32)
    def one(x):
        return x

    @function.Defun(tf.int32, tf.float32)
    def other(i, x):
        return tf.cast(x, tf.int32) + i

    def loop(f, start, limit, delta, *values):
        f.add_to_graph(graph)
        inputs = [hidden(np.array(v, np.int32)) for v in (start, limit, delta)] + [
            hidden(np.array(v)) for v in values]
        types = [value.dtype.base_dtype for value in inputs[3:]]
        op = graph.create_op("For", inputs, types, attrs={
            "T": tf.AttrValue(list=tf.AttrValue.ListValue(
                type=[t.as_datatype_enum for t in types])),
            "body": tf.AttrValue(func=tf.NameAttrList(name=f.name))})
        found = told(session, list(op.outputs) or op)
        return "done" if found is None else found

    x, n = np.float32(1), np.int32(0)
    with side.session() as session:
        for start, limit, delta in (
                (0, 5, 1), (5, 0, -2), (3, 3, 0), (3, 3, 1), (3, 3, -1), (0, 300, 1), (-4, 9, 3),
                (2 ** 31 - 3, 2 ** 31 - 1, 1), (3, 5, 0), (3, 5, -1), (5, 3, 1),
                ([3], 5, 1), (3, [5], 1), (3, 5, [1])):
            spread(out, "%s %s %s" % (start, limit, delta), loop(
                body, start, limit, delta, x, n))
        spread(out, "grows", loop(grow, 0, 4, 1, np.ones([2], np.float32)))
        spread(out, "without values", loop(nothing, 0, 3, 1))
        spread(out, "two for one", loop(two, 0, 3, 1, x))
        spread(out, "no number", loop(one, 0, 3, 1, x))
        spread(out, "other type", loop(other, 0, 3, 1, x))
        failed = loop(failing, 0, 3, 1, np.ones([2], np.float32))
        out["fails"] = "failed" if isinstance(failed, str) else failed
    return out
