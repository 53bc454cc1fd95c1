"""Shapes, and parts of tensors put together and taken apart."""
import numpy as np

from tests.conformance.cases.shared import ANY, REALS, SHAPES, SMALL
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, many, once, row

row("Identity StopGradient PreventGradient", SHAPES, ANY)
row("Shape Size Rank", SHAPES)
row("ZerosLike OnesLike", SHAPES)
row("ShapeN", [c(many(x(2, 3), x())), c(many(x(0, 2))), c(many(*[x(1)] * 9))])
row("Reshape", [
    c(x(2, 6), [3, 4]), c(x(2, 6), [-1]), c(x(2, 6), [4, -1]), c(x(1), []),
    c(x(), [1, 1]), c(x(0, 3), [0, 7]), c(x(0, 3), [3, -1]), c(x(2, 3), [6]),
    c(x(2), [1, 1, 1, 1, 1, 1, 1, 2]), c(x(0), [0, -1]),
    c(x(0, 3), [0, -1]), c(x(0, 2, 3), [0, 4, -1]),
    bad(x(2, 3), [0, -1]),
    bad(x(2, 6), [5]), bad(x(2, 6), [5, -1]), bad(x(4), [-1, -1]),
    bad(x(4), [-2, -2]), bad(x(4), [[4]]),
    bad(x(4), [2 ** 31 - 1, 2 ** 31 - 1])])
row("ExpandDims", [c(x(2, 3), 0), c(x(2, 3), 1), c(x(2, 3), -1), c(x(), 0),
                   c(x(2, 3), [2]), c(x(0), -2), bad(x(2), 2), bad(x(2), -3),
                   bad(x(2), [0, 1])])
row("Squeeze", [c(x(1, 2, 1, 3)), c(x(1, 2, 1, 3), squeeze_dims=[0]),
                c(x(1, 2, 1, 3), squeeze_dims=[-2]), c(x(1, 1)), c(x(2, 3)),
                c(x(1, 0)), bad(x(2, 1), squeeze_dims=[0]),
                bad(x(2, 1), squeeze_dims=[2])])
row("Fill", [c([2, 3], 7), c([37], x()), c([3, 16], 7), c([], 7), c([0, 4], 7), c([5], x()),
             bad([2], [7, 8]), bad([-1], 7), bad([[2]], 7),
             bad([2 ** 31 - 1] * 3, 7)])
row("Tile", [c(x(2, 3), [2, 2]), c(x(2, 3), [1, 3]), c(x(), []),
             c(x(2, 16), [3, 2]), c(x(2, 1), [1, 16]), c(x(2, 1), [3, 5]),
             c(x(2, 3, 4), [2, 1, 1]), c(x(2, 3, 6), [1, 2, 3]),
             c(x(2, 3, 2, 5), [3, 1, 2, 2]), c(x(70), [3]), c(x(2, 33), [2, 3]),
             c(x(3, 1, 1), [2, 4, 8]), c(x(1, 1, 10), [2, 3, 1]),
             bad(x(2, 16), [2]), bad(x(2, 16), [2, -1]),
             c(x(3), [0]), c(x(0), [3]), c(x(2, 1, 2), [1, 2, 1]),
             bad(x(2), [1, 1]), bad(x(2), [-1]), bad(x(2), [[1]]),
             bad(x(), [2]), bad(x(), 2), bad(x(2), 2),
             bad(x(4), [2 ** 31 - 1])], may_fail=True)
row("Transpose", [c(x(2, 3), [1, 0]), c(x(2, 3, 4), [2, 0, 1]), c(x(), []),
                  c(x(2, 3, 4), [0, 2, 1]), c(x(5), [0]), c(x(0, 3), [1, 0]),
                  c(x(2, 1, 3, 2), [3, 1, 0, 2]), once(x(300, 70), [1, 0]),
                  c(x(90, 71), [1, 0], dtypes=("string",)),
                  # Layouts of images, whose sides are packs or not.
                  c(x(2, 12, 8, 48), [0, 3, 1, 2]), c(x(2, 7, 7, 33), [0, 3, 1, 2]),
                  c(x(2, 32, 5, 7), [0, 2, 3, 1]), c(x(2, 70, 8, 12), [0, 2, 3, 1]),
                  c(x(1, 20, 16, 3), [0, 3, 1, 2]), c(x(1, 3, 9, 30), [0, 2, 3, 1]),
                  c(x(3, 3, 16, 32), [3, 2, 0, 1]), c(x(64, 2, 16), [2, 1, 0]),
                  c(x(3, 5, 2, 64), [2, 3, 0, 1]), c(x(2, 3, 4, 12), [0, 2, 1, 3]),
                  c(x(3, 4, 7), [1, 0, 2]), c(x(4, 1, 6), [1, 0, 2]),
                  c(x(2, 3), [-1, 0]), bad(x(2, 3), [0]), bad(x(2), [1]),
                  bad(x(2, 3), [0, 0]), bad(x(2, 3), [[1, 0]])])
