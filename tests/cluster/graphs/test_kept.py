"""Reference variables in containers: what is read from one and kept in a queue,
stack, array, list or resource variable shows what was assigned since.

Expected values are those of TensorFlow's own server, which this file passes as
well (--tensorflow)."""
from tests.cluster.client import equal, graph, np, plain_config, tf
from tests.cluster.referring import (NUMBERS, PAIR, R, ROWS, after, check, named,
                                     variable)
from tests.cluster.suite import test


def queue_of(make):
    """Puts a read of v in, and says how it comes out."""
    def put(x):
        h = make(component_types=[tf.float32], shapes=[x.shape],
                 shared_name="kept_%d" % next(NUMBERS))
        return (R.QueueEnqueueV2(handle=h, components=[x]),
                lambda: R.QueueDequeueV2(handle=h, component_types=[tf.float32])[0])
    return put


def priority(x):
    h = R.PriorityQueueV2(component_types=[tf.float32], shapes=[x.shape],
                        shared_name="kept_%d" % next(NUMBERS))
    return (R.QueueEnqueueV2(handle=h, components=[np.int64(1), x]),
            lambda: R.QueueDequeueV2(
                handle=h, component_types=[tf.int64, tf.float32])[1])


def many_out(x):
    h = R.FIFOQueueV2(component_types=[tf.float32], shapes=[x.shape],
                      shared_name="kept_%d" % next(NUMBERS))
    return (R.QueueEnqueueV2(handle=h, components=[x]),
            lambda: R.QueueDequeueManyV2(
                handle=h, n=1, component_types=[tf.float32])[0][0])


def many_in(x):
    h = R.FIFOQueueV2(component_types=[tf.float32], shapes=[x.shape[1:]],
                      shared_name="kept_%d" % next(NUMBERS))
    return (R.QueueEnqueueManyV2(handle=h, components=[x]),
            lambda: R.QueueDequeueManyV2(
                handle=h, n=4, component_types=[tf.float32])[0])


def stack(x):
    h = R.StackV2(max_size=1, elem_type=tf.float32)
    return (R.StackPushV2(handle=h, elem=x),
            lambda: R.StackPopV2(handle=h, elem_type=tf.float32))


def array(read, write=None):
    def put(x):
        h, flow = R.TensorArrayV3(size=1, dtype=tf.float32)
        flow = (write or R.TensorArrayWriteV3)(
            handle=h, value=tf.expand_dims(x, 0) if write else x, flow_in=flow,
            **({"indices": [0]} if write else {"index": 0}))
        return flow, lambda: read(h, flow)
    return put


def array_read(h, flow):
    return R.TensorArrayReadV3(handle=h, index=0, flow_in=flow, dtype=tf.float32)


def array_gather(h, flow):
    return R.TensorArrayGatherV3(handle=h, indices=[0], flow_in=flow,
                                 dtype=tf.float32)[0]


def array_concat(h, flow):
    return R.TensorArrayConcatV3(handle=h, flow_in=flow, dtype=tf.float32)[0]


SHAPE = np.int32(ROWS)


def pushed(x):
    return R.TensorListPushBack(input_handle=R.EmptyTensorList(
        element_shape=SHAPE, max_num_elements=1, element_dtype=tf.float32), tensor=x)


def placed(x):
    return R.TensorListSetItem(input_handle=R.TensorListReserve(
        element_shape=SHAPE, num_elements=1, element_dtype=tf.float32),
        index=0, item=x)


def list_of(put, take):
    def both(x):
        kept = put(x)
        return kept, lambda: take(kept)
    return both


def popped(h):
    return R.TensorListPopBack(input_handle=h, element_shape=SHAPE,
                               element_dtype=tf.float32)[1]


def got(h):
    return R.TensorListGetItem(input_handle=h, index=0, element_shape=SHAPE,
                               element_dtype=tf.float32)


def stacked(h):
    return R.TensorListStack(input_handle=h, element_shape=SHAPE,
                             element_dtype=tf.float32)[0]


def joined(h):
    return R.TensorListConcatV2(
        input_handle=h, element_shape=SHAPE, leading_dims=np.zeros([0], np.int64),
        element_dtype=tf.float32)[0]


