"""Lists of tensors, optionals, stacks, tensor arrays, functions: stories."""
import itertools

import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import (attempt, fresh_graph, hidden, sample,
                                         told)
from tests.conformance.table import scenario

raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.string,
         tf.float16, tf.bfloat16, tf.complex64, tf.uint8]


def spread(out, name, values):
    """Several values are several cases."""
    if not isinstance(values, (list, tuple)):
        out[name] = values
        return
    for i, value in enumerate(values):
        spread(out, "%s %d" % (name, i), value)


def attempts(side, fetches, run=attempt):
    out = {}
    with side.session() as session:
        for name, tensor in fetches.items():
            spread(out, name, run(session, tensor))
    return out


# What a list holds is hidden, or the client would find the mistakes itself.
def filled(dtype, count=3, shape=(2,)):
    """A list of this many elements."""
    rows = sample(dtype, (count,) + tuple(shape))
    return hidden(raw.TensorListFromTensor(
        tensor=rows, element_shape=np.array(shape, np.int32)))


def stacked(handle, dtype, shape=-1, **more):
    return raw.TensorListStack(input_handle=handle, element_shape=hidden(shape),
                               element_dtype=dtype, **more)


def empty(shape=-1, most=-1, dtype=tf.float32):
    return hidden(raw.EmptyTensorList(
        element_shape=shape, max_num_elements=most, element_dtype=dtype))


def reserved(shape, count, dtype=tf.float32):
    return hidden(raw.TensorListReserve(
        element_shape=hidden(shape), num_elements=hidden(count),
        element_dtype=dtype))


def push(handle, value):
    return raw.TensorListPushBack(input_handle=handle, tensor=hidden(value))


def get(handle, index, dtype=tf.float32, shape=-1):
    return raw.TensorListGetItem(input_handle=handle, index=hidden(index),
                                 element_shape=hidden(shape),
                                 element_dtype=dtype)


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


@scenario("OptionalNone OptionalFromValue OptionalHasValue OptionalGetValue")
@fresh_graph
def optionals(side):
    some = raw.OptionalFromValue(components=[tf.constant([1.0]), "text"])
    none = raw.OptionalNone()

    def value(optional, *types):
        return raw.OptionalGetValue(optional=optional, output_types=types,
                                    output_shapes=[None] * len(types))

    return attempts(side, {
        "has": raw.OptionalHasValue(optional=some),
        "has none": raw.OptionalHasValue(optional=none),
        "value": value(some, tf.float32, tf.string),
        "value of none": value(none, tf.float32),
        "types": value(some, tf.float32, tf.int32),
        "count": value(some, tf.float32),
        "no optional": raw.OptionalHasValue(optional=empty()),
    })


def after(ops, build):
    with tf.control_dependencies(ops):
        return build()


def stack_of(dtype):
    """Name -> what comes out of a stack of this type."""
    s = raw.StackV2(max_size=2, elem_type=dtype)
    values = [tf.constant(sample(dtype, (n,))) for n in (1, 2, 3)]
    first = raw.StackPushV2(handle=s, elem=values[0])
    second = after([first], lambda: raw.StackPushV2(handle=s, elem=values[1]))
    pop = after([second], lambda: raw.StackPopV2(handle=s, elem_type=dtype))
    again = after([pop], lambda: raw.StackPopV2(handle=s, elem_type=dtype))
    name = dtype.name
    return {
        name + " last": pop, name + " both": [pop, again],
        name + " empty": after([again], lambda: raw.StackPopV2(
            handle=s, elem_type=dtype)),
        name + " full": after([second], lambda: raw.StackPushV2(
            handle=s, elem=values[2])),
        name + " closed": after(
            [after([second], lambda: raw.StackCloseV2(handle=s))],
            lambda: raw.StackPopV2(handle=s, elem_type=dtype))}


@scenario("StackV2 StackPushV2 StackPopV2 StackCloseV2")
@fresh_graph
def stacks(side):
    out = {}
    for dtype in TYPES:
        # No GPU holds strings, and who makes a stack does not say its type.
        with tf.device("/cpu:0" if dtype == tf.string else ""):
            out.update(stack_of(dtype))
    return attempts(side, out)