row("ConcatV2", [
    c(many(x(2, 3), x(2, 1)), 1), c(many(x(2, 3), x(1, 3)), 0),
    c(many(x(2), x(3), x(4)), -1), c(many(x(0, 2), x(3, 2)), 0),
    c(many(x(2, 0), x(2, 0)), 1), once(many(x(300, 70), x(300, 70)), 1),
    bad(many(x(2), x(3)), 1), bad(many(x(2, 3), x(3, 3)), 1),
    bad(many(x(2), x(2, 2)), 0),
    bad(many(x(), x()), 0), bad(many(x(2), x(2)), [0, 0]),
    bad(many(x(), x()), 1), bad(many(x(2), x()), 0),
    bad(many(x(), x(2)), 0), bad(many(x(2), x(2)), [[0]])])
row("ConcatOffset", [
    c(1, many([2, 3], [2, 1], [2, 0])), c(-1, many([4], [6])),
    bad(2, many([2, 3], [2, 1])), bad(0, many([2, 3], [2, 1])),
    bad(0, many([2], [2, 1])), bad([0, 1], many([2], [2])),
    bad([0], many([1], [3])), bad(0, many([[1, 2]], [[3, 2]])),
    bad(0, many([1, 2], [[3, 2]])), bad(0, many(1, 2)),
    bad(0, many([], [])), bad(-3, many([1, 2], [3, 2]))])
row("InvertPermutation", [
    c([2, 0, 1, 3]), c([0]), c(np.zeros([0])), bad([0, 0]), bad([0, 2]),
    bad([-1, 0]), bad([[0]])])
row("Pad", [
    c(x(2, 3), [[1, 2], [0, 1]]), c(x(3), [[0, 0]]), c(x(), np.zeros([0, 2])),
    c(x(0, 2), [[1, 1], [1, 1]]), c(x(2, 1, 3), [[0, 1], [2, 0], [1, 1]]),
    c(x(2, 3, 70), [[1, 2], [0, 1], [3, 1]]), c(x(0, 70), [[1, 1], [0, 2]]),
    c(x(3, 0), [[1, 2], [2, 3]]), c(x(70), [[0, 5]]),
    bad(x(2), [[-1, 0]]), bad(x(2), [[1, 1], [1, 1]]), bad(x(2), [[1]]),
    bad(x(), [[1, 1]]), bad(x(), 1), bad(x(2), 1), bad(x(), np.zeros([0, 3])),
    bad(x(2), [1, 1])])
row("PadV2", [
    c(x(2, 3), [[1, 2], [0, 1]], 7), c(x(3), [[0, 0]], 7), c(x(3), [[2, 1]],
                                                             x()),
    c(x(), np.zeros([0, 2]), 7), c(x(0, 2), [[1, 1], [1, 1]], 7),
    c(x(2, 1, 3), [[0, 1], [2, 0], [1, 1]], 7), c(x(0), [[0, 0]], 7),
    c(x(2, 3, 70), [[1, 2], [0, 1], [3, 1]], 7), c(x(3, 0), [[1, 0], [2, 1]], 7),
    once(x(300, 70), [[1, 2], [3, 4]], 7), bad(x(2), [[-1, 0]], 7),
    bad(x(2), [[0, -1]], 7), bad(x(2), [[1, 1], [1, 1]], 7),
    bad(x(2), [[1]], 7), bad(x(2), [1, 1], 7), bad(x(2), [[1, 1]], [7]),
    bad(x(2), [[1, 1]], np.zeros([0])), bad(x(), [[1, 1]], 7)])
