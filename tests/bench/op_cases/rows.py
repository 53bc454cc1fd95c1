"""Rows that are picked, added and put elsewhere: gather, scatter, segments."""
import tensorflow as tf

from tests.bench.op_cases.table import (
    FLOAT, INTS, ITEMS, NUMBERS, REALS, STRING, const, handle, ids, of, ordered,
    ref, row, stored, x)

WIDTHS = (1, 3, 7, 64)


def picked(n, width):
    """A table of n / width rows, and as many indices."""
    return x(n // width, width), ids(n // width, top=n // width)


def moved(n, item):
    return 2 * n * item


row("gather", "GatherV2", {
    "": lambda n: [x(n), ids(n, top=n), 0], **{
        "x%d" % w: lambda n, w=w: [*picked(n, w), 0] for w in WIDTHS},
    "columns": lambda n: [x(n // 64, 64), ids(32, top=64), 1]},
    ITEMS + ("complex64",), bytes=moved)
row("gather", "GatherV2", {"string": lambda n: [x(n // 4), ids(
    n // 4, top=n // 4), 0]}, STRING, limit=False, heavy=10)
row("gather", "ResourceGather", {
    "x64": lambda n: [handle(n // 64, 64), ids(n // 64, top=n // 64)]}, REALS,
    {"dtype": "T"}, bytes=moved)
row("gather_nd", "GatherNd", {
    "": lambda n: [x(64, n // 64), ids(n // 2, 2, top=15)],
    "x64": lambda n: [x(n // 64, 64), ids(n // 64, 1, top=n // 64)]}, NUMBERS,
    bytes=moved)
row("scatter_nd", "ScatterNd", {
    "": lambda n: [ids(n, 1, top=n), x(n), [n]],
    "x64": lambda n: [ids(n // 64, 1, top=n // 64), x(n // 64, 64),
                      [n // 64, 64]]}, NUMBERS, bytes=moved)
row("scatter_nd", "TensorScatterUpdate TensorScatterAdd", {
    "x64": lambda n: [x(n // 64, 64), ids(n // 64, 1, top=n // 64),
                      x(n // 64, 64)]}, NUMBERS)
row("scatter", "ResourceScatterAdd ResourceScatterUpdate", {
    "": lambda n: [handle(n), ids(n, top=n), x(n)], **{
        "x%d" % w: lambda n, w=w: [handle(n // w, w), ids(
            n // w, top=n // w), x(n // w, w)] for w in (3, 64)}}, NUMBERS)
row("scatter", "ScatterAdd ScatterUpdate", {
    "": lambda n: [ref(n), ids(n, top=n), x(n)],
    "x64": lambda n: [ref(n // 64, 64), ids(n // 64, top=n // 64),
                      x(n // 64, 64)]}, REALS)
row("segment", "SegmentSum SegmentMax SegmentMean", {
    "x%d" % w: lambda n, w=w: [x(n // w, w), ordered(n // w, n // w // 8 + 1)]
    for w in WIDTHS}, REALS + INTS)
row("segment", "UnsortedSegmentSum UnsortedSegmentMax", {
    "x%d" % w: lambda n, w=w: [x(n // w, w), ids(n // w, top=n // w // 8 + 1),
                               n // w // 8 + 1] for w in WIDTHS}, REALS + INTS)
row("sparse_segment", "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", {
    "x%d" % w: lambda n, w=w: [*picked(n, w), ordered(n // w, n // w // 8 + 1)]
    for w in (7, 64)}, REALS)
row("sparse_segment", "SparseSegmentSumGrad SparseSegmentMeanGrad", {
    "x%d" % w: lambda n, w=w: [
        x(n // w // 8 + 1, w), ids(n // w, top=n // w),
        ordered(n // w, n // w // 8 + 1), n // w] for w in (7, 64)}, REALS,
    bytes=moved)
row("dynamic_partition", "DynamicPartition", {
    "": lambda n: [x(n), ids(n, top=4)],
    "x64": lambda n: [x(n // 64, 64), ids(n // 64, top=4)]}, NUMBERS,
    {"num_partitions": 4}, bytes=moved)
row("dynamic_stitch", "DynamicStitch", {
    "x64": lambda n: [[ordered(n // 64, n // 64)], [x(n // 64, 64)]]}, NUMBERS)
row("sparse_to_dense", "SparseToDense", lambda n: [
    ordered(n // 2, n), [n], x(n // 2), const(0)], REALS + INTS,
    {"validate_indices": False})


def entries(n, width, backwards=False):
    """Indices of every second element of rows of that width."""
    count = n // 2

    def draw():
        places = tf.range(count, dtype=tf.int64) * 2
        places = (count - 1) * 2 - places if backwards else places
        return tf.stack([places // width, places % width], 1)
    return stored("int64", (count, 2), draw)


def dims(n, width):
    return of("int64", 2, low=0, high=1) if n < width else stored(
        "int64", (2,), lambda: tf.constant([n // width, width], tf.int64))


row("sparse_add", "SparseTensorDenseAdd", {
    "x64": lambda n: [entries(n // 64 * 64, 64), x(n // 64 * 32),
                      dims(n, 64), x(n // 64, 64)]}, REALS + INTS, limit=False,
    heavy=4)
row("sparse_reshape", "SparseReshape", {
    "x64 to x16": lambda n: [entries(n // 64 * 64, 64), dims(n, 64), stored(
        "int64", (2,), lambda: tf.constant([-1, 16], tf.int64))]}, FLOAT,
    limit=False, heavy=4)
row("sparse_rows", "SparseReorder", {
    "sorted": lambda n: [entries(n // 64 * 64, 64), x(n // 64 * 32),
                         dims(n, 64)],
    "shuffled": lambda n: [of("int64", n // 64 * 32, 2, low=0, high=max(
        1, min(64, n // 64))), x(n // 64 * 32), of("int64", 2, low=64, high=65)],
    "reversed": lambda n: [entries(n // 64 * 64, 64, True), x(n // 64 * 32),
                           dims(n, 64)]}, REALS, limit=False, heavy=8)
row("sparse_rows", "SparseFillEmptyRows", {
    "all full": lambda n: [entries(n // 64 * 64, 64), x(n // 64 * 32),
                           dims(n, 64), const(0)],
    "half empty": lambda n: [entries(n // 64 * 64, 1), x(n // 64 * 32),
                             dims(n // 64 * 64, 1), const(0)]}, REALS,
    limit=False, heavy=8)


def sparse(n, width):
    """Indices, values and shape of rows of that width."""
    return [entries(n // width * width, width), x(n // width * width // 2),
            dims(n, width)]


row("sparse_slice", "SparseSlice", {"x64": lambda n: [
    *sparse(n, 64), stored("int64", (2,), lambda: tf.constant([0, 8], tf.int64)),
    stored("int64", (2,), lambda: tf.constant([n, 48], tf.int64))]}, REALS,
    limit=False, heavy=8)
for axis in (0, 1):
    row("sparse_concat", "SparseConcat", {"x64 along %d" % axis: lambda n: [
        [part, part] for part in sparse(n // 2, 64)]}, REALS,
        {"concat_dim": axis}, limit=False, heavy=16)
row("sparse_union", "SparseSparseMaximum", {
    "x64": lambda n: sparse(n // 2, 64) + sparse(n // 2, 64)}, REALS,
    limit=False, heavy=16)
row("sparse_reduce", "SparseReduceSum SparseReduceMax", {
    "%s of x64" % name: lambda n, a=axis: [*sparse(n, 64), a]
    for name, axis in (("rows", 1), ("columns", 0))}, REALS, limit=False, heavy=16)
row("sparse_cwise", "SparseDenseCwiseMul", {"x64": lambda n: [
    *sparse(n, 64), x(n // 64, 64)]}, REALS, limit=False, heavy=8)
row("sparse_softmax", "SparseSoftmax", {"x64": lambda n: sparse(n, 64)}, REALS,
    limit=False, heavy=16)
for operation in ("intersection", "a-b", "union"):
    row("sets", "DenseToDenseSetOperation", {
        "%s x64" % operation: lambda n: [
            of("int64", n // 64, 64, low=0, high=200),
            of("int64", n // 64, 64, low=0, high=200)]}, ("int64",),
        {"set_operation": operation}, limit=False, heavy=40)
row("sets", "SetSize", {"x64": lambda n: [
    entries(n // 64 * 64, 64), of("int64", n // 64 * 32, low=0, high=200),
    dims(n, 64)]}, ("int64",), limit=False, heavy=20)
row("sparse_matmul", "SparseTensorDenseMatMul", {
    "x64": lambda n: [of("int64", n // 64, 2, low=0, high=7), x(n // 64),
                      [8, 8], x(8, 64)]}, FLOAT, bytes=moved)
row("variable", "ReadVariableOp", lambda n: [handle(n)], REALS, {"dtype": "T"},
    limit=False)
row("assign", "AssignVariableOp AssignAddVariableOp AssignSubVariableOp",
    lambda n: [handle(n), x(n)], NUMBERS)
row("assign", "Assign AssignAdd", lambda n: [ref(n), x(n)], NUMBERS)
row("training", "ResourceApplyGradientDescent", lambda n: [
    handle(n), const(0.1), x(n)], REALS)
row("training", "ResourceApplyMomentum", lambda n: [
    handle(n), handle(n), const(0.1), x(n), const(0.9)], REALS)
row("training", "ResourceApplyAdagrad", lambda n: [
    handle(n), handle(n, low=1, high=2), const(0.1), x(n)], REALS, work=4)
row("training", "ResourceApplyAdam", lambda n: [
    handle(n), handle(n), handle(n, low=1, high=2), const(0.9), const(0.99),
    const(0.1), const(0.9), const(0.99), const(1), x(n)], REALS, work=8)
row("training", "ResourceApplyRMSProp", lambda n: [
    handle(n), handle(n, low=1, high=2), handle(n), const(0.1), const(0.9),
    const(0.9), const(0.1), x(n)], REALS, work=8)
row("training", "ResourceApplyAdadelta", lambda n: [
    handle(n), handle(n, low=1, high=2), handle(n, low=1, high=2), const(1),
    const(0.9), const(0.1), x(n)], REALS, work=12)
row("training", "ResourceApplyFtrl", lambda n: [
    handle(n), handle(n, low=1, high=2), handle(n), x(n), const(0.1),
    const(0.1), const(0.1), const(-0.5)], REALS, work=20)
row("training", "ApplyGradientDescent", lambda n: [
    ref(n), const(0.1), x(n)], REALS)
row("training", "ApplyAdam", lambda n: [
    ref(n), ref(n), ref(n, low=1, high=2), const(0.9), const(0.99),
    const(0.1), const(0.9), const(0.99), const(1), x(n)], REALS, work=8)
row("training", "ResourceSparseApplyMomentum", {
    "x%d" % w: lambda n, w=w: [
        handle(n // w, w), handle(n // w, w), const(0.1), x(n // w, w),
        ids(n // w, top=n // w), const(0.9)] for w in (3, 64)}, REALS)
row("training", "ResourceSparseApplyAdagrad", {"x64": lambda n: [
    handle(n // 64, 64), handle(n // 64, 64, low=1, high=2), const(0.1),
    x(n // 64, 64), ids(n // 64, top=n // 64)]}, REALS)
row("inplace", "DeepCopy", lambda n: [x(n)], NUMBERS)
row("unravel", "UnravelIndex", lambda n: [ids(n, top=n), [8, n // 8]], ("int32",))
