"""Cases of kernels/list/variant_math.c: lists that other ops take."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import (attempts, filled, push,
                                                reserved, stacked)
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops


@scenario("AddN ZerosLike Identity Switch Merge Shape ShapeN Size Rank")
@fresh_graph
def variants_pass_through_other_ops(side):
    l, m = filled(tf.float32), filled(tf.float32)
    off, on = raw.Switch(data=l, pred=hidden(True))
    hole = raw.TensorListSetItem(input_handle=reserved([2], 3), index=1,
                                 item=[1.0, 2.0])
    return attempts(side, {
        "sum": stacked(raw.AddN(inputs=[l, m, l]), tf.float32),
        "sum with holes": stacked(raw.AddN(inputs=[l, hole]), tf.float32),
        "sum of lengths": stacked(raw.AddN(inputs=[l, push(m, [1.0, 2.0])]),
                                  tf.float32),
        "sum of types": stacked(raw.AddN(
            inputs=[l, hidden(filled(tf.int32))]),
                                tf.float32),
        "zeros": stacked(raw.ZerosLike(x=l), tf.float32),
        "merged": stacked(raw.Merge(inputs=[off, on]).output, tf.float32),
        "same": stacked(raw.Identity(input=l), tf.float32),
        "shape": raw.Shape(input=l), "size": raw.Size(input=l),
        "rank": raw.Rank(input=l),
        "shapes": raw.ShapeN(input=[l, raw.Identity(input=m)]),
    })