def resource(added=0):
    def put(x):
        h = R.VarHandleOp(dtype=tf.float32, shape=x.shape,
                          shared_name="kept_%d" % next(NUMBERS))
        done = R.AssignVariableOp(resource=h, value=x)
        if added:
            done = after(done, lambda: R.AssignAddVariableOp(
                resource=h, value=np.full(ROWS, added, np.float32)))
        return done, lambda: R.ReadVariableOp(resource=h, dtype=tf.float32)
    return put


# What a container holds is the variable's memory.
KEPT = {
    "fifo": queue_of(R.FIFOQueueV2),
    "padding": queue_of(R.PaddingFIFOQueueV2),
    "random": queue_of(R.RandomShuffleQueueV2),
    "priority": priority,
    "many_out": many_out,
    "stack": stack,
    "array_read": array(array_read),
    "array_gather": array(array_gather),
    "array_concat": array(array_concat),
    "list_pop": list_of(pushed, popped),
    "list_get": list_of(pushed, got),
    "list_set": list_of(placed, got),
    "list_stack": list_of(pushed, stacked),
    "list_concat": list_of(pushed, joined),
    "resource": resource(),
}
# Slices are copies, and so is what is written to once more: and what is seen.
UNKEPT = {
    "many_in": (many_in, 1),
    "array_scatter": (array(array_read, R.TensorArrayScatterV3), 1),
    "list_from": (list_of(lambda x: R.TensorListFromTensor(
        tensor=tf.expand_dims(x, 0), element_shape=SHAPE), got), 1),
    "resource_added": (resource(added=2), 3),
}
HELD = {**{name: (put, 7) for name, put in KEPT.items()}, **UNKEPT}
CHANGES = {
    "add": lambda v: v.assign_add(np.full(ROWS, 6, np.float32)),
    "assign": lambda v: v.assign(np.full(ROWS, 7, np.float32)),
    "scatter": lambda v: tf.scatter_update(
        v, [0, 1, 2, 3], np.full(ROWS, 7, np.float32)),
}


def kept(put, change, sees):
    def program():
        v = variable(np.ones(ROWS))
        done, take = put(v.value())
        changed = after(done, lambda: change(v))
        return v, [after(changed, take) + 0], [np.full(ROWS, np.float32(sees))]
    return program


PROGRAMS = tuple(named("%s_%s" % (name, how), kept(put, change, sees))
                 for how, change in CHANGES.items()
                 for name, (put, sees) in HELD.items())


# What is taken out whole is the variable's memory still; rows that are put
# together, and slices, are copies.
COPIED = ("many_out", "array_gather", "array_concat", "list_stack", "list_concat")


def taken(put, change, sees, read=lambda x: x):
    """Takes it out before the variable changes, and looks at it later."""
    def program():
        v = variable(np.ones(ROWS))
        done, take = put(v.value())
        x = read(after(done, take))
        changed = after(x, lambda: change(v))
        return v, [after(changed, lambda: x + 0)], [np.full(ROWS, np.float32(sees))]
    return program


WHOLE = [name for name in KEPT if name not in COPIED]
TAKEN = tuple(named("%s_taken_%s" % (name, how),
                    taken(put, change, 1 if name in COPIED else sees if name in UNKEPT
                          else 7))
              for how, change in CHANGES.items() for name, (put, sees) in HELD.items())
TAKEN += tuple(named("%s_taken_%s" % (name, how), taken(KEPT[name], CHANGES["add"], 7, read))
               for name in WHOLE for how, read in (
                   ("identity", tf.identity),
                   ("row", lambda x: tf.reshape(x[0:4], ROWS)),
                   ("reshape", lambda x: tf.reshape(tf.reshape(x, [-1]), ROWS))))


def relayed(first, second):
    """From one container into another."""
    def program():
        v = variable(np.ones(ROWS))
        done, take = KEPT[first](v.value())
        done, take = KEPT[second](after(done, take))
        x = after(done, take)
        changed = after(x, lambda: v.assign_add(np.full(ROWS, 6, np.float32)))
        return v, [after(changed, lambda: x + 0)], [np.full(ROWS, np.float32(7))]
    return program


