"""What moves elements and changes few: copies, transposes, reductions."""
import tensorflow as tf

from tests.bench.op_cases.table import (
    FLOAT, FLOATS, INTS, ITEMS, NUMBERS, REALS, STRING, const, made, of, ordered,
    row, side, x)

MOVED = ITEMS + ("complex64",)


def inner(*widths):
    """Forms of rows of these widths."""
    return {"x%d" % w: lambda n, w=w: (n // w, w) for w in widths}


def with_inputs(shapes, inputs):
    return {label: lambda n, dims=dims: inputs(*dims(n))
            for label, dims in shapes.items()}


# ---- Copies ------------------------------------------------------------------

row("concat", "ConcatV2", {
    "rows": lambda n: [[x(n // 8, 1)] * 8, 0],
    "columns": lambda n: [[x(side(n), side(n) // 4)] * 4, 1],
    "columns of 3": lambda n: [[x(n // 6, 3)] * 2, 1],
    "columns of 1": lambda n: [[x(n // 2, 1)] * 2, 1]}, MOVED)
row("concat", "ConcatV2", {"string": lambda n: [[x(n // 8)] * 4, 0]}, STRING,
    limit=False, heavy=10)
row("pack", "Pack", {
    "rows": lambda n: [[x(n // 4)] * 4]}, MOVED, {"axis": 0})
row("pack", "Pack", {
    "columns": lambda n: [[x(n // 4)] * 4]}, MOVED, {"axis": 1})
# What nobody takes TensorFlow does not copy.
made("pack", "unstack", {
    "columns": lambda n: [x(n // 4, 4)], "rows": lambda n: [x(4, n // 4)]},
    MOVED, lambda a, _: [tf.identity(part) for part in tf.unstack(
        a[0], axis=0 if a[0].shape[0] == 4 else 1)])
row("split", "Split", {
    "rows": lambda n: [0, x(n // 16 * 4, 4)],
    "columns": lambda n: [1, x(side(n), side(n) // 4 * 4)],
    "columns of 1": lambda n: [1, x(n // 4, 4)]}, MOVED, {"num_split": 4})
row("split", "SplitV", {
    "rows": lambda n: [x(n // 4, 4), [n // 8, 1, n // 4 - n // 8 - 1], 0],
    "columns": lambda n: [x(n // 7, 7), [1, 3, 3], 1]}, MOVED,
    {"num_split": 3})
row("slice", "Slice", {
    "rows": lambda n: [x(n // 64, 64), [1, 0], [n // 64 - 2, 64]],
    "columns": lambda n: [x(n // 64, 64), [1, 3], [n // 64 - 2, 32]],
    "columns of 3": lambda n: [x(n // 7, 7), [0, 2], [n // 7, 3]]}, MOVED,
    bytes=lambda n, item: n * item)
row("slice", "StridedSlice", {
    "::2": lambda n: [x(n), [0], [n], [2]],
    "::-1": lambda n: [x(n), [n - 1], [0], [-1]],
    "columns ::2": lambda n: [x(n // 64, 64), [0, 0], [n // 64, 64], [1, 2]],
    "column": lambda n: [x(n // 7, 7), [0, 3], [n // 7, 4], [1, 1]]}, MOVED,
    bytes=lambda n, item: n * item)
row("slice", "StridedSliceGrad", {
    "rows": lambda n: [[n // 64, 64], [1, 0], [n // 64 - 1, 64], [1, 1],
                       x(n // 64 - 2, 64)],
    "::2": lambda n: [[n], [0], [n], [2], x(n - n // 2)],
    "::-1": lambda n: [[n], [n - 1], [0], [-1], x(n - 1)],
    "columns": lambda n: [[n // 64, 64], [0, 3], [n // 64, 35], [1, 1],
                          x(n // 64, 32)],
    "column": lambda n: [[n // 7, 7], [0, 3], [n // 7, 4], [1, 1],
                         x(n // 7, 1)]}, MOVED,
    bytes=lambda n, item: 2 * n * item)
# Strings, by the same boxes.
row("tile", "Tile", {
    "string": lambda n: [x(n // 256, 16), [4, 4]]}, STRING, limit=False,
    heavy=10)
row("slice", "Slice", {
    "string": lambda n: [x(n // 64, 64), [1, 3], [n // 64 - 2, 32]]}, STRING,
    limit=False, heavy=10)
row("transpose", "Transpose", {
    "string": lambda n: [x(n // 64, 64), [1, 0]]}, STRING, limit=False,
    heavy=10)
row("pad", "Pad", {
    "x64": lambda n: [x(n // 64, 64), [[1, 1], [3, 3]]],
    "x3": lambda n: [x(n // 3, 3), [[1, 1], [1, 1]]]}, MOVED)
row("mirror_pad", "MirrorPad", {
    "x64": lambda n: [x(n // 64, 64), [[1, 1], [3, 3]]]}, MOVED,
    {"mode": "REFLECT"})
row("tile", "Tile", {
    "rows": lambda n: [x(n // 16, 1), [16, 1]],
    "columns": lambda n: [x(n // 64, 16), [1, 4]],
    "columns of 1": lambda n: [x(n // 4, 1), [1, 4]]}, MOVED)
row("broadcast_ops", "BroadcastTo", {
    "row": lambda n: [x(64), [n // 64, 64]],
    "column": lambda n: [x(n // 64, 1), [n // 64, 64]]}, MOVED)
row("fill", "Fill", lambda n: [[n], const(1)], NUMBERS)
row("fill", "ZerosLike OnesLike", lambda n: [x(n)], NUMBERS)
row("range", "Range", lambda n: [0, n, 1], ("int32",))
row("lin_space", "LinSpace", lambda n: [const(0), const(1), n], REALS)
row("reverse_sequence", "ReverseSequence", lambda n: [
    x(n // 640, 10, 64), of("int64", n // 640, low=1, high=10)], REALS,
    {"seq_dim": 1})
row("space_batch", "SpaceToBatchND BatchToSpaceND", lambda n: [
    x(4, side(n // 64) // 2 * 2, side(n // 64) // 2 * 2, 16), [2, 2],
    [[0, 0], [0, 0]]], REALS)
row("depth_space", "SpaceToDepth DepthToSpace", lambda n: [
    x(4, side(n // 64) // 2 * 2, side(n // 64) // 2 * 2, 16)], REALS,
    {"block_size": 2})
row("matrix_diag", "MatrixDiag MatrixDiagPart", {
    "": lambda n: [x(max(16, n // 256), 16)]}, REALS)
row("matrix_diag", "MatrixSetDiagV3", {
    "": lambda n: [x(side(n), side(n)), x(side(n)), 0],
    "x7": lambda n: [x(n // 49, 7, 7), x(n // 49, 7), 0]}, REALS)
row("matrix_diag", "MatrixDiagPartV3", {
    "x7": lambda n: [x(n // 49, 7, 7), 0, const(0)]}, REALS,
    bytes=lambda n, item: 2 * n // 7 * item)
row("matrix_band", "MatrixBandPart", lambda n: [
    x(side(n), side(n)), 3, 3], REALS)

# ---- Transposes --------------------------------------------------------------

row("transpose", "Transpose", {
    "": lambda n: [x(side(n), side(n)), [1, 0]],
    "odd": lambda n: [x(side(n) + 1, side(n) - 1), [1, 0]],
    "x3": lambda n: [x(n // 3, 3), [1, 0]],
    "x64": lambda n: [x(n // 64, 64), [1, 0]],
    "nchw": lambda n: [x(n // 448, 7, 64), [0, 2, 1]],
    "swap heads": lambda n: [x(n // 512, 8, 64), [1, 0, 2]],
    "reversed": lambda n: [x(n // 448, 64, 7), [2, 1, 0]]}, MOVED)
row("reverse", "ReverseV2", {
    "": lambda n: [x(n), [0]], "rows": lambda n: [x(n // 64, 64), [0]],
    "x64": lambda n: [x(n // 64, 64), [1]]}, MOVED)
row("transpose", "InvertPermutation", lambda n: [ordered(n, n)], ("int32",))
row("one_hot", "OneHot", {
    "x64": lambda n: [of("int32", n // 64, low=0, high=64), 64, const(1),
                      const(0)]}, FLOAT + INTS)
row("where", "Where", {
    "": lambda n: [x(n)], "x64": lambda n: [x(n // 64, 64)]}, ("bool",) + FLOAT,
    bytes=lambda n, item: n * item + n * 4)

# ---- Reductions --------------------------------------------------------------

AXES = {
    "all": lambda n: [x(n), [0]],
    "rows": lambda n: [x(n // 64, 64), [1]],
    "rows of 3": lambda n: [x(n // 3, 3), [1]],
    "rows of 1000": lambda n: [x(max(1, n // 1000), 1000), [1]],
    "columns": lambda n: [x(n // 64, 64), [0]],
    "columns of 7": lambda n: [x(n // 7, 7), [0]],
    "middle": lambda n: [x(n // 448, 7, 64), [1]]}
row("reduce", "Sum Max", AXES, NUMBERS)
row("reduce", "Mean Prod Min", {k: AXES[k] for k in ("all", "rows", "columns")},
    NUMBERS)
row("reduce", "All Any", {k: AXES[k] for k in ("all", "rows", "columns")},
    ("bool",))
row("reduce", "L2Loss", lambda n: [x(n)], FLOATS)
row("arg", "ArgMax ArgMin", {
    "rows": lambda n: [x(max(1, n // 1000), 1000), 1],
    "columns": lambda n: [x(n // 64, 64), 0]}, NUMBERS)
row("cumulative", "Cumsum Cumprod", {
    "all": lambda n: [x(n), 0], "rows": lambda n: [x(n // 64, 64), 1],
    "columns": lambda n: [x(n // 64, 64), 0]}, NUMBERS)
made("topk", "sort", lambda n: [x(n)], REALS + INTS,
     lambda a, _: tf.sort(a[0]), limit=False, heavy=20)
row("topk", "TopKV2", lambda n: [x(max(1, n // 1000), 1000), 10], REALS + INTS,
    limit=False, heavy=4)
row("unique", "Unique", {
    "few": lambda n: [of("int32", n, low=0, high=100)],
    "many": lambda n: [of("int32", n, low=0, high=n)]}, ("int32",),
    limit=False, heavy=20)
row("unique", "Unique", {"string": lambda n: [x(n // 4)]}, STRING, limit=False,
    heavy=20)
row("roll", "Roll", {
    "rows": lambda n: [x(n // 64, 64), 9, 0],
    "both": lambda n: [x(n // 64, 64), [9, 5], [0, 1]]}, MOVED)
row("slice_assign", "TensorStridedSliceUpdate", {
    "columns": lambda n: [x(n // 64, 64), [0, 3], [n // 64, 35], [1, 1],
                          x(n // 64, 32)]}, MOVED)
row("bincount", "Bincount", lambda n: [
    of("int32", n, low=0, high=1000), 1000, x(n)], REALS + INTS)
row("bounds", "NthElement", lambda n: [x(max(1, n // 1000), 1000), 500],
    REALS + INTS)
row("cross_product", "Cross", lambda n: [x(n // 3, 3), x(n // 3, 3)], REALS)