for op, more in (("MirrorPad", [
        c(x(2, 3), [[1, 0], [2, 1]], mode="REFLECT"),
        c(x(2, 3), [[2, 1], [3, 3]], mode="SYMMETRIC"),
        c(x(0, 2), [[0, 0], [1, 1]], mode="SYMMETRIC"),
        bad(x(0), [[0, 0]], mode="REFLECT"),
        bad(x(3), [[3, 0]], mode="REFLECT"),
        bad(x(3), [[0, 3]], mode="REFLECT"),
        bad(x(3), [[4, 0]], mode="SYMMETRIC")]),
        ("MirrorPadGrad", [
            c(x(4, 7), [[1, 1], [2, 1]], mode="REFLECT"),
            c(x(6, 7), [[2, 2], [1, 3]], mode="SYMMETRIC"),
            c(x(7, 16), [[2, 2], [0, 0]], mode="REFLECT"),
            c(x(5, 2, 12), [[1, 2], [0, 0], [0, 0]], mode="SYMMETRIC"),
            c(x(2, 16), [[0, 0], [0, 0]], mode="SYMMETRIC"),
            bad(x(3, 16), [[2, 0], [0, 0]], mode="SYMMETRIC"),
            bad(x(4), [[2, 2]], mode="REFLECT"),
            bad(x(4), [[2, 0]], mode="REFLECT"),
            bad(x(4), [[3, 0]], mode="SYMMETRIC"),
            bad(x(0), [[0, 0]], mode="SYMMETRIC")])):
    row(op, [case for mode in ("REFLECT", "SYMMETRIC") for case in (
        c(x(7), [[2, 2]], mode=mode), c(x(7), [[0, 1]], mode=mode),
        c(x(), np.zeros([0, 2]), mode=mode), c(x(3), [[0, 0]], mode=mode),
        c(x(2, 1, 5, 1, 4), [[0, 0], [0, 0], [1, 1], [0, 0], [0, 1]],
          mode=mode), once(x(300, 70), [[9, 3], [0, 8]], mode=mode),
        bad(x(3), [[-1, 0]], mode=mode), bad(x(3), [[0, -1]], mode=mode),
        bad(x(3), [[0, 0], [0, 0]], mode=mode), bad(x(3), [0, 0], mode=mode),
        bad(x(3), [[1]], mode=mode), bad(x(), [[0, 0]], mode=mode),
        bad(x(1, 1, 1, 1, 1, 5), [[0, 0]] * 5 + [[1, 0]], mode=mode),
        bad(x(3), [[9, 9]], mode=mode))] + more, SMALL, tol=2)
row("Pack", [c(many(x(2, 3), x(2, 3))), c(many(x(), x(), x())),
             c(many(x(2, 3), x(2, 3)), axis=1), c(many(x(2), x(2)), axis=-1),
             c(many(x(0), x(0))), c(many(x(2))), bad(many(x(2), x(3))),
             bad(many(x(2), x(2)), axis=2)])
row("Unpack", [c(x(2, 3), num=2), c(x(2, 3), num=3, axis=1), c(x(2), num=2),
               c(x(2, 3), num=3, axis=-1), c(x(0, 3), num=0),
               c(x(2, 0), num=2), bad(x(2, 3), num=3), bad(x(), num=1),
               bad(x(2), num=2, axis=1)])
row("Split", [c(0, x(4, 3), num_split=2), c(1, x(2, 6), num_split=3),
              c(-1, x(2, 6), num_split=2), c(0, x(4), num_split=1),
              c(0, x(0, 2), num_split=2), bad(0, x(3), num_split=2),
              bad(1, x(4), num_split=2), bad([0, 1], x(4), num_split=2),
              bad([0], x(4), num_split=2),
              bad(0, x(), num_split=1)])
row("SplitV", [
    c(x(5, 2), [2, 3], 0, num_split=2), c(x(2, 6), [1, 2, 3], 1, num_split=3),
    c(x(2, 6), [1, -1, 3], -1, num_split=3), c(x(4), [4], 0, num_split=1),
    c(x(3), [0, 3], 0, num_split=2), bad(x(5), [2, 2], 0, num_split=2),
    bad(x(5), [-1, -1], 0, num_split=2), bad(x(5), [6, -1], 0, num_split=2),
    bad(x(5), [2, 3], 1, num_split=2), bad(x(5), [2, 3, 0], 0, num_split=2),
    bad(x(5), [-2, 7], 0, num_split=2), bad(x(5), [-1, -2], 0, num_split=2),
    bad(x(5), [4, 4], 0, num_split=2), bad(x(5), [4], 0, num_split=1),
    bad(x(5), [-1], 0, num_split=1), bad(x(5), [[2, 3]], 0, num_split=2),
    bad(x(5), [2, 3], [0, 0], num_split=2), bad(x(), [1, 1], 0, num_split=2)])
