"""Cases of kernels/list/tensor_list.c."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import (attempts, empty, filled, get,
                                                push, reserved, stacked)
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops


@scenario("EmptyTensorList TensorListReserve TensorListResize "
          "TensorListElementShape TensorListConcatLists TensorListPushBack "
          "TensorListPopBack TensorListGetItem TensorListSetItem")
@fresh_graph
def edges_of_lists(side):
    one, l = push(empty(), [1.0, 2.0]), filled(tf.float32)
    out = {
        "push": stacked(one, tf.float32),
        "push another shape": stacked(push(one, [1.0]), tf.float32),
        "push to a shape": push(empty([2]), [1.0]),
        "push to a partial shape": stacked(
            push(empty([-1, 2]), [[1.0, 2.0]]), tf.float32),
        "push another type": raw.TensorListPushBack(
            input_handle=empty(), tensor=hidden(1)),
        "push when full": push(push(empty(most=1), 1.0), 2.0),
        "pop nothing": raw.TensorListPopBack(
            input_handle=empty(), element_shape=-1,
            element_dtype=tf.float32).tensor,
        "stack nothing": stacked(empty(), tf.float32),
        "stack nothing of a shape": stacked(empty([3]), tf.float32),
        "stack another count": stacked(l, tf.float32, num_elements=2),
        "stack another type": stacked(l, tf.int32),
        "reserve negative": stacked(reserved([2], -1), tf.float32),
        "reserve a bad shape": stacked(reserved(3, 1), tf.float32),
        "unset": get(reserved([2], 2), 0),
        "unset of no shape": get(reserved(-1, 2), 0),
        "unset of a wanted shape": get(reserved(-1, 2), 0, shape=[3]),
        "get 3": get(l, 3), "get -1": get(l, -1),
        "get a type": get(l, 0, tf.int32),
        "set 3": raw.TensorListSetItem(input_handle=l, index=hidden(3),
                                       item=[1.0, 2.0]),
        "set a shape": raw.TensorListSetItem(
            input_handle=l, index=0, item=hidden([1.0])),
        "set beyond": stacked(raw.TensorListSetItem(
            input_handle=l, index=hidden(4), item=[1.0, 2.0],
            resize_if_index_out_of_bounds=True), tf.float32),
        "resize to 5": stacked(raw.TensorListResize(
            input_handle=l, size=5), tf.float32),
        "resize to 1": stacked(raw.TensorListResize(
            input_handle=l, size=1), tf.float32),
        "resize to -1": raw.TensorListLength(
            input_handle=raw.TensorListResize(input_handle=l,
                                              size=hidden(-1))),
        "shape": raw.TensorListElementShape(input_handle=l,
                                            shape_type=tf.int32),
        "any shape": raw.TensorListElementShape(input_handle=empty(),
                                                shape_type=tf.int64),
        "joined": stacked(raw.TensorListConcatLists(
            input_a=l, input_b=one, element_dtype=tf.float32), tf.float32),
        "no list": raw.TensorListLength(input_handle=raw.OptionalNone()),
    }
    return attempts(side, out)
