"""Cases of kernels/list/tensor_list_rows.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import (attempts, empty, filled, get,
                                                push, reserved, stacked,
                                                TYPES)
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops


@scenario("TensorListFromTensor TensorListStack TensorListGetItem "
          "TensorListPushBack TensorListPopBack TensorListSetItem "
          "TensorListLength")
@fresh_graph
def lists_of_every_type(side):
    out = {}
    for dtype in TYPES:
        l = filled(dtype)
        item = tf.constant(sample(dtype, (2,)))
        popped = raw.TensorListPopBack(input_handle=l, element_shape=-1,
                                       element_dtype=dtype)
        more = raw.TensorListPushBack(input_handle=l, tensor=item)
        changed = raw.TensorListSetItem(input_handle=l, index=1, item=item)
        out.update({"%s %s" % (dtype.name, key): value for key, value in {
            "stack": stacked(l, dtype), "get": get(l, 1, dtype),
            "popped": popped.tensor,
            "rest": stacked(popped.output_handle, dtype),
            "pushed": stacked(more, dtype), "set": stacked(changed, dtype),
            "length": raw.TensorListLength(input_handle=more),
            "unset": stacked(reserved([2], 2, dtype), dtype)}.items()})
    return attempts(side, out)


@scenario("TensorListGather TensorListScatter TensorListScatterV2 "
          "TensorListScatterIntoExistingList TensorListSplit "
          "TensorListConcat TensorListConcatV2 TensorListFromTensor")
@fresh_graph
def rows_of_lists(side):
    out = {}
    for dtype in (tf.float32,):  # holes of others kill TensorFlow
        l, rows = filled(dtype), sample(dtype, (3, 2))

        def gather(at, handle=l):
            return raw.TensorListGather(
                input_handle=handle, indices=hidden(np.array(at, np.int32)),
                element_shape=-1, element_dtype=dtype)

        def scatter(at, **more):
            op = raw.TensorListScatterV2 if more else raw.TensorListScatter
            return op(tensor=rows, indices=hidden(np.array(at, np.int32)),
                      element_shape=[2], **more)

        def split(*lengths):
            return raw.TensorListSplit(
                tensor=rows, element_shape=[-1, 2],
                lengths=hidden(np.array(lengths, np.int64)))

        def concat(handle, leading=(), shape=-1):
            return raw.TensorListConcatV2(
                input_handle=handle, element_shape=hidden(shape),
                leading_dims=hidden(np.array(leading, np.int64)),
                element_dtype=dtype)

        into = raw.TensorListScatterIntoExistingList(
            input_handle=reserved([2], 2, dtype), tensor=rows,
            indices=hidden([1, 0, 2]))
        out.update({"%s %s" % (dtype.name, key): value for key, value in {
            "gather": gather([2, 0, 2]), "gather none": gather([]),
            "gather 3": gather([3]), "gather -1": gather([-1]),
            "scatter": stacked(scatter([2, 0, 1]), dtype),
            "scatter apart": stacked(scatter([4, 0, 1]), dtype),
            "scatter of 6": stacked(scatter([2, 0, 1], num_elements=6), dtype),
            "scatter -1": stacked(scatter([2, -1, 1]), dtype),
            "scatter 2 of 3": stacked(scatter([0, 1]), dtype),
            "into": stacked(into, dtype),
            "split": concat(split(1, 0, 2)), "split 2 of 3": split(1, 1),
            "split 4 of 3": split(1, 3), "split -1": split(-1, 4),
            "concat": concat(l), "concat unset": concat(
                reserved([-1, 2], 2, dtype), [1, 2]),
            "concat unset, no dims": concat(reserved([-1, 2], 2, dtype)),
            "concat none": concat(empty(dtype=dtype)),
            "concat of scalars": concat(filled(dtype, shape=())),
            "concat 1": raw.TensorListConcat(input_handle=l,
                                             element_dtype=dtype),
        }.items()})
    for key in [k for k in out if " split " in k and "concat" not in k]:
        out[key] = raw.TensorListLength(input_handle=out[key])
    return attempts(side, out)


# Texts of what only a list can be asked: their own of shapes that disagree.
@scenario("TensorListConcat TensorListConcatV2 TensorListConcatLists "
          "TensorListGather TensorListGetItem TensorListPopBack "
          "TensorListPushBack TensorListReserve TensorListScatterV2 "
          "TensorListScatterIntoExistingList TensorListSplit TensorListStack")
@fresh_graph
def what_lists_say_of_shapes_and_slots(side):
    rows = [[1., 2.], [3., 4.], [5., 6.]]
    l, mixed = given([2], rows), push(push(empty(), [1., 2.]), [1., 2., 3.])
    block = np.ones((2, 3), np.float32)
    two, one = hidden(raw.Pack(values=[l, l])), hidden(raw.Pack(values=[l]))
    ints = hidden(empty([2], dtype=tf.int32))
    other = hidden(raw.OptionalNone())
    out = {
        "concat of unwritten": concat(reserved([2, 3], 3)),
        "concat as told": concat(reserved(-1, 3), [2, 3]),
        "concat of some": concat(write(reserved([2, 3], 3), 1, block)),
        "concat like others": concat(write(reserved([-1, 3], 3), 1, block)),
        "concat leading": concat(write(reserved([-1, 3], 3), 1, block),
                                 leading=[4]),
        "concat leading first": concat(reserved([2, 3], 2), leading=[1, 5]),
        "concat unknown rows": concat(reserved([-1, 3], 2)),
        "concat too few": concat(reserved([-1, 3], 2), leading=[1]),
        "concat differing": concat(
            write(write(reserved([-1, 3], 3), 1, block), 0, block[:1])),
        "concat unknown tail": concat(reserved([2, -1], 2)),
        "concat nothing": concat(empty([2, -1])),
        "concat other first": concat(write(reserved([-1, 3], 2), 1, block),
                                     [4, 3]),
        "concat tails": concat(push(push(empty(), [[1.]]), [[1., 2.]])),
        "concat ranks": concat(push(push(empty(), [[1.]]), [1., 2.])),
        "concat scalars": concat(push(empty(), 1.)),
        "concat known scalars": concat(given([], [1., 2.])),
        "concat list's": concat(given([1, 2], [[[1., 2.]]]), [3, 2]),
        "old unwritten": old_concat(reserved([2, 3], 3), [2, 3]),
        "old like others": old_concat(
            write(reserved([-1, 3], 3), 1, block), [None, 3]),
        "old of any": old_concat(push(empty(), [[1., 2.]]), None),
        "old empty": old_concat(empty([1, 2]), None),
        "old scalar": old_concat(l, []),
        "stack rank": stacked(l, tf.float32, [2, 2]),
        "stack size": stacked(l, tf.float32, [3]),
        "stack mixed": stacked(mixed, tf.float32),
        "get size": get(reserved([2], 2), 0, shape=[3]),
        "get rank": get(reserved([2], 2), 0, shape=np.zeros([0], np.int32)),
        "get like mixed": get(write(write(reserved(-1, 3), 0, [1.]),
                                    1, [1., 2.]), 2),
        "get of any": get(reserved([-1, 2], 2), 0),
        "shape of a matrix": reserved([[1]], 2),
        "gather beyond": gathered(l, [0, 3]),
        "gather before": gathered(l, [-1]),
        "gather by a matrix": gathered(l, [[0, 1]]),
        "gather none": gathered(empty(), np.zeros([0], np.int32)),
        "gather unwritten": gathered(reserved(-1, 2), [0]),
        "scatter beyond": scattered(rows, [0, 1, 3], 3),
        "scatter in none": scattered(rows, [0, 1, 2], 0),
        "scatter in any": scattered(rows, [0, 1, 4], -1),
        "scatter in more": scattered(rows, [0, 1, 2], 5),
        "scatter less": scattered(rows, [0, 1], 3),
        "into by a matrix": into(l, rows, [[0, 1, 2]]),
        "into less": into(l, rows, [0, 1, 2, 2]),
        "into another type": into(l, [[1, 2]], [0]),
        "into of a scalar": into(l, 1., [0]),
        "split rows": split(rows, [-1, 3], [1, 2]),
        "split rank": split(rows, [2], [1, 2]),
        "split scalar": split(rows, [], [1, 2]),
        "split of a scalar": split(1., -1, [1]),
        "split any first": split(rows, [4, 2], [1, 2]),
        "split beyond": split(rows, -1, [1, 5]),
        "split less": split(rows, -1, [1]),
        "split negative": split(rows, -1, [-1, 4]),
        "split by a matrix": split(rows, -1, [[1, 2]]),
        "join": stacked(joined(l, l), tf.float32),
        "join batches": [stacked(part, tf.float32) for part in raw.Unpack(
            value=joined(two, two), num=2)],
        "join a batch and a list": raw.Shape(input=joined(two, l)),
        "join other batches": raw.Shape(input=joined(two, one)),
        "join shapes": raw.Shape(input=joined(l, given([-1], rows))),
        "join types": raw.Shape(input=joined(l, ints)),
        "join as ints": raw.Shape(input=joined(l, l, tf.int32)),
        "join no list": raw.Shape(input=joined(
            two, hidden(raw.Pack(values=[l, other])))),
        "join nothing but": raw.Shape(input=joined(other, l)),
    }
    return attempts(side, out, told)


def given(shape, rows):
    """A list of these elements."""
    return hidden(raw.TensorListFromTensor(
        tensor=hidden(np.array(rows, np.float32)), element_shape=hidden(
            np.array(shape, np.int32))))


def write(handle, index, value):
    return hidden(raw.TensorListSetItem(input_handle=handle, index=index,
                                        item=hidden(value)))


def concat(handle, shape=-1, leading=()):
    return list(raw.TensorListConcatV2(
        input_handle=hidden(handle), element_shape=hidden(shape),
        leading_dims=hidden(np.array(leading, np.int64)),
        element_dtype=tf.float32))


def old_concat(handle, shape):
    return list(raw.TensorListConcat(
        input_handle=hidden(handle), element_shape=shape,
        element_dtype=tf.float32))


def gathered(handle, indices):
    return raw.TensorListGather(
        input_handle=handle, indices=hidden(indices), element_shape=hidden(-1),
        element_dtype=tf.float32)


def scattered(rows, indices, count):
    return stacked(hidden(raw.TensorListScatterV2(
        tensor=hidden(rows), indices=hidden(indices), element_shape=hidden(-1),
        num_elements=hidden(count))), tf.float32)


def into(handle, rows, indices):
    return raw.TensorListLength(input_handle=hidden(
        raw.TensorListScatterIntoExistingList(
            input_handle=handle, tensor=hidden(rows), indices=hidden(indices))))


def split(rows, shape, lengths):
    return raw.TensorListLength(input_handle=hidden(raw.TensorListSplit(
        tensor=hidden(rows), element_shape=hidden(np.array(shape, np.int32)),
        lengths=hidden(np.array(lengths, np.int64)))))


def joined(a, b, dtype=tf.float32):
    return hidden(raw.TensorListConcatLists(input_a=a, input_b=b,
                                            element_dtype=dtype))