row("Slice", [c(x(3, 4), [1, 0], [2, 3]), c(x(3, 4), [0, 1], [-1, -1]),
              c(x(3, 4), [0, 0], [3, 4]), c(x(3, 4), [3, 0], [0, 4]),
              c(x(), [], []), c(x(2, 3, 4, 2), [0, 1, 1, 0], [2, 1, 2, 1]),
              c(x(0, 3), [0, 0], [-1, 2]), c(x(3, 4), [1, 0], [2, 4]),
              bad(x(3), [1], [3]), bad(x(3), [4], [0]), bad(x(3), [-1], [1]),
              bad(x(3), [0], [-2]), bad(x(3), [0, 0], [1, 1]),
              bad(x(), [1], [1]), bad(x(), 1, 1), bad(x(3), 0, 1),
              bad(x(3), [0], [1, 1]), bad(x(3), [[0]], [[1]])])
row("StridedSlice", [
    c(x(4, 5), [1, 0], [3, 5], [1, 2]), c(x(4, 5), [3, 4], [0, 0], [-1, -2]),
    c(x(4, 5), [0], [2], [1]), c(x(4, 5), [-2], [9], [1], end_mask=1),
    c(x(4, 5), [1, 1], [0, 3], [1, 1], begin_mask=2, end_mask=1),
    c(x(4, 5), [0, 2], [0, 3], [1, 1], ellipsis_mask=1, shrink_axis_mask=2),
    c(x(4, 5), [0, 0], [0, 0], [1, 1], new_axis_mask=3),
    c(x(4, 5), [2, 1], [3, 2], [1, 1], shrink_axis_mask=3),
    c(x(4, 5), [-1], [0], [1], shrink_axis_mask=1),
    c(x(4, 5), [3], [1], [1]), c(x(4, 5), [], [], []), c(x(0), [0], [5], [1]),
    c(x(2, 3, 4), [0, 0, 1], [1, 0, 3], [1, 1, 1], ellipsis_mask=2),
    c(x(9), [100], [-100], [-3]), c(x(4, 5), [1, 0], [3, 5], [1, 1]),
    bad(x(4), [0], [1], [0]), bad(x(4), [4], [5], [1], shrink_axis_mask=1),
    bad(x(4), [-5], [5], [1], shrink_axis_mask=1),
    bad(x(4), [0, 0], [1, 1], [1, 1]), bad(x(4), [0], [1, 1], [1]),
    bad(x(4, 4), [0, 0], [1, 1], [1, 1], ellipsis_mask=3),
    bad(x(4), [0], [1], [-1], shrink_axis_mask=1)])
row("StridedSliceGrad", [
    c([4, 5], [1, 0], [3, 5], [1, 2], x(2, 3)),
    c([4, 5], [3, 4], [0, 0], [-1, -2], x(3, 2)),
    c([4], [1], [2], [1], x(), shrink_axis_mask=1),
    c([4, 5], [0, 0], [0, 0], [1, 1], x(1, 1, 4, 5), new_axis_mask=3),
    c([4, 5], [1], [3], [1], x(2, 5)), c([0], [0], [0], [1], x(0)),
    bad([4], [0], [2], [1], x(3)), bad([4], [0], [2], [0], x(2)),
    bad([4], [0], [2], [1], x(2, 1)), bad([-4], [0], [2], [1], x(2))])