@scenario("TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 "
          "TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3 "
          "TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 "
          "TensorArraySplitV3 TensorArrayGradWithShape")
@fresh_graph
def tensor_arrays(side):
    def array(size=3, dtype=tf.float32, **more):
        return tf.TensorArray(dtype, size, **more)

    def twice(a):
        value = a.read(0)
        with tf.control_dependencies([value]):
            return [value, a.read(0)]

    tf.disable_control_flow_v2()
    rows = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    out = {
        "unstack": array().unstack(rows).stack(),
        "gather": array().unstack(rows).gather([2, 0]),
        "gather 3": array().unstack(rows).gather(hidden([3])),
        "concat": array().unstack(rows).concat(),
        "split": array(2, infer_shape=False).split(rows, [1, 2]).concat(),
        "split 2 of 3": array(2, infer_shape=False).split(
            rows, hidden(np.array([1, 1], np.int64))).flow,
        "split to 4": array(4, infer_shape=False).split(
            rows, [1, 1, 1]).concat(),
        "split to 1": array(1, infer_shape=False).split(rows, [1, 2]).flow,
        "split and more": array(
            1, dynamic_size=True, infer_shape=False).split(
                rows, [1, 2]).write(2, rows).concat(),
        "size": array().size(),
        "dynamic": array(0, dynamic_size=True).write(2, 1.0).size(),
        "write 3": array().write(hidden(3), 1.0).flow,
        "write -1": array().write(hidden(-1), 1.0).flow,
        "write twice": array().write(0, 1.0).write(0, 2.0).flow,
        "write two shapes": array(element_shape=[2]).write(
            0, hidden([1.0])).flow,
        "read 7": array().read(hidden(7)),
        "read unset": array(element_shape=[2]).read(1),
        "read unset, no shape": array().read(1),
        "read twice": twice(array().unstack(rows)),
        "keep": twice(array(clear_after_read=False).unstack(rows)),
        "size -1": raw.TensorArrayV3(size=hidden(-1), dtype=tf.float32).flow,
    }
    a = array(clear_after_read=False).unstack(rows)
    out["gradient"] = tf.gradients(a.read(0) * 2.0 + a.read(2) + a.read(0),
                                   rows)
    out["of concat"] = tf.gradients(array().unstack(rows).concat() * 2.0, rows)
    out["of split"] = tf.gradients(
        array(2, infer_shape=False).split(rows, [1, 2]).read(1) * 3.0, rows)
    a = array(2, dynamic_size=True, infer_shape=False).split(rows, [1, 2])
    a = a.write(2, rows[:1] * 2.0)
    out["of split and more"] = tf.gradients([a.read(1) * 3.0, a.read(2)], rows)
    return attempts(side, out)


@scenario("If StatelessIf While StatelessWhile Case StatelessCase "
          "PartitionedCall StatefulPartitionedCall _SwitchN FakeParam "
          "SymbolicGradient")
@fresh_graph
def functional_control_flow(side):
    """As the client lowers them; tests/cluster/graphs/test_functions.py has more."""
    tf.enable_control_flow_v2()
    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])

    @tf.function
    def f(a):
        return a * a + 1.0, a - 1.0

    loop = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, f(y)[0] * x),
                         [0, x])
    cond = tf.cond(x > 1.0, lambda: f(x), lambda: (x, x * 3.0))
    case = tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: f(x)[1]])
    fetches = {"loop": loop, "cond": cond, "case": case, "call": f(x)}
    for name in ("loop", "cond", "case"):
        last = tf.nest.flatten(fetches[name])[-1]
        fetches["d " + name] = tf.gradients(last, x)
    tf.disable_control_flow_v2()
    out = {}
    with side.session() as session:
        for a, b in itertools.product((0.5, 2.0), (0, 1, 3)):
            for name, fetch in fetches.items():
                spread(out, "%s %s %s" % (name, a, b),
                       attempt(session, fetch, {x: a, n: b}))
    return out


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
