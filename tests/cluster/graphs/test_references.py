"""Reference variables: what a step sees of its own assignments.

What is read from one shares its memory in TensorFlow, so who consumes it, in
loops and branches too, and the client who fetches it, see what was assigned
since.  Expected values are those of TensorFlow's own server, which this file
passes as well (--tensorflow)."""
from tests.cluster.client import equal, graph, np, plain_config, tf
from tests.cluster.referring import PAIR, R, ROWS, after, check, named, variable
from tests.cluster.suite import test


def loop(body, condition=lambda i: i < 4):
    """body() in each iteration, one iteration after the other."""
    return tf.while_loop(condition, lambda i: after(body(), lambda: i + 1),
                         [tf.constant(0)], parallel_iterations=1,
                         maximum_iterations=20)


def squares():
    """The read is outside of the loop, what it reads changes inside."""
    v = variable(2)
    done = loop(lambda: v.assign(tf.square(v)))
    return v, [done, after(done, v.read_value)], [4, 65536]


def doubles():
    v = variable(1)
    read = v.value()
    done = loop(lambda: v.assign_add(read))
    return v, [done, after(done, v.read_value)], [4, 16]


def condition_sees_the_body():
    v = variable(0)
    done = loop(lambda: v.assign_add(1), lambda i: tf.less(v, 3.0))
    return v, [done], [3]


def nested():
    v = variable(0)
    done = loop(lambda: loop(lambda: v.assign(v + 1)))
    return v, [done, after(done, v.read_value)], [4, 16]


def branch():
    """A conditional passes the memory on, not what was in it."""
    v = variable([1, 2])
    side = tf.cond(tf.placeholder_with_default(True, []),
                   lambda: tf.identity(v.value()), lambda: v.value() + 0)
    assigned = after(side, lambda: v.assign([5, 6]))
    return v, [after(assigned, lambda: side + 0)], [np.float32([5, 6])]


def assigned_before_the_loop():
    """An assignment that the loop waits for, made after the read."""
    v = variable(1)
    read = tf.identity(v)
    assigned = after(read, lambda: v.assign(10))
    seen = after(assigned, lambda: tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + read),
        [tf.constant(0), tf.constant(0.0)]))
    return v, [seen[1]], [30]


def fetched():
    v = variable([1, 2])
    read = tf.identity(v)
    assigned = after(read, lambda: v.assign([7, 8]))
    return v, [read, assigned], [np.float32([7, 8])] * 2


def fetched_twice():
    v = variable([1, 2])
    first = v.assign([7, 8])
    second = after(first, lambda: v.assign_add([1, 1]))
    return v, [first, second, first.op], [np.float32([8, 9])] * 2 + [None]


def computed():
    """A value that was computed from a read is one of its own."""
    v = variable([1, 2])
    negative = -v
    assigned = after(negative, lambda: v.assign([7, 8]))
    return v, [negative, assigned], [np.float32([-1, -2]),
                                     np.float32([7, 8])]


def carried():
    """What a loop carries on is a value once it was computed."""
    v = variable(1)
    done = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, after(v.assign_add(1), lambda: s + v)),
        [tf.constant(0), tf.constant(0.0)], parallel_iterations=1)
    return v, [done[1]], [2 + 3 + 4]


def reshaped(shape, make, sees=7):
    """Sees what is assigned after it was made, in its own shape."""
    def program():
        v = variable(np.ones(shape))
        kept = make(v.value())
        kept = kept if isinstance(kept, list) else [kept]
        assigned = after(kept, lambda: v.assign_add(np.full(shape, 6)))
        return v, [after(assigned, lambda: k + 0) for k in kept], [
            np.full(k.shape.as_list(), np.float32(sees)) for k in kept]
    return program


RESHAPED = {
    "reshape": ([4], lambda x: tf.reshape(x, [2, 2])),
    "reshape_twice": ([4], lambda x: tf.reshape(tf.reshape(x, [2, 2]), [1, 4])),
    "squeeze": ([1, 2], tf.squeeze),
    "expand_dims": ([2], lambda x: tf.expand_dims(x, 0)),
    "stop_gradient": ([2], tf.stop_gradient),
    "check_numerics": ([2], lambda x: tf.debugging.check_numerics(x, "no")),
    "placeholder": ([2], lambda x: tf.placeholder_with_default(x, [2])),
}