row("GatherV2", [
    c(x(5, 3), [0, 4, 2, 0], 0), c(x(5, 3), 3, 0), c(x(2, 5), [[1, 0]], 1),
    c(x(2, 5), [1], -1), c(x(5), np.zeros([0]), 0), c(x(5, 0), [1, 2], 0),
    c(x(2, 3, 4), [[0, 1], [2, 2]], 1, batch_dims=1),
    c(x(2, 3), [[0], [1]], 1, batch_dims=1), c(x(3, 2, 2), [2, 0], 1 - 1),
    once(x(300, 70), list(range(0, 300, 2)), 0),
    bad(x(5), [5], 0, gpu=c([0], [0], 0)),
    bad(x(5), [-1], 0, gpu=c([0], [0], 0)),
    bad([[1, 2], [3, 4]], [1, 2, 0], 0,
        gpu=c([[1, 2], [3, 4], [0, 0]], [1, 2, 0], 0)),
    bad([[1, 2], [3, 4]], [[0, 2], [-1, 1]], 1, batch_dims=1,
        gpu=c([[1, 0], [0, 4]], [[0, 1], [0, 1]], 1, batch_dims=1)),
    bad(x(), [0], 0), bad(x(5), [0], 1), bad(x(5), [0], [0, 0]),
    bad(x(5), [0], -2), bad(x(5, 2), [0], [0]), bad(x(5, 2), [0], 4),
    bad(x(0, 3), [0], 0, gpu=c([[0, 0, 0]], [0], 0)),
    bad(x(2, 3), [0, 1, 2], 1, batch_dims=1)])
row("DynamicStitch ParallelDynamicStitch", [
    c(many([0, 2], [3, 1]), many(x(2, 3), x(2, 3))), c(many(0), many(x(2))),
    c(many([0, 1]), many(x(2))), c(many([[0], [1]], 2), many(x(2, 1, 3), x(3))),
    c(many(np.zeros([0])), many(x(0, 3))), c(many(1, 0), many(x(), x())),
    c(many([1, 0], np.zeros([0])), many(x(2, 2), x(0, 2))),
    c(many([0, 1]), many(x(2, 0))),
    bad(many([0, 1]), many(x(3))), bad(many([0, -1]), many(x(2))),
    bad(many([0], [1]), many(x(1, 2), x(1, 3))), bad(many([0, 1]), many(x())),
    bad(many([0], [1]), many(x(1, 2), x(1))),
    bad(many([2 ** 31 - 1]), many(x(1)))])
row("OneHot", [c([0, 2, -1, 5], 3, 1, 0), c([[0, 1], [1, 3]], 2, 5, 6),
               c([0, 1], 3, 1, 0, axis=0), c([[0, 1]], 2, 1, 0, axis=1),
               c(1, 3, 1, 0), c(np.zeros([0]), 3, 1, 0), c([0], 0, 1, 0),
               c([[0, 15], [7, 99]], 16, 5, 6), c([3, 17, 40], 32, 1, 0),
               c(np.arange(32).reshape(2, 16) % 5, 4, 1, 0, axis=1),
               c(np.arange(24).reshape(1, 24) % 3, 3, 1, 0, axis=0),
               bad([0] * 16, 16, 1, 0, axis=2),
               bad([0], -1, 1, 0), bad([0], [2], 1, 0), bad([0], 2, [1], 0),
               bad([0], 2, 1, [0]), bad([0], 2, 1, 0, axis=2)])
row("Where", [c([[0, 1, 2], [3, 0, 0]]), c([0, 0]), c([True, True]),
              once(np.arange(3000).reshape(60, 50) % 7 % 2),
              c(np.zeros([0, 3])), c(x(2, 3, 4)), c(x(37)), once(x(300, 70)),
              c(x(1)), c(x(63)), c(x(64)), c(x(65)), c(x(0)), c(x(130, 1)),
              c([-0.0, 0.0, float("nan"), float("-inf")],
                dtypes=["float32", "float64"]),
              once(np.arange(4097) % 3), once(np.ones(4096)),
              once(np.arange(9000).reshape(3000, 3) % 1000 == 999),
              once(np.arange(8192).reshape(2, 4, 8, 128) % 5),
              once(np.arange(9000).reshape(9, 1000, 1) % 2500 == 7),
              bad(1)], Data(-1, 1), may_fail=True)
row("Range", [c(0, 5, 1), c(3, 0, -1), c(0, 0, 1), c(1, 10, 3), c(5, 5, -1),
              c(0.25, 2, 0.5, dtypes=REALS), c(100, -100, -3), c(-5, 300, 7),
              c(0, 33, 1), c(-3.5, 40, 0.75, dtypes=REALS), bad(0, 5, 0),
              c(2, -90, -1.25, dtypes=REALS), c(0, 70000, 1, dtypes=("int32",)),
              bad(0, 5, -1),
              bad(7, 5, 1),
              bad(5, 0, 1), bad([0, 1], 5, 1), bad(0, [[5]], 1),
             bad(0, 5, [1, 1])])
