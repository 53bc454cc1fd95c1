"""Cases of kernels/state/stack.c."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts, TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops


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


@scenario("Stack StackPush StackPop StackClose")
@fresh_graph
def stacks_by_reference(side):
    """The older ops, whose handle is a reference to two strings."""
    out = {}
    for dtype in TYPES:
        s = raw.Stack(elem_type=dtype)
        values = [tf.constant(sample(dtype, (n,))) for n in (1, 2)]
        first = raw.StackPush(handle=s, elem=values[0])
        second = after([first], lambda: raw.StackPush(handle=s,
                                                      elem=values[1]))
        pop = after([second], lambda: raw.StackPop(handle=s, elem_type=dtype))
        out[dtype.name] = [second, pop, after([pop], lambda: raw.StackPop(
            handle=s, elem_type=dtype))]
    F = tf.float32
    s = raw.Stack(elem_type=F, stack_name="name")
    others = tf.Variable(["no", "stack"], use_resource=False)
    given = after([others.initializer], lambda: tf.assign(
        others, ["_stacks", "name"]))
    out.update({
        "empty": raw.StackPop(handle=s, elem_type=F),
        "closed": after([raw.StackClose(handle=s)], lambda: raw.StackPop(
            handle=s, elem_type=F)),
        "closed twice": after([raw.StackClose(handle=s)], lambda: tf.group(
            raw.StackClose(handle=s))),
        "another type": raw.StackPush(handle=s, elem=hidden(1)),
        "a group": tf.identity(s)[0],
        "no stack": raw.StackPop(handle=given, elem_type=F)})
    return attempts(side, out)