def looped(name):
    """Takes it out in a loop that changes the variable: sees 3, 5, 7."""
    def program():
        v = variable(np.ones(ROWS))
        done, take = KEPT[name](v.value())
        start = after(done, lambda: [tf.constant(0), tf.zeros(ROWS)])

        def body(i, total):
            x = after(i, take)
            changed = after(x, lambda: v.assign_add(np.full(ROWS, 2, np.float32)))
            return i + 1, total + after(changed, lambda: x + 0)
        _, total = tf.while_loop(lambda i, _: i < 3, body, start, parallel_iterations=1)
        return v, [total], [np.full(ROWS, np.float32(15))]
    return program


TAKEN += tuple(named("%s_into_%s" % pair, relayed(*pair)) for pair in (
    ("fifo", "stack"), ("stack", "array_read"), ("array_read", "list_get"),
    ("list_pop", "resource"), ("resource", "fifo")))
TAKEN += tuple(named("%s_in_a_loop" % name, looped(name)) for name in (
    "list_get", "resource"))


@test(limit=60, **PAIR)
def what_was_taken_out_follows_its_variable(cluster):
    for program in TAKEN:
        check(cluster, program, "/job:worker")


@test(limit=60, **PAIR)
def a_step_sees_what_changed_since(cluster):
    for program in PROGRAMS:
        check(cluster, program, "/job:worker")


@test(limit=60, **PAIR)
def so_it_does_on_the_ps(cluster):
    for program in PROGRAMS:
        check(cluster, program, "/job:ps", 1 if cluster.server.is_tfd else 5)



@test(limit=60, **PAIR)
def a_later_step_changes_what_a_queue_holds(cluster):
    with graph():
        v = variable(np.ones(ROWS))
        put, take = KEPT["fifo"](v.value())
        taken = take() + 0
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            for step in range(3):
                session.run(put)
                session.run(v.assign_add(np.full(ROWS, 6, np.float32)))
                equal(session.run(taken), np.full(ROWS, 7 + 6 * step, np.float32))


@test(limit=60, **PAIR)
def what_is_kept_is_checked_as_ever(cluster):
    """Of an uninitialized variable nothing is, nor what has a wrong shape."""
    wrong = (
        (stack, True, tf.errors.FailedPreconditionError),
        (KEPT["fifo"], True, tf.errors.FailedPreconditionError),
        (KEPT["array_read"], True, tf.errors.FailedPreconditionError),
        (KEPT["list_get"], True, tf.errors.FailedPreconditionError),
        (KEPT["resource"], True, tf.errors.FailedPreconditionError),
        (KEPT["list_get"], False, tf.errors.InvalidArgumentError),
        (KEPT["list_set"], False, tf.errors.InvalidArgumentError),
    )
    for put, uninitialized, error in wrong:
        with graph():
            v = variable(np.ones(ROWS if uninitialized else [2, 3]))
            done, take = put(v.value() if uninitialized else
                             tf.placeholder_with_default(v.value(), None))
            taken = after(done, take) + 0
            with tf.Session(cluster.target(), config=plain_config()) as session:
                if not uninitialized:
                    session.run(v.initializer)
                try:
                    session.run(taken)
                except error as e:
                    assert not uninitialized or "uninitialized value" in e.message
                else:
                    raise AssertionError("no error")


@test(limit=60, **PAIR)
def what_is_taken_has_the_type_that_it_was_put_in_with(cluster):
    """As a wider one it would be read beyond its end."""
    with graph():
        v = variable(np.ones(ROWS))
        h = R.StackV2(max_size=1, elem_type=tf.float32)
        put = R.StackPushV2(handle=h, elem=v.value())
        x = after(put, lambda: R.StackPopV2(handle=h, elem_type=tf.float64))
        changed = after(x, lambda: v.assign_add(np.ones(ROWS, np.float32)))
        wrong = after(changed, lambda: x + 0)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            try:
                session.run(wrong)
            except tf.errors.InternalError as e:
                assert "of type float does not match declared output type double" in e.message
            else:
                raise AssertionError("no error")