row("BroadcastTo", [
    c(x(3), [2, 3]), c(x(), [2, 2]), c(x(2, 1, 3), [2, 4, 3]), c(x(1), [0]),
    c(x(2, 3), [2, 3]), c(x(), []), c(x(0, 3), [2, 0, 3]),
    once(x(1, 70), [300, 70]), c(x(2, 1), [2, 32]), c(x(), [3, 16]),
    c(x(16), [3, 16]), c(x(2, 1, 16), [2, 3, 16]), c(x(3, 1, 1), [3, 5, 7]),
    bad(x(16), [3, 8]), bad(x(3), [2]), bad(x(2, 3), [3]),
    bad(x(2, 3), [2, -1]), bad(x(3), [[3]]), bad(x(2), [3, 4])])
row("BroadcastArgs", [
    c([2, 3], [3]), c([2, 1], [1, 3]), c([], [2]), c([4, 1, 3], [2, 1]),
    c([0, 1], [3]), c([], []), bad([2], [3]), bad([[2]], [2])])
row("BroadcastGradientArgs", [
    c([2, 3], [3]), c([2, 3], [2, 3]), c([], [2]), c([2, 1], [1, 3]),
    c([1], [1]), c([4, 1, 3], [2, 1]), c([0, 1], [3]), c([], []),
    bad([2], [3]), bad([[2]], [2])])

row("PlaceholderWithDefault", [c(x(2, 3), shape=[2, 3]), c(x(), shape=None),
                               c(x(0, 2), shape=[None, 2])], ANY)

row("ReverseSequence", [
    c(x(3, 5), [0, 5, 3], seq_dim=1), c(x(5, 3), [1, 2, 5], seq_dim=0,
                                        batch_dim=1),
    c(x(2, 4, 3), [4, 2], seq_dim=1), c(x(2, 4, 3), [1, 3], seq_dim=2),
    c(x(4, 2, 3), [4, 2, 3], seq_dim=0, batch_dim=2),
    c(x(2, 3, 2, 4, 2), [4, 1, 3], seq_dim=3, batch_dim=1),
    c(x(2, 4, 16), [4, 2], seq_dim=1), c(x(4, 2, 6), [1, 3], batch_dim=1,
                                         seq_dim=0),
    c(x(3, 5, 2, 20), [0, 5, 3], seq_dim=1),
    bad(x(2, 4, 16), [4], seq_dim=1),
    c(x(0, 3), np.zeros([0]), seq_dim=1), c(x(2, 0), [0, 0], seq_dim=1),
    c(x(2, 3, 0), [2, 3], seq_dim=1),
    bad(np.arange(15).reshape(3, 5), [0, 6, 3], seq_dim=1,
        gpu=c(np.arange(15).reshape(3, 5), [0, 5, 3], seq_dim=1)),
    bad(np.arange(15).reshape(3, 5), [0, -1, 3], seq_dim=1,
        gpu=c(np.arange(15).reshape(3, 5), [0, 0, 3], seq_dim=1)),
    bad(x(3, 5), [0, 1], seq_dim=1), bad(x(3, 5), [0, 1, 2], seq_dim=0),
    bad(x(3, 5), [0, 1, 2], seq_dim=2), bad(x(3), [0, 1, 2], seq_dim=1),
    bad(x(3, 5), [0, 1, 2], seq_dim=1, batch_dim=3),
    bad(x(3, 5), [[0, 1, 2]], seq_dim=1), bad(x(3, 5), 1, seq_dim=1),
    bad(x(2, 3, 1, 1, 1, 1), [1, 1], seq_dim=1)], ANY)

row("LinSpace", [c(0, 1, 5), c(1, -3, 7), c(x(), x(), 1000), c(2, 3, 1),
                 c(5, 5, 3), once(-1, 1, 70000), bad(0, 1, 0), bad(0, 1, -1),
                 bad([0], 1, 2), bad(0, [1], 2), bad(0, 1, [2]),
                 bad(0, 1, [2, 3])])
