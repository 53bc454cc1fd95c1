"""Shapes of more than 8 dimensions: what takes them is compared with
TensorFlow in tests/conformance/cases/layout/long_shape.py; here is what does
not, or comes from elsewhere.  Nothing of it may end the server."""
from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test

raw = tf.raw_ops
RANK = 10


def long(dtype=np.float32):
    value = np.arange(2 ** RANK, dtype=dtype).reshape((2,) * RANK)
    return tf.placeholder_with_default(value, None)


def in_a_queue():
    q = tf.queue.FIFOQueue(2, [tf.float32])
    return q.enqueue([long()])


def in_a_list():
    handle = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1,
                                 element_dtype=tf.float32)
    return raw.TensorListPushBack(input_handle=handle, tensor=long())


def in_a_tensor_array():
    a = tf.TensorArray(tf.float32, 2, infer_shape=False)
    return a.write(0, long()).flow


def convolved():
    return raw.Conv2D(input=long(), filter=tf.ones((1, 1, 1, 1)),
                      strides=[1, 1, 1, 1], padding="SAME")


def by_rows_of_a_variable():
    v = tf.get_variable("rows", (2,) * RANK, use_resource=True,
                        initializer=tf.ones_initializer())
    return raw.ResourceGather(resource=v.handle, indices=[0],
                              dtype=tf.float32)


def undeclared():
    v = raw.VarHandleOp(dtype=tf.float32, shape=None, shared_name="any_rank")
    return raw.AssignVariableOp(resource=v, value=long())


def ones(dtype=np.int32):
    return tf.placeholder_with_default(np.ones((1,) * RANK, dtype), None)


def short(*shape):
    return tf.placeholder_with_default(np.ones(shape, np.float32), None)


# Long where the op has no use for it: a number, sizes, the smaller operand.
MISPLACED = {
    "sizes of Fill": lambda: raw.Fill(dims=ones(), value=1.0),
    "value of Fill": lambda: raw.Fill(dims=[2], value=ones()),
    "shape": lambda: raw.RandomUniform(shape=ones(), dtype=tf.float32),
    "target": lambda: raw.BroadcastTo(input=short(), shape=ones()),
    "sizes": lambda: raw.Reshape(tensor=short(), shape=ones()),
    "segments": lambda: raw.SegmentSum(data=short(3, 2), segment_ids=ones()),
    "all segments": lambda: raw.UnsortedSegmentSum(
        data=short(3, 2), segment_ids=ones(), num_segments=2),
    "how many segments": lambda: raw.UnsortedSegmentSum(
        data=short(3, 2), segment_ids=[0, 1, 1], num_segments=ones()),
    "indices of rows": lambda: raw.SparseSegmentSum(
        data=short(3, 2), indices=ones(), segment_ids=[0]),
    "splits": lambda: raw.SplitV(value=short(3, 2), size_splits=ones(),
                                 axis=0, num_split=1)[0],
    "k": lambda: raw.TopKV2(input=short(3), k=ones())[0],
    "biases": lambda: raw.BiasAdd(value=short(), bias=ones(np.float32)),
    "diagonal": lambda: raw.MatrixSetDiag(input=short(3),
                                          diagonal=ones(np.float32)),
    "right side": lambda: raw.MatrixSolve(matrix=short(),
                                          rhs=ones(np.float32)),
    "factor": lambda: raw.BatchMatMulV2(x=short(), y=ones(np.float32)),
    "depth": lambda: raw.OneHot(indices=[0, 1], depth=ones(), on_value=1.0,
                                off_value=0.0),
    "axes": lambda: raw.Sum(input=short(), axis=ones()),
    "permutation": lambda: raw.Transpose(x=short(2, 3), perm=ones()),
    "multiples": lambda: raw.Tile(input=short(2), multiples=ones()),
    "begin": lambda: raw.Slice(input=short(2), begin=ones(), size=ones()),
    "strides": lambda: raw.StridedSlice(input=short(2), begin=ones(),
                                        end=ones(), strides=ones()),
    "params": lambda: raw.GatherNd(params=short(), indices=ones()),
    "partitions": lambda: raw.DynamicPartition(
        data=short(), partitions=ones(), num_partitions=2)[0],
    "indices to stitch": lambda: raw.DynamicStitch(
        indices=[ones()], data=[short(3)]),
    "names": lambda: raw.SaveV2(
        prefix="/nonexistent/x", tensor_names=tf.as_string(ones()),
        shape_and_slices=tf.as_string(ones()), tensors=[short(2)]),
}
REFUSED = {
    "QueueEnqueueV2": in_a_queue,
    "TensorListPushBack": in_a_list,
    "TensorListSetItem": in_a_tensor_array,
    "Conv2D": convolved,
    "ResourceGather": by_rows_of_a_variable,
    "declared": undeclared,
}


@test(ps=1, worker=1)
def ops_that_take_none_say_so(cluster):
    for words, make in REFUSED.items():
        with graph(), tf.device("/job:ps/task:0"):
            fetch = make()
            with tf.Session(cluster.target()) as session:
                session.run(tf.global_variables_initializer())
                with expect(tf.errors.UnimplementedError, words):
                    session.run(fetch)
    with graph(), tf.Session(cluster.target()) as session:
        assert session.run(tf.constant(7)) == 7


@test(ps=1, worker=1)
def operands_that_nobody_looks_for_are_refused(cluster):
    with graph(), tf.device("/job:ps/task:0"):
        fetches = {name: make() for name, make in MISPLACED.items()}
        with tf.Session(cluster.target()) as session:
            session.run(long())
            for name, fetch in fetches.items():
                with expect((tf.errors.InvalidArgumentError,
                             tf.errors.UnimplementedError)):
                    session.run(fetch)
                    print("%s was taken" % name)


@test(ps=1, worker=1)
def values_cross_tasks(cluster):
    with graph():
        with tf.device("/job:ps/task:0"):
            x = long() + 1
        with tf.device("/job:worker/task:0"):
            y = tf.transpose(x) * 2
        with tf.device("/job:ps/task:0"):
            z = tf.reduce_sum(y, axis=list(range(0, RANK, 2)))
        with tf.Session(cluster.target()) as session:
            got = session.run([y, z])
    want = (np.arange(2 ** RANK, dtype=np.float32) + 1).reshape((2,) * RANK)
    want = want.transpose() * 2
    assert np.array_equal(got[0], want)
    assert np.array_equal(got[1], want.sum(axis=tuple(range(0, RANK, 2))))
