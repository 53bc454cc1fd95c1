"""Feeds and fetches: every type, odd shapes, large and unusual ones."""
from tests.cluster.client import (TensorProto, equal, expect, graph, np, run,
                                  tf)
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
TYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16,
         tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
         tf.bool, tf.complex64, tf.complex128, tf.string, tf.qint8,
         tf.quint8, tf.qint16, tf.quint16, tf.qint32]
SHAPES = [(), (1,), (5,), (2, 3), (0,), (3, 0, 2), (1, 1, 1, 4)]
WORDS = [b"", b"a", b"\x00\xff\x00", b"long" * 5000, "\u00e9".encode()]


def sample(dtype, dims):
    count = int(np.prod(dims))
    if dtype == tf.string:
        words = [WORDS[i % len(WORDS)] for i in range(count)]
        return np.array(words, object).reshape(dims)
    if dtype == tf.bool:
        return (np.arange(count) % 3 == 0).reshape(dims)
    values = np.arange(count).astype(dtype.as_numpy_dtype).reshape(dims)
    return values * (1 + 2j) if dtype.is_complex else values


def plain(value):
    """Quantised arrays come back as plain integers."""
    return value[value.dtype.names[0]] if value.dtype.names else value


@test(**PAIR)
def every_type_and_shape_goes_to_the_ps_and_back(cluster):
    for dtype in TYPES:
        with graph():
            feeds, fetches = {}, []
            for i, dims in enumerate(SHAPES):
                p = tf.placeholder(dtype, dims if i % 2 else None)
                feeds[p] = sample(dtype, dims)
                with tf.device("/job:ps"):
                    there = tf.raw_ops.Identity(input=p)
                with tf.device("/job:worker/task:1"):
                    fetches.append(tf.raw_ops.Identity(input=there))
            got = run(cluster.target(), fetches, feeds)
            for value, sent in zip(got, feeds.values()):
                want = plain(sent)
                equal(value.astype(want.dtype) if dtype.is_complex else value,
                      want.astype(dtype.as_numpy_dtype)
                      if dtype.is_complex else want)


@test(**PAIR)
def large_tensors_go_both_ways(cluster):
    """24 MB a feed and a fetch, through both remote tasks."""
    with graph():
        p = tf.placeholder(tf.float32, [None])
        with tf.device("/job:ps"):
            doubled = p * 2
        with tf.device("/job:worker/task:1"):
            result = doubled + 1
        x = np.arange(6 << 20, dtype=np.float32)
        with tf.Session(cluster.target()) as session:
            for _ in range(3):
                equal(session.run(result, {p: x}), x * 2 + 1)


@test(**PAIR)
def a_graph_with_large_constants_is_accepted(cluster):
    x = np.arange(2 << 20, dtype=np.float32)
    with graph():
        with tf.device("/job:ps"):
            c = tf.constant(x)
        with tf.Session(cluster.target()) as session:
            assert session.run(tf.reduce_max(c)) == len(x) - 1
            late = tf.constant(x + 1)  # goes in an extension
            assert session.run(tf.reduce_max(late)) == len(x)


@test(**PAIR)
def many_feeds_and_fetches_in_one_step(cluster):
    with graph():
        ps = [tf.placeholder(tf.int64, []) for _ in range(300)]
        sums = []
        for i, p in enumerate(ps):
            with tf.device("/job:ps" if i % 2 else "/job:worker/task:1"):
                sums.append(p + i)
        feeds = {p: 1000 * i for i, p in enumerate(ps)}
        assert run(cluster.target(), sums, feeds) == [
            1001 * i for i in range(300)]


@test(**PAIR)
def any_tensor_can_be_fed(cluster):
    with graph():
        with tf.device("/job:ps"):
            v = tf.Variable(3.0, use_resource=True)
            square = tf.square(v.read_value())
            parts = tf.split(tf.constant([1.0, 2.0, 3.0, 4.0]), 2)
        y = square + 1
        z = parts[0] + parts[1]
        with tf.Session(cluster.target()) as session:
            session.run(v.initializer)
            assert session.run(y) == 10.0
            assert session.run(y, {square: 5.0}) == 6.0
            assert session.run([y, square], {square: 7.0}) == [8.0, 7.0]
            equal(session.run(z, {parts[1]: [10.0, 20.0]}),
                  np.float32([11, 22]))
            assert session.run(y) == 10.0


