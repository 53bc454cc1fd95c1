"""What is kept for a while and taken out again: queues, accumulators, arrays and
lists of tensors; and what decides where a tensor goes."""
import tensorflow as tf
from tensorflow.python.ops import data_flow_ops

from tests.bench.op_cases.table import (
    FLOAT, NUMBERS, REALS, Given, made, of, x)

tf1 = tf.compat.v1
raw = tf.raw_ops
LATER = 1 << 40  # a local step that is never too old
PARTS = 16


def then(first, *others):
    """Each after the one before it; the last one's outputs."""
    result = first
    for other in others:
        last = result[-1] if isinstance(result, (list, tuple)) else result
        with tf.control_dependencies([last]):
            result = other()
    return result


def parts(n):
    """As many rows, of n elements together."""
    return x(PARTS, n // PARTS)


def apart(n):
    """The same, each by itself."""
    return [x(n // PARTS) for _ in range(PARTS)]


# ---- Queues ------------------------------------------------------------------

def queue(kind, rows, width):
    """Holds that many rows."""
    shape = [[width]]
    if kind == "shuffle":
        return Given(lambda dtype: tf1.RandomShuffleQueue(
            rows, 0, [dtype], shape, seed=1))
    if kind == "priority":
        return Given(lambda dtype: tf1.PriorityQueue(rows, [dtype], shape))
    maker = {"first": tf1.FIFOQueue, "padding": tf1.PaddingFIFOQueue}[kind]
    return Given(lambda dtype: maker(rows, [dtype], shape))


def many(kind, width):
    return lambda n: [queue(kind, n // width, width), x(n // width, width)]


def through(a, _):
    """All rows at once into the queue, and out."""
    return then(a[0].enqueue_many([a[1]]),
                lambda: a[0].dequeue_many(a[1].shape[0]))


made("queue", "enqueue, dequeue", lambda n: [queue("first", 2, n), x(n)],
     NUMBERS, lambda a, _: then(a[0].enqueue([a[1]]), a[0].dequeue),
     limit=False)
made("queue", "enqueue_many, dequeue_many", {
    "x64": many("first", 64), "x1000": many("first", 1000),
    "padding x64": many("padding", 64), "shuffle x64": many("shuffle", 64)},
    NUMBERS, through, limit=False, heavy=10)
made("queue", "enqueue_many, dequeue_many", {"priority x64": lambda n: [
    queue("priority", n // 64, 64), of("int64", n // 64, low=0, high=99),
    x(n // 64, 64)]}, REALS, lambda a, _: then(
        a[0].enqueue_many([a[1], a[2]]),
        lambda: a[0].dequeue_many(a[1].shape[0])), limit=False, heavy=20)


def keys(count):
    return Given(lambda _: tf.constant(["key%d" % i for i in range(count)]))


def barrier(n):
    return Given(lambda dtype: data_flow_ops.Barrier(
        (dtype,), ((n // PARTS,),)))


made("barrier", "insert_many, take_many", lambda n: [
    barrier(n), keys(PARTS), parts(n)], REALS, lambda a, _: then(
        a[0].insert_many(0, a[1], a[2]),
        lambda: a[0].take_many(PARTS)[2]), limit=False)

# ---- Accumulators ------------------------------------------------------------


def accumulator(sparse=False):
    kind = tf1.SparseConditionalAccumulator if sparse else \
        tf1.ConditionalAccumulator
    return Given(kind)


def dense_sums(a, _):
    add = lambda: a[0].apply_grad(a[1], LATER)  # noqa: E731
    return then(add(), add, add, add, lambda: a[0].take_grad(4))


def sparse_sums(a, _):
    add = lambda: a[0].apply_grad(a[1], a[2], None, LATER)  # noqa: E731
    return then(add(), add, add, add, lambda: list(a[0].take_grad(4)))


made("accumulator", "apply_grad 4, take_grad", lambda n: [
    accumulator(), x(n)], REALS, dense_sums, limit=False, heavy=5)
made("accumulator", "sparse apply_grad 4, take_grad", {"x64": lambda n: [
    accumulator(True), of("int64", n // 64, low=0, high=n // 64),
    x(n // 64, 64)]}, REALS, sparse_sums, limit=False, heavy=10)

# ---- Stacks, arrays, lists ---------------------------------------------------


def pushed(a, dtype):
    stack = raw.StackV2(max_size=9, elem_type=dtype)
    return then(raw.StackPushV2(handle=stack, elem=a[0]),
                lambda: raw.StackPopV2(handle=stack, elem_type=dtype))


made("stack", "push, pop", lambda n: [x(n)], NUMBERS, pushed, limit=False)


def array(dtype, size):
    made_one = raw.TensorArrayV3(size=size, dtype=dtype, dynamic_size=False,
                                 clear_after_read=True)
    return made_one.handle, made_one.flow


def written(a, dtype):
    """Written part by part and read again."""
    handle, flow = array(dtype, PARTS)
    for i, part in enumerate(a[0]):
        flow = raw.TensorArrayWriteV3(handle=handle, index=i, value=part,
                                      flow_in=flow)
    return [raw.TensorArrayReadV3(handle=handle, index=i, flow_in=flow,
                                  dtype=dtype) for i in range(PARTS)]


def scattered(a, dtype):
    count = a[0].shape[0]
    handle, flow = array(dtype, count)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=list(range(count)),
                                    value=a[0], flow_in=flow)
    return raw.TensorArrayGatherV3(handle=handle, indices=list(range(count)),
                                   flow_in=flow, dtype=dtype)


def joined(a, dtype):
    count, width = a[0].shape
    handle, flow = array(dtype, PARTS)
    sizes = [count // PARTS] * (PARTS - 1)
    flow = raw.TensorArraySplitV3(handle=handle, value=a[0], lengths=sizes + [
        count - sum(sizes)], flow_in=flow)
    return list(raw.TensorArrayConcatV3(
        handle=handle, flow_in=flow, dtype=dtype,
        element_shape_except0=[width]))


made("tensor_array", "write, read", {"16": lambda n: [apart(n)]}, NUMBERS,
     written, limit=False, heavy=4)
made("tensor_array_rows", "scatter, gather", {
    "16": lambda n: [parts(n)], "x64": lambda n: [
        x(min(1000, n // 64), max(1, n // 64 // 1000) * 64)]}, NUMBERS,
    scattered, limit=False, heavy=4)
made("tensor_array_rows", "split, concat", {
    "x64": lambda n: [x(max(PARTS, n // 64), 64)]}, NUMBERS, joined,
    limit=False, heavy=4)


def grown(a, dtype):
    """Pushed to the back of a list and popped again."""
    found, shape = [], a[0][0].shape.as_list()
    held = raw.EmptyTensorList(element_shape=shape, max_num_elements=-1,
                               element_dtype=dtype)
    for part in a[0]:
        held = raw.TensorListPushBack(input_handle=held, tensor=part)
    for _ in a[0]:
        held, part = raw.TensorListPopBack(
            input_handle=held, element_shape=shape, element_dtype=dtype)
        found.append(part)
    return found


def replaced(a, dtype):
    shape = a[0][0].shape.as_list()
    held = raw.TensorListReserve(element_shape=shape, num_elements=PARTS,
                                 element_dtype=dtype)
    for i, part in enumerate(a[0]):
        held = raw.TensorListSetItem(input_handle=held, index=i, item=part)
    return [raw.TensorListGetItem(input_handle=held, index=i,
                                  element_shape=shape, element_dtype=dtype)
            for i in range(PARTS)]


def stacked(a, dtype):
    shape = a[0].shape[1:].as_list()
    held = raw.TensorListFromTensor(tensor=a[0], element_shape=shape)
    return raw.TensorListStack(input_handle=held, element_shape=shape,
                               element_dtype=dtype)


def gathered(a, dtype):
    shape, order = a[0].shape[1:].as_list(), list(range(a[0].shape[0]))
    held = raw.TensorListScatterV2(tensor=a[0], indices=order,
                                   element_shape=shape, num_elements=-1)
    return raw.TensorListGather(input_handle=held, indices=order[::-1],
                                element_shape=shape, element_dtype=dtype)


made("tensor_list", "push, pop", {"16": lambda n: [apart(n)]}, NUMBERS, grown,
     limit=False, heavy=4)
made("tensor_list", "set, get", {"16": lambda n: [apart(n)]}, NUMBERS, replaced,
     limit=False, heavy=4)
for title, function in (("from_tensor, stack", stacked),
                        ("scatter, gather", gathered)):
    made("tensor_list_rows", title, {
        "16": lambda n: [parts(n)], "x64": lambda n: [
            x(min(1000, n // 64), max(1, n // 64 // 1000) * 64)]}, NUMBERS,
        function, limit=False, heavy=4)


def wrapped(a, dtype):
    held = raw.OptionalFromValue(components=[a[0]])
    return raw.OptionalGetValue(optional=held, output_types=[dtype],
                                output_shapes=[a[0].shape])


made("optional", "from_value, get_value", lambda n: [x(n)], NUMBERS, wrapped,
     limit=False)

# ---- Decisions ---------------------------------------------------------------


def switched(a, _):
    no, yes = tf1.raw_ops.Switch(data=a[0], pred=a[1])
    return raw.Merge(inputs=[no, yes]).output


def looped(a, _):
    """Ten times round, one addition each."""
    v2 = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        return tf1.while_loop(lambda i, y: i < 10, lambda i, y: (
            i + 1, y + y), [tf.constant(0), a[0]], parallel_iterations=1)[1]
    finally:
        if v2:
            tf1.enable_control_flow_v2()


made("control_flow", "switch, merge", lambda n: [x(n), of("bool")], NUMBERS,
     switched, limit=False)
made("control_flow", "loop of 10", lambda n: [x(n)], REALS, looped, limit=False,
     heavy=10)


def called(a, dtype):
    @tf.function(input_signature=[tf.TensorSpec(a[0].shape, dtype)])
    def twice(y):
        return y + y
    return tf.identity(twice(a[0]))


def chosen(a, dtype):
    spec = [tf.TensorSpec(a[0].shape, dtype)]

    def doubled(y):
        return y + y

    def squared(y):
        return y * y
    yes, no = (tf.function(branch, spec).get_concrete_function()
               for branch in (doubled, squared))
    return raw.If(cond=a[1], input=[a[0]], Tout=[dtype], then_branch=yes,
                  else_branch=no)


made("functional", "call", lambda n: [x(n)], REALS, called, limit=False)
made("functional", "If", lambda n: [x(n), of("bool")], REALS, chosen,
     limit=False)