NONE = np.zeros([0], np.int32)
PADS = [[0, 0], [0, 0]]

# What has nothing to do, and whole rows.
SHARED = {
    "split": ([4, 3], lambda x: list(R.Split(axis=1, value=x, num_split=1))),
    "split_rows": (ROWS, lambda x: list(
        R.Split(axis=0, value=x, num_split=2))),
    "split_v": ([4, 3], lambda x: list(
        R.SplitV(value=x, size_splits=[4], axis=0, num_split=1))),
    "split_v_rows": (ROWS, lambda x: list(
        R.SplitV(value=x, size_splits=[1, 0, 3], axis=0, num_split=3))),
    "pack": ([4, 3], lambda x: R.Pack(values=[x], axis=1)),
    "unpack_rows": (ROWS, lambda x: list(R.Unpack(value=x, num=4, axis=0))),
    "tile": ([4, 3], lambda x: R.Tile(input=x, multiples=[1, 1])),
    "pad": ([4, 3], lambda x: R.Pad(input=x, paddings=PADS)),
    "pad_v2": ([4, 3], lambda x: R.PadV2(
        input=x, paddings=PADS, constant_values=np.float32(5))),
    "mirror_pad": ([4, 3], lambda x: R.MirrorPad(
        input=x, paddings=PADS, mode="REFLECT")),
    "slice": ([4, 3], lambda x: R.Slice(input=x, begin=[0, 0], size=[-1, -1])),
    "slice_rows": (ROWS, lambda x: R.Slice(
        input=x, begin=[1, 0], size=[2, 16])),
    "slice_vector": ([64], lambda x: R.Slice(
        input=x, begin=[16], size=[32])),
    "strided_rows": (ROWS, lambda x: x[1:3]),
    "strided_row": (ROWS, lambda x: x[2]),
    "strided_new": (ROWS, lambda x: x[1:3, tf.newaxis]),
    "strided_vector": ([64], lambda x: x[16:]),
    "rows_of_rows": (ROWS, lambda x: tf.reshape(x[1:3][1:2], [-1])),
    "add_n": ([4, 3], lambda x: R.AddN(inputs=[x])),
    "cast": ([4, 3], lambda x: R.Cast(x=x, DstT=tf.float32)),
    "transpose": ([4, 1, 3], lambda x: R.Transpose(x=x, perm=[1, 0, 2])),
    "space_batch": ([1, 4, 4, 2], lambda x: R.SpaceToBatchND(
        input=x, block_shape=[1, 1], paddings=PADS)),
    "batch_space": ([1, 4, 4, 2], lambda x: R.BatchToSpaceND(
        input=x, block_shape=[1, 1], crops=PADS)),
    "sum_of_none": ([4, 3], lambda x: R.Sum(input=x, axis=NONE)),
    "mean_of_one": ([4, 1], lambda x: R.Mean(input=x, axis=[1])),
    "max_of_one": ([1, 3], lambda x: R.Max(input=x, axis=[0])),
    "band": ([4, 3], lambda x: R.MatrixBandPart(
        input=x, num_lower=-1, num_upper=3)),
    "check_numerics_v2": ([4, 3], lambda x: R.CheckNumericsV2(
        tensor=x, message="no")),
}
# Values of their own: parts that are not aligned, and what does something.
COPIED = {
    "split_columns": (ROWS, lambda x: list(
        R.Split(axis=1, value=x, num_split=2))),
    "split_short_rows": ([4, 3], lambda x: list(
        R.Split(axis=0, value=x, num_split=2))),
    "split_vector": ([64], lambda x: list(
        R.Split(axis=0, value=x, num_split=2))),
    "pack_two": ([4, 3], lambda x: R.Pack(values=[x, x], axis=0)),
    "unpack_columns": ([16, 1], lambda x: list(
        R.Unpack(value=x, num=1, axis=1))),
    "unpack_short_rows": ([1, 3], lambda x: list(
        R.Unpack(value=x, num=1, axis=0))),
    "slice_columns": (ROWS, lambda x: R.Slice(
        input=x, begin=[0, 0], size=[4, 8])),
    "slice_short_rows": ([4, 3], lambda x: R.Slice(
        input=x, begin=[1, 0], size=[2, 3])),
    "slice_vector_within": ([64], lambda x: R.Slice(
        input=x, begin=[1], size=[16])),
    "strided_backwards": (ROWS, lambda x: x[::-1]),
    "strided_steps": (ROWS, lambda x: x[::2]),
    "strided_element": ([64], lambda x: x[16]),
    "concat": ([4, 3], lambda x: R.ConcatV2(
        values=[x, tf.zeros([0, 3])], axis=0)),
    "transpose_two": ([4, 3], lambda x: R.Transpose(x=x, perm=[1, 0])),
    "sum_of_rows": (ROWS, lambda x: R.Sum(input=x, axis=[0]) / 4),
    "gather": (ROWS, lambda x: R.GatherV2(
        params=x, indices=[0, 1, 2, 3], axis=0)),
}