@test(**PAIR)
def structures_duplicates_and_ops_are_fetched(cluster):
    with graph():
        a, b = tf.constant(1), tf.constant([2, 3])
        with tf.device("/job:ps"):
            c = tf.identity(b)
        got = run(cluster.target(), {"x": [a, a, c], "y": (c, c.op), "z": b})
        assert got["x"][:2] == [1, 1] and got["y"][1] is None
        equal(got["x"][2], np.int32([2, 3]))
        equal(got["y"][0], got["z"])


@test(**PAIR)
def a_reference_is_fetched_as_its_value(cluster):
    with graph():
        with tf.device("/job:ps"):
            v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.int32,
                                      shared_name="fetched_ref")
            assign = tf.raw_ops.Assign(ref=v, value=[1, 2])
            add = tf.raw_ops.AssignAdd(ref=v, value=[10, 10])
        with tf.Session(cluster.target()) as session:
            equal(session.run(assign), np.int32([1, 2]))
            equal(session.run(add), np.int32([11, 12]))
            equal(session.run(v), np.int32([11, 12]))


@test(**PAIR)
def one_plan_serves_changing_shapes(cluster):
    with graph():
        p = tf.placeholder(tf.float32, [None, None])
        with tf.device("/job:ps"):
            total = tf.reduce_sum(p, 0)
        with tf.Session(cluster.target()) as session:
            for rows, columns in ((1, 1), (5, 2), (0, 3), (3, 0), (400, 300)):
                got = session.run(total, {p: np.ones((rows, columns))})
                equal(got, np.full(columns, rows, np.float32))


@test(**PAIR)
def placeholders_with_defaults_take_both(cluster):
    with graph():
        with tf.device("/job:ps"):
            default = tf.constant([1.0, 2.0])
        p = tf.placeholder_with_default(default, [None])
        y = p * 2
        equal(run(cluster.target(), y), np.float32([2, 4]))
        equal(run(cluster.target(), y, {p: [5.0]}), np.float32([10]))


def bool_proto(*data):
    proto = TensorProto(dtype=tf.bool.as_datatype_enum,
                        tensor_content=bytes(data))
    proto.tensor_shape.dim.add(size=len(data))
    return proto


@test(**PAIR)
def bytes_that_are_no_bools_are_refused(cluster):
    """As content of a constant and of a feed; small and large."""
    for size in (3, 100000):
        data = np.zeros(size, np.uint8)
        data[-1] = 2
        with graph() as g, tf.device("/job:ps"):
            bad = g.create_op("Const", [], [tf.bool], name="bad", attrs={
                "dtype": tf.AttrValue(type=tf.bool.as_datatype_enum),
                "value": tf.AttrValue(tensor=bool_proto(*data))}).outputs[0]
            fed = tf.placeholder(tf.bool, [None])
            count = tf.reduce_sum(tf.cast(fed, tf.int32))
            with expect(tf.errors.InvalidArgumentError,
                        "Cannot parse tensor from proto"):
                run(cluster.target(), bad.op)
            with expect(tf.errors.InvalidArgumentError,
                        "Invalid TensorProto for feed value 0"):
                run(cluster.target(), count, {fed: data.view(bool)})
            equal(run(cluster.target(), count, {fed: data == 2}), np.int32(1))


@test(**PAIR)
def any_other_byte_of_a_decoded_bool_is_true(cluster):
    with graph(), tf.device("/job:ps"):
        raw = tf.decode_raw(tf.constant(b"\x00\x01\x02\xff"), tf.bool)
        got = run(cluster.target(), tf.cast(raw, tf.float32))
        equal(got, np.float32([0, 1, 1, 1]))
