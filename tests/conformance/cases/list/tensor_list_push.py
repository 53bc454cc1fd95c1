"""Cases of kernels/list/tensor_list_push.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts, empty, stacked, TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
F = tf.float32


def pushed(lists, rows):
    """Lists, which may have any shape, with a row more each."""
    return raw.TensorListPushBackBatch(
        input_handles=hidden(tf.stack(lists) if isinstance(lists, list)
                             else lists), tensor=hidden(rows))


def one(handles, i, dtype=F):
    return stacked(raw.GatherV2(params=handles, indices=i, axis=0), dtype)


@scenario("TensorListPushBackBatch EmptyTensorList TensorListStack")
@fresh_graph
def rows_for_several_lists(side):
    out = {}
    for dtype in TYPES:
        lists = [empty(dtype=dtype), empty([2], dtype=dtype)]
        once = pushed(lists, sample(dtype, (2, 2)))
        twice = pushed(once, sample(dtype, (2, 2))[::-1])
        out[dtype.name] = [one(x, i, dtype) for x in (once, twice)
                           for i in (0, 1)]
    rows = np.arange(4, dtype=np.float32).reshape(2, 2)
    pair = [empty(), empty([2])]
    out.update({
        "scalars": one(pushed([empty(), empty()], rows[0]), 1),
        "full": one(pushed([empty(most=0), empty()], rows), 0),
        "none": tf.size(pushed(hidden(tf.stack(pair)[:0]), rows[:0])),
        "a scalar": one(pushed(pair, np.float32(1)), 0),
        "another type": one(pushed([empty(), empty(dtype=tf.int32)], rows), 0),
        "another shape": one(pushed(pair, rows.reshape(2, 2, 1)), 0),
        "fewer rows": one(pushed(pair, rows[:1]), 0),
        "a lone list": stacked(pushed(empty(), rows), F),
        "no list": one(pushed([raw.OptionalNone(), empty()], rows), 0)})
    return attempts(side, out, run=told)