def reshaped_copy():
    """Snapshot copies, and what was computed is a value of its own."""
    v = variable([1, 2])
    copied = tf.raw_ops.Snapshot(input=v.value())
    computed = tf.reshape(v + 1, [2, 1])
    assigned = after([copied, computed], lambda: v.assign([7, 8]))
    return v, [copied, computed, assigned], [
        np.float32([1, 2]), np.float32([[2], [3]]), np.float32([7, 8])]


def reshaped_gradient():
    v = variable([1, 2])
    kept = tf.reshape(v.value(), [1, 2])
    assigned = after(kept, lambda: tf.raw_ops.ApplyGradientDescent(
        var=v._ref(), alpha=1.0, delta=[1.0, 1.0]))
    return v, [after(assigned, lambda: kept + 0)], [np.float32([[0, 1]])]


def reshaped_in_a_loop():
    v = variable([2, 3])
    kept = tf.reshape(v.value(), [2, 1])
    done = loop(lambda: v.assign(tf.reshape(kept * 2, [2])))
    return v, [done, after(done, lambda: kept + 0)], [
        4, np.float32([[32], [48]])]


def reshaped_in_a_branch():
    v = variable([1, 2])
    read = v.value()
    side = tf.cond(tf.placeholder_with_default(True, []),
                   lambda: tf.reshape(read, [2, 1]),
                   lambda: tf.reshape(read, [2, 1]) + 0)
    assigned = after(side, lambda: v.assign([7, 8]))
    return v, [after(assigned, lambda: side + 0)], [np.float32([[7], [8]])]


def assign(v, value):
    """Of any shape."""
    return tf.raw_ops.Assign(ref=v._ref(), value=np.float32(value),
                             validate_shape=False, use_locking=True)


def grown():
    """More elements are other memory: earlier reads keep theirs."""
    v = variable([1, 2], any_shape=True)
    read = tf.identity(v.value())
    kept = tf.reshape(read, [2, 1])
    first = after(kept, lambda: v.assign_add([4, 4]))
    grows = after(first, lambda: assign(v, [7, 8, 9]))
    return v, [after(grows, lambda: read + 0), after(grows, lambda: kept + 0),
               after(grows, lambda: v.read_value() + 0)], [
        np.float32([5, 6]), np.float32([[5], [6]]), np.float32([7, 8, 9])]


def grown_and_shrunk():
    v = variable([1, 2], any_shape=True)
    read = tf.identity(v.value())
    grows = after(read, lambda: assign(v, [5, 6, 7]))
    back = after(grows, lambda: assign(v, [8, 9]))
    return v, [after(back, lambda: read + 0), back], [
        np.float32([1, 2]), np.float32([8, 9])]


def assigned_another_shape():
    """As many elements are the same memory, whatever its shape."""
    v = variable([1, 2], any_shape=True)
    read = tf.identity(v.value())
    turned = after(read, lambda: assign(v, [[5, 6]]))
    return v, [after(turned, lambda: read + 0), turned], [
        np.float32([5, 6]), np.float32([[5, 6]])]


def assigned_what_was_computed():
    """It is copied: the variable keeps its memory."""
    v = variable([1, 2])
    read = tf.identity(v.value())
    fresh = tf.square(tf.placeholder_with_default(np.float32([5, 6]), [2]))
    assigned = after([read, fresh], lambda: v.assign(fresh))
    added = after(assigned, lambda: v.assign_add([1, 1]))
    return v, [after(added, lambda: read + 0)], [np.float32([26, 37])]


def fetched_reshaped():
    v = variable([1, 2])
    kept = tf.reshape(v.value(), [2, 1])
    assigned = after(kept, lambda: v.assign([7, 8]))
    return v, [kept, assigned], [np.float32([[7], [8]]), np.float32([7, 8])]


def fetched_of_another_shape():
    v = variable([1, 2], any_shape=True)
    read = tf.identity(v.value())
    turned = after(read, lambda: assign(v, [[5, 6]]))
    grows = after(turned, lambda: assign(v, [7, 8, 9]))
    return v, [read, grows], [np.float32([5, 6]), np.float32([7, 8, 9])]


PROGRAMS = (squares, doubles, condition_sees_the_body, nested, branch,
            assigned_before_the_loop, fetched, fetched_twice, computed,
            carried, reshaped_copy, reshaped_gradient, reshaped_in_a_loop,
            reshaped_in_a_branch, grown, grown_and_shrunk,
            assigned_another_shape, assigned_what_was_computed,
            fetched_reshaped, fetched_of_another_shape) + tuple(
                named("reshaped_" + name, reshaped(*row))
                for name, row in {**RESHAPED, **SHARED}.items()) + tuple(
                    named("reshaped_" + name, reshaped(*row, sees=1))
                    for name, row in COPIED.items())


@test(limit=60, **PAIR)
def a_step_sees_what_it_assigned(cluster):
    for program in PROGRAMS:
        check(cluster, program, "/job:worker")


@test(limit=60, **PAIR)
def so_it_does_on_the_ps(cluster):
    """What is fetched from there is read when the client's task asks for it,
    which in TensorFlow is before the assignment now and then."""
    for program in PROGRAMS:
        check(cluster, program, "/job:ps", 1 if cluster.server.is_tfd else 5)


@test(limit=60, **PAIR)
def what_takes_long_does_not_delay_what_is_sent(cluster):
    """It is read before an assignment that is far away."""
    with graph(), tf.device("/job:ps"):
        v = variable([1, 2])
        read = tf.identity(v)
        x = after(read, lambda: tf.fill([800, 800], tf.placeholder_with_default(
            np.float32(1 / 800), [])))
        for _ in range(4):
            x = tf.matmul(x, x)
        assigned = after(tf.reduce_sum(x), lambda: v.assign([7, 8]))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for step in range(6):
                session.run(v.initializer)
                got = session.run([read, assigned])
                equal(got[1], np.float32([7, 8]))
                if step > 2:  # what is new is not known to take long
                    equal(got[0], np.float32([1, 2]))


@test(limit=60, **PAIR)
def a_fetched_value_stays_as_it_was(cluster):
    with graph():
        v = variable([1, 2])
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            before = session.run(v)
            session.run(v.assign([5, 6]))
            equal(before, np.float32([1, 2]))
            equal(session.run(v), np.float32([5, 6]))


@test(limit=60, **PAIR)
def a_failed_step_leaves_what_it_assigned(cluster):
    with graph():
        v = variable([1, 2])
        assigned = v.assign([5, 6])
        bad = after(assigned, lambda: tf.debugging.Assert(False, ["no"]))
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(v.initializer)
            try:
                session.run([v, assigned, bad])
            except tf.errors.InvalidArgumentError:
                equal(session.run(v), np.float32([5, 6]))
            else:
                raise AssertionError("no error")
