"""The table of cases: a row an op, or one for several ops of one form.

See table.py for the words.  The first case of a row runs with every
combination of types that TensorFlow has a CPU kernel for, the others with
every main type, once(...) and bad(...) with the first type.
"""
import dataclasses
import gzip
import zlib

import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import Data, types_of, x
from tests.conformance.table import Variable, bad, c, every, many, once
from tests.conformance.table import row, var, with_inputs

ANY = Data(special=True)
SMALL = Data(-4, 4)
POSITIVE = Data(0.1, 9)
UNIT = Data(-0.9, 0.9)
DIVISOR = Data(-9, 9, nonzero=True)
REALS = ("float32", "float64", "float16", "bfloat16")

# ---- Element by element -----------------------------------------------------

SHAPES = [c(x(2, 13)), c(x()), c(x(1)), c(x(0)), c(x(2, 0, 3)),
          c(x(1, 3, 1, 2, 1, 4)), once(x(300, 70))]
PAIRS = [
    c(x(2, 13), x(2, 13)), c(x(), x()), c(x(2, 3), x()), c(x(), x(4)),
    c(x(2, 3), x(3)), c(x(3), x(2, 3)), c(x(2, 1, 4), x(3, 1)),
    c(x(4, 1), x(1, 5)), c(x(0), x()), c(x(0, 3), x(3)), c(x(2, 0), x(2, 1)),
    c(x(1), x(0)), c(x(2, 1, 2, 1, 2), x(1, 3, 1, 3, 1)),
    once(x(300, 70), x(300, 70)), once(x(300, 70), x(70)),
    once(x(300, 1), x(300, 70)), bad(x(2), x(3)), bad(x(2, 3), x(2)),
    bad(x(0), x(2)), bad(x(2, 2, 3), x(3, 3))]
TWICE = [c(x(2, 13), x(2, 13)), c(x(), x()), c(x(0, 2), x(0, 2)),
         once(x(300, 70), x(300, 70))]

ROUNDED = SHAPES + [c([0.5, 1.5, -0.5, -2.5], dtypes=REALS)]
row("Abs Ceil Conj Floor IsFinite IsInf IsNan Neg Rint Sign Square", ROUNDED,
    ANY)
# TensorFlow's answer for integers is 0, whatever they are.
row("Round", ROUNDED, ANY, dtypes=REALS)
row("Inv Reciprocal", SHAPES, DIVISOR)
# TensorFlow's answer for infinities of float64 is NaN.
row("Erf", SHAPES, Data(-9, 9))
row("Cos Exp Log Sin Sqrt Rsqrt Sigmoid Tanh", SHAPES,
    Data(-9, 9, special=True))
row("Log1p", SHAPES, Data(-0.9, 9, special=True))
row("SigmoidGrad TanhGrad", TWICE, UNIT)
row("InvGrad ReciprocalGrad SqrtGrad RsqrtGrad", TWICE, POSITIVE)
row("Relu", SHAPES, ANY)
row("ReluGrad", TWICE, ANY)
row("Tan Sinh Cosh Atan Expm1 Erfc", SHAPES, SMALL)
row("Asin Acos Atanh", SHAPES, UNIT)
row("Asinh", SHAPES)
row("Acosh", SHAPES, Data(1, 20))
BEYOND = [-np.inf, np.inf, np.nan, 0, -0.0]
row("Lgamma", SHAPES + [c([0, -1, -0.5, 1, 2, 1000] + BEYOND)], tol=2)
row("Digamma", SHAPES + [c([-1, -2, -0.5, 1, 2, 1000] + BEYOND)],
    Data(0.1, 20), tol=2)
row("BitwiseAnd BitwiseOr BitwiseXor", PAIRS, ANY)
row("Invert PopulationCount", SHAPES, ANY)
row("LeftShift RightShift", PAIRS + [
    c([1, 1, 1, 1, 64, 3], [0, 7, 8, 100, 1, 31]),
    c([1, -128, -1, -128, 64], [-1, -9, 8, 1, 7],
      dtypes=("int8", "int16", "int32", "int64"))], Data(-9, 9))
row("Complex", PAIRS[:-3])
PARTS = SHAPES + [c([1, -1, 0, 1j, -1j, -1 - 1j])]
row("Real Imag Angle", PARTS)
# The kernels' constraints do not say that both types have one precision.
row("ComplexAbs", [dataclasses.replace(case, types="every")
                   for case in PARTS], may_fail=True)
row("Bitcast", [
    c(x(2, 3), type="int32", dtypes=("float32",)),
    c(x(2, 3), type="int8", dtypes=("float32", "int64", "complex128")),
    c(x(2, 4), type="float32", dtypes=("uint8", "int8")),
    c(x(2, 2), type="complex64", dtypes=("float32", "int32")),
    c(x(0), type="uint8", dtypes=("float64",)),
    c(x(), type="uint8", dtypes=("bfloat16",)),
    c(x(3), type="quint8", dtypes=("int8",)), c(x(5), type="float16",
                                                dtypes=("bfloat16",)),
    bad(x(2, 3), type="float64"), bad(x(), type="float64")], tol=0)

row("Elu Selu Softplus Softsign", SHAPES, Data(-9, 9, special=True), tol=2)
row("EluGrad SeluGrad SoftplusGrad SoftsignGrad", TWICE + [
    bad(x(2), x(3)), bad(x(2, 3), x(3, 2))], Data(-3, 3), tol=2)
row("Relu6", SHAPES, Data(-9, 9, special=True))
row("Relu6Grad", TWICE + [bad(x(2), x(3))], Data(-3, 9))
row("LeakyRelu", SHAPES + [c(x(9), alpha=1.5), c(x(9), alpha=-0.5)],
    SMALL, dtypes=REALS)
row("LeakyReluGrad", TWICE + [c(x(9), x(9), alpha=1.5), bad(x(2), x(3))],
    SMALL, dtypes=REALS)
row("LogicalNot", SHAPES)
row("LogicalAnd LogicalOr", PAIRS)

row("Add AddV2 Sub Mul Maximum Minimum", PAIRS, ANY)
row("SquaredDifference", PAIRS)
row("RealDiv", PAIRS, ANY)
row("FloorDiv FloorMod", PAIRS + [
    c(x(5), [0, 1, -1, 2, 3], dtypes=REALS),
    c([7, -7, 7, -7, 0], [3, 3, -3, -3, 5], dtypes=("int32", "int64", "int8",
                                                    "int16") + REALS),
    bad(x(3), [1, 0, 2], dtypes=["int32"])], DIVISOR)
row("Div Mod TruncateDiv TruncateMod", PAIRS + [
    c([7, -7, 7, -7, 0], [3, 3, -3, -3, 5], dtypes=("int32", "int64")),
    bad(x(3), [1, 0, 2], dtypes=["int32"])], DIVISOR)
row("DivNoNan", PAIRS + [c(x(4), [0, 1, 0, -2])])
row("Atan2", PAIRS + [c([0, -0.0, 0, -0.0, 1, np.inf], [1, 1, -1, -1, 0, 2])])
row("Xlogy Xlog1py Xdivy MulNoNan", PAIRS + [
    c([0, 0, 0, 1], [0, -5, np.nan, 2], dtypes=REALS),
    c([0, np.inf, np.nan, 1], [0, 0, 0, 2], dtypes=REALS)], POSITIVE)
row("NextAfter", PAIRS + [c([0, 1, 1, np.inf, np.nan], [1, 2, 0, 0, 1])])
row("Igamma Igammac", PAIRS + [c(
    [0, 0, 1, 1, -1, 1, np.inf, 1, np.inf, np.nan, 1, 0.5, 10, 100, 1e-3, 2],
    [0, 1, 0, 1, 1, -1, 1, np.inf, np.inf, 1, np.nan, 2, 10, 150, 1e-5, 0])],
    POSITIVE, tol=8)
row("Zeta", PAIRS + [c(
    [1, 0.5, 2, 2, 2, 2, 3, 2.5, 2.5, 2, np.inf, 2, np.nan, 2, 3, 4],
    [1, 1, 0, -1, 1, -0.5, -0.5, -0.5, 0, 1e10, 2, np.inf, 1, np.nan, -2.5,
     -2.25])], Data(1.1, 9), tol=8)
row("Polygamma", [case for case in PAIRS[:12]] + [c(
    [0, 1, 2, 3, -1, 0.5, 1, 1, 1, np.nan, 2, 1, 0, 1, 2],
    [1, 1, 2, 0.5, 1, 1, 0, -1, -0.5, 1, np.nan, np.inf, 0, 1e10, -0.5]),
    c([[0], [1], [2], [5]], x(4, 9))] + PAIRS[-4:], POSITIVE, tol=8)
row("Betainc", [
    c(x(2, 13), x(2, 13), [[0.3] * 13, [0.7] * 13]), c(x(), x(4), 0.5),
    c(x(3), x(), [0.1, 0.5, 0.9]), c(x(), x(), 0.25), c(x(0), x(), 0.5),
    c([1, 2, 0, 1, -1, 1, 1, 1, 5, np.inf, 1, np.nan, 1, 1, 100, 0.5],
      [1, 3, 1, 0, 1, -1, 1, 1, 2, 1, np.inf, 1, np.nan, 1, 50, 0.5],
      [0.5, 0.3, 0.5, 0.5, 0.5, 0.5, -0.1, 1.1, 0, 0.5, 0.5, 0.5, 0.5,
       np.nan, 0.6, 1]), once(x(300, 70), x(300, 70), 0.4),
    bad([1], [1, 2], 0.5), bad([[1]], [1, 2], 0.5),
    bad([[1], [2]], [[1, 2]], 0.5)], POSITIVE, tol=8)
row("Pow", PAIRS + [
    c([2, 3, -2, 0], [3, 0, 2, 0], dtypes=("int32", "int64", "int16",
                                          "int8"))], Data(0, 4))
row("Less LessEqual Greater GreaterEqual", PAIRS, ANY)
row("Equal NotEqual", PAIRS[:-4] + [
    c(x(2, 3), x(2, 3), incompatible_shape_error=False),
    once(x(2), x(3), incompatible_shape_error=False), bad(x(2), x(3))],
    Data(-2, 2))
row("Cast", [c(x(3, 4)), c(x()), c(x(0)), once(x(300, 70)),
             c([1.5, 2.5, -1.5], dtypes=REALS),
             every(x(3, 4), Truncate=True)], Data(0, 90), may_fail=True)
row("AddN", [c(many(x(2, 3), x(2, 3), x(2, 3))), c(many(x(4))),
             c(many(x(0), x(0))), c(many(*[x(3)] * 11)),
             once(many(*[x(40)] * 40)),
             once(many(x(300, 70), x(300, 70))), bad(many(x(2), x(3)))])
row("Select", [c([True, False], x(2), x(2)), c(True, x(2, 3), x(2, 3)),
               c([True, False], x(2, 3), x(2, 3)), c(False, x(), x()),
               c(np.zeros(0, bool), x(0, 3), x(0, 3)),
               bad([True], x(2, 3), x(2, 3)), bad(True, x(2), x(3)),
               bad([[True, False]], x(2, 2), x(2, 2))], ANY)
row("SelectV2", [c([True, False, True], x(2, 3), x(2, 3)), c(True, x(3), x()),
                 c([[True], [False]], x(2, 3), x(3)), c(False, x(), x()),
                 c([True, False], x(0, 2), x(2)), c(x(4, 1), x(1, 5), x()),
                 bad([True, False], x(3), x(3)), bad(True, x(2), x(3))], ANY)

# ---- Reductions -------------------------------------------------------------

AXES = [
    c(x(2, 3, 4), [1]), c(x(2, 3, 4), [0]), c(x(2, 3, 4), [2]),
    c(x(2, 3, 4), [0, 1]), c(x(2, 3, 4), [0, 2]), c(x(2, 3, 4), [2, 1]),
    c(x(2, 3, 4), [0, 1, 2]), c(x(2, 3, 4), []), c(x(2, 3, 4), -1),
    c(x(2, 3, 4), [-2], keep_dims=True), c(x(2, 3, 4), [0, 2], keep_dims=True),
    c(x(), []), c(x(5), 0), c(x(3, 0), [0]), c(x(1, 1), [0, 1]),
    c(x(2, 3, 2, 3, 2), [1, 3]), c(x(2, 3, 2, 3, 2), [0, 2, 4]),
    once(x(300, 70), [0]), once(x(300, 70), [1]), once(x(300, 70), [0, 1]),
    bad(x(2, 3), [2]), bad(x(2, 3), [-3]), bad(x(2, 3), [0, 0])]
NOTHING = [c(x(0, 3), [0]), c(x(3, 0), [1]), c(x(0), [0], keep_dims=True)]

row("Sum", AXES + NOTHING, tol=8)
row("Mean", AXES + [c(x(0, 3), [0], dtypes=REALS),
                    c(x(0), [0], dtypes=REALS)], tol=8)
row("Prod", AXES[:-6] + AXES[-3:] + NOTHING, Data(-1.6, 1.6), tol=8)
row("Max Min", AXES + NOTHING, Data(special=True))
row("All Any", AXES + NOTHING)
row("ArgMax ArgMin", [
    c(x(2, 3, 4), 1), c(x(2, 3, 4), 0), c(x(2, 3, 4), -1), c(x(7), 0),
    c(x(3, 0), 0), c([[1, 1], [0, 1]], 1), once(x(300, 70), 1),
    bad(x(2, 3), 2), bad(x(2, 3), -3), bad(x(0, 3), 0), bad(x(2), [0, 1])],
    without=("Tidx", "int16"))

RUNNING = [c(x(2, 3, 4), axis, **flags) for axis in (0, 1, 2, -1)
           for flags in ({}, {"exclusive": True}, {"reverse": True})] + [
    c(x(5), 0, exclusive=True, reverse=True), c(x(0, 3), 0), c(x(3, 0), 0),
    c(x(3, 0), 1), once(x(300, 70), 0), once(x(300, 70), 1),
    once(x(40000), 0), bad(x(2), 1), bad(x(2), -2), bad(x(), 0),
    bad(x(2), [0])]
row("Cumsum", RUNNING + [
    once(x(64, 5, 70), 1, exclusive=True, reverse=True), once(x(3000), 0),
    once(x(2, 3000), 1, exclusive=True, reverse=True)], tol=64)
row("Cumprod", RUNNING, Data(-1.1, 1.1), tol=64)

# ---- Shapes and places ------------------------------------------------------

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
row("Fill", [c([2, 3], 7), c([], 7), c([0, 4], 7), c([5], x()),
             bad([2], [7, 8]), bad([-1], 7), bad([[2]], 7),
             bad([2 ** 31 - 1] * 3, 7)])
row("Tile", [c(x(2, 3), [2, 2]), c(x(2, 3), [1, 3]), c(x(), []),
             c(x(3), [0]), c(x(0), [3]), c(x(2, 1, 2), [1, 2, 1]),
             bad(x(2), [1, 1]), bad(x(2), [-1]), bad(x(2), [[1]]),
             bad(x(4), [2 ** 31 - 1])], may_fail=True)
row("Transpose", [c(x(2, 3), [1, 0]), c(x(2, 3, 4), [2, 0, 1]), c(x(), []),
                  c(x(2, 3, 4), [0, 2, 1]), c(x(5), [0]), c(x(0, 3), [1, 0]),
                  c(x(2, 1, 3, 2), [3, 1, 0, 2]), once(x(300, 70), [1, 0]),
                  c(x(2, 3), [-1, 0]), bad(x(2, 3), [0]), bad(x(2), [1]),
                  bad(x(2, 3), [0, 0]), bad(x(2, 3), [[1, 0]])])
row("ConcatV2", [
    c(many(x(2, 3), x(2, 1)), 1), c(many(x(2, 3), x(1, 3)), 0),
    c(many(x(2), x(3), x(4)), -1), c(many(x(0, 2), x(3, 2)), 0),
    c(many(x(2, 0), x(2, 0)), 1), once(many(x(300, 70), x(300, 70)), 1),
    bad(many(x(2), x(3)), 1), bad(many(x(2, 3), x(3, 3)), 1),
    bad(many(x(2), x(2, 2)), 0),
    bad(many(x(), x()), 0), bad(many(x(2), x(2)), [0, 0])])
row("ConcatOffset", [
    c(1, many([2, 3], [2, 1], [2, 0])), c(-1, many([4], [6])),
    bad(2, many([2, 3], [2, 1])), bad(0, many([2, 3], [2, 1])),
    bad(0, many([2], [2, 1])), bad([0, 1], many([2], [2]))])
row("InvertPermutation", [
    c([2, 0, 1, 3]), c([0]), c(np.zeros([0])), bad([0, 0]), bad([0, 2]),
    bad([-1, 0]), bad([[0]])])
row("Pad", [
    c(x(2, 3), [[1, 2], [0, 1]]), c(x(3), [[0, 0]]), c(x(), np.zeros([0, 2])),
    c(x(0, 2), [[1, 1], [1, 1]]), c(x(2, 1, 3), [[0, 1], [2, 0], [1, 1]]),
    bad(x(2), [[-1, 0]]), bad(x(2), [[1, 1], [1, 1]]), bad(x(2), [[1]]),
    bad(x(2), [1, 1])])
row("PadV2", [
    c(x(2, 3), [[1, 2], [0, 1]], 7), c(x(3), [[0, 0]], 7), c(x(3), [[2, 1]],
                                                             x()),
    c(x(), np.zeros([0, 2]), 7), c(x(0, 2), [[1, 1], [1, 1]], 7),
    c(x(2, 1, 3), [[0, 1], [2, 0], [1, 1]], 7), c(x(0), [[0, 0]], 7),
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
    bad(x(5), [2, 3], 1, num_split=2), bad(x(5), [2, 3, 0], 0, num_split=2)])
row("Slice", [c(x(3, 4), [1, 0], [2, 3]), c(x(3, 4), [0, 1], [-1, -1]),
              c(x(3, 4), [0, 0], [3, 4]), c(x(3, 4), [3, 0], [0, 4]),
              c(x(), [], []), c(x(2, 3, 4, 2), [0, 1, 1, 0], [2, 1, 2, 1]),
              c(x(0, 3), [0, 0], [-1, 2]), c(x(3, 4), [1, 0], [2, 4]),
              bad(x(3), [1], [3]), bad(x(3), [4], [0]), bad(x(3), [-1], [1]),
              bad(x(3), [0], [-2]), bad(x(3), [0, 0], [1, 1]),
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
    bad(many([0], [1]), many(x(1, 2), x(1)))])
row("OneHot", [c([0, 2, -1, 5], 3, 1, 0), c([[0, 1], [1, 3]], 2, 5, 6),
               c([0, 1], 3, 1, 0, axis=0), c([[0, 1]], 2, 1, 0, axis=1),
               c(1, 3, 1, 0), c(np.zeros([0]), 3, 1, 0), c([0], 0, 1, 0),
               bad([0], -1, 1, 0), bad([0], [2], 1, 0), bad([0], 2, [1], 0),
               bad([0], 2, 1, [0]), bad([0], 2, 1, 0, axis=2)])
row("Where", [c([[0, 1, 2], [3, 0, 0]]), c([0, 0]), c([True, True]),
              once(np.arange(3000).reshape(60, 50) % 7 % 2),
              c(np.zeros([0, 3])), c(x(2, 3, 4)), once(x(300, 70)),
              bad(1)], Data(-1, 1), may_fail=True)
row("Range", [c(0, 5, 1), c(3, 0, -1), c(0, 0, 1), c(1, 10, 3), c(5, 5, -1),
              c(0.25, 2, 0.5, dtypes=REALS), bad(0, 5, 0), bad(0, 5, -1),
              bad(5, 0, 1), bad([0, 1], 5, 1), bad(0, [[5]], 1),
             bad(0, 5, [1, 1])])
row("BroadcastTo", [
    c(x(3), [2, 3]), c(x(), [2, 2]), c(x(2, 1, 3), [2, 4, 3]), c(x(1), [0]),
    c(x(2, 3), [2, 3]), c(x(), []), c(x(0, 3), [2, 0, 3]),
    once(x(1, 70), [300, 70]), bad(x(3), [2]), bad(x(2, 3), [3]),
    bad(x(2, 3), [2, -1]), bad(x(3), [[3]]), bad(x(2), [3, 4])])
row("BroadcastArgs", [
    c([2, 3], [3]), c([2, 1], [1, 3]), c([], [2]), c([4, 1, 3], [2, 1]),
    c([0, 1], [3]), c([], []), bad([2], [3]), bad([[2]], [2])])
row("BroadcastGradientArgs", [
    c([2, 3], [3]), c([2, 3], [2, 3]), c([], [2]), c([2, 1], [1, 3]),
    c([1], [1]), c([4, 1, 3], [2, 1]), c([0, 1], [3]), c([], []),
    bad([2], [3]), bad([[2]], [2])])

# ---- Values out of nothing --------------------------------------------------

row("PlaceholderWithDefault", [c(x(2, 3), shape=[2, 3]), c(x(), shape=None),
                               c(x(0, 2), shape=[None, 2])], ANY)

# ---- Networks ---------------------------------------------------------------

row("MatMul", [
    c(x(2, 3), x(3, 4)), c(x(3, 2), x(3, 4), transpose_a=True),
    c(x(2, 3), x(4, 3), transpose_b=True), c(x(1, 1), x(1, 1)),
    c(x(3, 2), x(4, 3), transpose_a=True, transpose_b=True),
    c(x(0, 3), x(3, 2)), c(x(2, 0), x(0, 3)), c(x(2, 3), x(3, 0)),
    c(x(1, 7), x(7, 5)), c(x(5, 7), x(7, 1)), once(x(130, 70), x(70, 90)),
    bad(x(2, 3), x(2, 3)), bad(x(3), x(3)), bad(x(2, 2, 2), x(2, 2)),
    bad(x(2, 3), x(3, 2), transpose_a=True)], SMALL, tol=16)
MATRICES = [
    c(x(2, 3), x(3, 4)), c(x(2, 2, 3), x(2, 3, 4)),
    c(x(2, 3, 2), x(2, 3, 4), adj_x=True),
    c(x(2, 2, 3), x(2, 4, 3), adj_y=True),
    c(x(2, 1, 3, 2), x(2, 1, 4, 3), adj_x=True, adj_y=True),
    c(x(0, 2, 3), x(0, 3, 4)), c(x(2, 2, 0), x(2, 0, 3)),
    c(x(2, 0, 3), x(2, 3, 2)), c(x(1, 1, 1), x(1, 1, 1)),
    once(x(3, 130, 70), x(3, 70, 90)), once(x(40, 5, 7), x(40, 7, 3)),
    once(x(3, 70, 130), x(3, 90, 70), adj_x=True, adj_y=True),
    bad(x(2, 2, 3), x(2, 2, 3)), bad(x(3), x(3)), bad(x(3), x(3, 2)),
    bad(x(2, 2, 3), x(3, 3, 2)), bad(x(), x(2, 2)),
    bad(x(2, 2, 3), x(2, 3, 2), adj_x=True),
    bad(x(2, 2, 3), x(2, 3, 2), adj_y=True)]
BROADCAST = [
    c(x(2, 2, 3), x(3, 4)), c(x(2, 3), x(2, 3, 4)),
    c(x(2, 1, 2, 3), x(3, 3, 2)), c(x(1, 2, 3), x(3, 3, 2)),
    c(x(3, 3, 2), x(1, 3, 2), adj_x=True), c(x(2, 1, 2, 3), x(1, 3, 2, 3),
                                             adj_y=True),
    c(x(0, 2, 3), x(1, 3, 3)), c(x(2, 1, 2, 3), x(0, 3, 2)),
    once(x(30, 20, 30), x(30, 40)), once(x(100, 100), x(20, 100, 100)),
    bad(x(2, 1, 2, 3), x(3, 2, 3)), bad(x(2, 2, 2, 3), x(3, 3, 2)),
    bad(x(2, 3), x(0, 2, 2)), bad(x(3, 2), x(2))]
row("BatchMatMul", MATRICES + [
    bad(x(2, 2, 3), x(3, 2)), bad(x(1, 2, 3), x(3, 3, 2)),
    bad(x(0, 2, 3), x(1, 3, 3)), bad(x(1, 2, 3), x(2, 1, 3, 2))],
    SMALL, tol=16)
row("BatchMatMulV2", MATRICES + BROADCAST, SMALL, tol=16)
row("BatchMatMulV3", MATRICES + BROADCAST + [every(x(2, 2, 300), x(300, 3))],
    SMALL, tol=64)
row("BiasAdd", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                c(x(2, 3, 4, 5), x(3), data_format="NCHW"),
                c(x(2, 3, 4), x(3), data_format="NCHW"),
                once(x(300, 70), x(70)), bad(x(2, 3), x(2)), bad(x(3), x(3)),
                bad(x(2, 3), x(3, 1)),
                bad(x(2, 3, 4), x(4), data_format="NCHW")])
row("BiasAddV1", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                  bad(x(2, 3), x(2)), bad(x(3), x(3)), bad(x(2, 3), x(3, 1))])
row("BiasAddGrad", [c(x(2, 3)), c(x(2, 3, 4)), c(x(0, 3)),
                    c(x(2, 3, 4, 5), data_format="NCHW"), once(x(300, 70)),
                    bad(x(3)), bad(x())], tol=32)
row("L2Loss", SHAPES[:-1] + [once(x(300, 70))], tol=8)
row("Softmax LogSoftmax", [c(x(2, 5)), c(x(5)), c(x(2, 3, 4)), c(x(0, 3)),
                           c(x(3, 1)), once(x(300, 70)), bad(x())], tol=4)
row("SoftmaxCrossEntropyWithLogits", [
    c(x(2, 5), x(2, 5)), c(x(2, 5), x(1, 5)), c(x(1, 5), x(2, 5)),
    c(x(0, 3), x(0, 3)), once(x(300, 70), x(300, 70)), bad(x(2, 5), x(2, 4)),
    bad(x(5), x(5))], Data(0, 3), tol=8)
row("SparseSoftmaxCrossEntropyWithLogits", [
    c(x(3, 5), [0, 4, 2]), c(x(0, 5), np.zeros([0])), c(x(1, 1), [0]),
    once(x(300, 70), list(range(70)) * 4 + [1] * 20), bad(x(2, 5), [0]),
    bad(x(5), [0]), bad(x(2, 5), [[0], [1]]), bad(x(2, 0), [0, 0])],
    Data(0, 3), tol=8)

# ---- Linear algebra ---------------------------------------------------------

def positive_definite(*dims):
    """Matrices that have a Cholesky factor and are easily inverted."""
    flat = np.random.RandomState(5).uniform(-1, 1, dims)
    return flat @ np.swapaxes(flat, -1, -2) + dims[-1] * np.eye(dims[-1])


def regular(*dims):
    """Matrices that are easily inverted."""
    flat = np.random.RandomState(6).uniform(-1, 1, dims)
    return flat + 2 * dims[-1] ** 0.5 * np.eye(dims[-1])


SINGULAR = [[1, 2], [2, 4]]
NO_MATRIX = [bad(x(3)), bad(x())]
NO_SQUARE = NO_MATRIX + [bad(x(2, 3)), bad(x(2, 3, 2))]
EMPTY = [c(x(0, 0)), c(x(0, 2, 2)), c(x(2, 0, 0))]
row("Qr", [c(x(*dims), full_matrices=full) for full in (False, True)
           for dims in [(3, 3), (4, 2), (2, 4), (1, 1), (1, 3), (3, 1),
                        (2, 3, 4, 3), (0, 3), (3, 0), (0, 0), (2, 0, 3),
                        (0, 2, 2)]] + [
    c([[2, 0], [0, 3]]), c([[-2, 1], [0, -3]]), c([[0, 1], [0, 2], [0, 0]]),
    once(x(40, 30)), once(x(70, 70)), once(x(300, 3)), once(x(3, 300)),
    once(x(50, 20), full_matrices=True)] + NO_MATRIX, Data(-2, 2), tol=64)
row("Cholesky", [
    c(positive_definite(3, 3)), c(positive_definite(1, 1)),
    c([[4, 99], [2, 5]]), c(positive_definite(2, 3, 2, 2)),
    once(positive_definite(40, 40))] + EMPTY + NO_SQUARE, tol=8)
row("MatrixInverse", [
    c(regular(3, 3)), c(regular(2, 3, 4, 4), adjoint=True), c(regular(1, 1)),
    c([[0, 2], [4, 0]]), once(regular(40, 40)), bad(SINGULAR),
    bad([[np.nan, 0], [0, 1]]), bad([[0, 0], [0, 0]])] + EMPTY + NO_SQUARE,
    tol=16)
row("MatrixSolve", [
    c(regular(3, 3), x(3, 2)), c(regular(2, 4, 4), x(2, 4, 1)),
    c(regular(3, 3), x(3, 2), adjoint=True), c(regular(2, 2), x(2, 0)),
    c([[0, 2], [4, 0]], x(2, 2)), c(x(0, 0), x(0, 3)), c(x(0, 0), x(0, 0)),
    c(x(0, 2, 2), x(0, 2, 1)), once(regular(40, 40), x(40, 5)),
    bad(SINGULAR, x(2, 1)), bad(regular(2, 2), x(3, 1)),
    bad(regular(2, 2), x(2)), bad(x(2, 3), x(2, 1)),
    bad(regular(2, 2, 2), x(1, 2, 2)), bad(regular(2, 2), x(1, 2, 2))],
    tol=16)
row("MatrixTriangularSolve", [
    c(regular(3, 3), x(3, 2)), c(regular(3, 3), x(3, 2), lower=False),
    c(regular(3, 3), x(3, 2), adjoint=True),
    c(regular(3, 3), x(3, 2), adjoint=True, lower=False),
    c(regular(2, 2), x(3, 2, 2)), c(regular(2, 1, 2, 2), x(3, 2, 1)),
    c(x(0, 0), x(0, 3)), c(regular(2, 2), x(2, 0)), c(SINGULAR, x(2, 1)),
    once(regular(40, 40), x(40, 5)), bad(regular(2, 2), x(3, 1)),
    bad(regular(2, 2), x(2)), bad(x(2, 3), x(2, 1)),
    bad(regular(2, 2, 2), x(3, 2, 1))], tol=16)
row("MatrixDeterminant LogMatrixDeterminant", [
    c(regular(3, 3)), c(regular(2, 4, 4)), c([[1, 2], [3, 4]]),
    c([[0, 1], [1, 0]]), c(SINGULAR), c(regular(1, 1)), c([[-3]]),
    once(regular(40, 40)), c(np.diag([-1.0, 0, 3])), c(np.zeros([3, 3])),
    c([[1, 2], [np.nan, 4]])] + EMPTY + NO_SQUARE, tol=32)
# Values and vectors of matrices that have some are in scenarios.py.
row("SelfAdjointEigV2", [c(x(0, 0)), c(x(0, 2, 2)),
                         bad([[np.nan, 0], [0, 1]])] + NO_SQUARE)
row("Svd", [
    c(x(0, 3)), c(x(3, 0)), c(x(0, 3), full_matrices=True),
    c(x(3, 0), full_matrices=True), c(x(2, 0, 3), full_matrices=True),
    c(x(0, 2, 2)), c(x(0, 0)), c([[np.nan, 0], [0, 1]]),
    c([[np.inf, 0], [0, 1]])] + NO_MATRIX)

# ---- Diagonals --------------------------------------------------------------

DIAGONALS = [c(x(3)), c(x(2, 3)), c(x(0)), c(x(2, 0)), c(x(0, 3)), c(x(1)),
             once(x(70)), bad(x())]
DIAGONAL_PARTS = [c(x(3, 3)), c(x(2, 3)), c(x(4, 2)), c(x(2, 3, 4)),
                  c(x(0, 3)), c(x(0, 2, 2)), bad(x(3)), bad(x())]
row("MatrixDiag", DIAGONALS + [c(x(2, 2, 2))], ANY)
row("MatrixDiagPart", DIAGONAL_PARTS, ANY)
row("MatrixSetDiag", [
    c(x(3, 3), x(3)), c(x(2, 3), x(2)), c(x(2, 4, 3), x(2, 3)),
    c(x(0, 3), x(0)), c(x(3, 0), x(0)), once(x(70, 60), x(60)),
    bad(x(2, 3), x(3)), bad(x(3), x(3)), bad(x(2, 3, 3), x(3)),
    bad(x(3, 3), x())], ANY)
ALIGNS = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]


def with_aligns(version, cases):
    """V2 cases as they are; V3 ones with an alignment, once() with each."""
    for number, case in enumerate(cases):
        if version == "V2":
            yield case
        elif case.types == "once" and not case.bad:
            for align in ALIGNS:
                yield dataclasses.replace(case, attrs=dict(align=align))
        else:
            yield dataclasses.replace(case,
                                      attrs=dict(align=ALIGNS[number % 4]))


BANDS = [[-1, 1], [0, 1], [-2, 0], [1, 2], [-2, -1], 0, [0], 1, -2, [2, 2]]
WRONG_BANDS = [-3, 4, [2, 1], [0, 1, 2], [[0]], [], [-9, 9]]
DIAG_SIZES = [
    (0, -1, -1, x(3)), (1, -1, -1, x(3)), (-1, -1, -1, x(3)),
    (0, 4, -1, x(3)), (0, -1, 5, x(3)), (0, 3, 3, x(3)), ([0], 3, 4, x(3)),
    ([0, 0], -1, -1, x(3)), (5, -1, -1, x(3)), (1, 3, 5, x(3)),
    (1, 5, -1, x(3)), (-1, -1, 5, x(3)), (2, 3, 3, x(1)),
    (0, -1, -1, x(0)), (0, 0, -1, x(0)), (0, -1, -1, x(0, 3))] + [
    (band, *size, x(*dims)) for band, dims, size in [
        ([-1, 1], (3, 3), (-1, -1)), ([-1, 1], (3, 3), (3, 4)),
        ([0, 1], (2, 2, 3), (-1, -1)), ([-1, 1], (3, 2), (4, 2)),
        ([-2, 1], (4, 3), (4, -1)), ([1, 2], (2, 3), (-1, -1)),
        ([-2, -1], (2, 3), (-1, 3))]]
WRONG_SIZES = [
    (0, 2, 3, x(3)), (0, 4, 4, x(3)), ([-1, 1], -1, -1, x(2, 3)),
    ([1, -1], -1, -1, x(3, 3)), (0, -1, -1, x()), (0, 2, 2, x(0)),
    ([0, 1], -1, -1, x(3)), (0, -2, -1, x(3)), (3, 3, 3, x(1)),
    ([0, 1, 2], -1, -1, x(3)), ([], -1, -1, x(3)), ([[0]], -1, -1, x(3)),
    (0, [3], 3, x(3)), (0, 3, [3], x(3))]
for suffix in ("V2", "V3"):
    row("MatrixDiagPart" + suffix, list(with_aligns(suffix, [
        *(c(x(3, 4), band, 7) for band in BANDS[:4]),
        *(once(x(3, 4), band, 7) for band in BANDS),
        *(once(x(2, 4, 3), band, 7) for band in BANDS),
        c(x(0, 3), 0, 7), c(x(3, 0), 0, 7), c(x(0, 3), 1, 7),
        c(x(0, 2, 3), [0, 1], 7), once(x(70, 60), 3, 0),
        *(bad(x(3, 4), band, 7) for band in WRONG_BANDS),
        bad(x(3), 0, 7), bad(x(3, 3), 0, [7, 8]), bad(x(3, 3), 0, [])])),
        ANY)
    row("MatrixDiag" + suffix, list(with_aligns(suffix, [
        c(x(3, 3), [-1, 1], 3, 4, 7),
        *(once(values, band, rows, columns, 7)
          for band, rows, columns, values in DIAG_SIZES),
        *(bad(values, band, rows, columns, 7)
          for band, rows, columns, values in WRONG_SIZES),
        bad(x(3), 0, -1, -1, [7]), bad(x(3), 0, 2 ** 31 - 1, -1, [7])])), ANY)
    # Bands are in scenarios.py: TensorFlow's client wants to know them.
    row("MatrixSetDiag" + suffix, list(with_aligns(suffix, [
        *(c(x(3, 4), x(*dims), band) for band, dims in [
            (0, (3,)), (1, (3,)), (2, (2,)), (3, (1,)), ([0, 0], (3,))]),
        c(x(2, 3, 4), x(2, 3), 0), c(x(0, 3), x(0), 0), c(x(3, 0), x(0), 0),
        c(x(0, 3, 3), x(0, 3), 0),
        *(bad(x(3, 4), x(*dims), band) for band, dims in [
            (2, (3,)), ([-1, 1], (3, 4)), (0, ()), (4, (1,)),
            ([0, 0], (1, 3)), ([0, 1], (3,)), ([1, 0], (3,)), ([], (3,)),
            ([[0]], (3,))]),
        bad(x(2, 3, 4), x(3), 0), bad(x(3), x(3), 0)])), ANY)
row("MatrixBandPart", [
    *(c(x(3, 4), lower, upper) for lower, upper in [
        (0, 0), (1, 0), (-1, 0), (0, -1), (-1, -1), (2, 3), (3, 4), (3, 0),
        (0, 4), (-2, 1), (1, 1)]),
    c(x(2, 4, 3), 1, 1), c(x(0, 3), 0, 0), c(x(2, 0), 0, 0),
    once(x(70, 60), 3, 9), bad(x(3, 4), 4, 0), bad(x(3, 4), 0, 5),
    bad(x(3), 0, 0), bad(x(3, 4), [1], 0), bad(x(3, 4), 0, [1, 1]),
    bad(x(0, 3), 1, 0)], ANY)
row("Diag", [c(x(3)), c(x(2, 3)), c(x(0)), c(x(2, 1, 2)), once(x(70)),
             c(x(2, 0)), c(x(1, 1, 2, 1)), bad(x())], ANY)
row("DiagPart", [
    c(x(3, 3)), c(x(2, 3, 2, 3)), c(x(0, 0)), c(x(2, 1, 2, 2, 1, 2)),
    once(x(70, 70)), bad(x(3)), bad(x(2, 3)), bad(x(2, 3, 3, 2)),
    bad(x(2, 2, 2))], ANY)

# ---- Strings and files ------------------------------------------------------

PIXELS = bytes(range(256)) * 9
row("StringJoin", [c(many(x(3), x(3))), c(many([b"a", b"b"], b"!")),
                   c(many(b"x")), c(many(x(2), x(2), x(2)), separator="-"),
                   c(many(x(0), x(0))), bad(many(x(2), x(3)))])
row("StaticRegexFullMatch", [
    c([b"s3://a", b"as3://", b""], pattern="^s3://.*"),
    c(b"train", pattern=".*t.*"), c([[b"abc"]], pattern="a[b-d]+c?"),
    c(np.zeros([0], object), pattern="x"), c(b"a\nb", pattern="a.b"),
    bad(b"x", pattern="(")])
row("ShardedFilename", [c(b"/a/model", 1, 12), c(b"", 0, 1),
                        bad([b"a"], 0, 1), bad(b"a", [0], 1)])
row("ReadFile", [c(__file__.encode()), bad(b"/no/such/file"), bad(b"/"),
                 bad([__file__.encode()] * 2), bad(b"")])
row("DecodeCompressed", [
    c([zlib.compress(PIXELS)], compression_type="ZLIB"),
    c(gzip.compress(PIXELS), compression_type="GZIP"), c([[b"as is"]]),
    c([zlib.compress(b""), zlib.compress(b"b" * 70000)],
      compression_type="ZLIB"),
    c([zlib.compress(PIXELS)[:99]], compression_type="ZLIB"),
    bad([zlib.compress(PIXELS)[2:]], compression_type="ZLIB"),
    bad([b"nothing"], compression_type="GZIP")])
RAW = [t for t in types_of("DecodeRaw") if t != "bool"]
row("DecodeRaw", [
    c([PIXELS[:32], PIXELS[32:64]], dtypes=RAW),
    c(PIXELS[:16], little_endian=False, dtypes=RAW), c([[b"\0\1" * 8]]),
    c(np.array([b""], object)), c(np.zeros([0], object)),
    bad([PIXELS[:3]], out_type="int32"),
    bad([PIXELS[:4], PIXELS[:8]])], tol=0)

# ---- Random: the same bits from the same seeds, in the second step too ------

SEEDED = [c([2, 3], seed=87654321, seed2=5), c([], seed=1, seed2=0),
          c([0], seed=1, seed2=2), c([1000], seed=0, seed2=7),
          c([3, 0, 2], seed=3, seed2=4), once([70000], seed=2 ** 40, seed2=-3),
          bad([-1], seed=1), bad([[2]], seed=1),
          bad([2 ** 31 - 1] * 3, seed=1)]
row("RandomUniform RandomStandardNormal TruncatedNormal", SEEDED, tol=0,
    runs=2)
row("RandomUniformInt", [
    c([2, 3], -5, 60, seed=87654321, seed2=5), c([0], 0, 1, seed=1),
    c([1000], 0, 2 ** 31 - 1, seed=7, seed2=7), c([], -1, 0, seed=1),
    once([70000], 0, 10, seed=2 ** 40, seed2=-3), bad([2], 5, 5, seed=1),
    bad([2], 5, 4, seed=1), bad([2], [0], [5], seed=1),
    bad([-1], 0, 5, seed=1)], tol=0, runs=2)

SHAPED = [[2, 3], [], [0], [1000], [3, 0, 2]]
# Of shape, seed or key: what the stateless ops refuse.
WRONG_SEEDS = [bad([-1], [1, 2]), bad([[2]], [1, 2]), bad(4, [1, 2]),
               bad([2 ** 31 - 1] * 3, [1, 2]), bad([2], [1, 2, 3]),
               bad([2], 1), bad([2], [[1, 2]]), bad([0], [1])]
STATELESS = [c(shape, [7, -9]) for shape in SHAPED] + [
    c([9], [2 ** 31 - 1, -2 ** 31]), once([70000], [0, 0]),
    once([300, 70], [3, 4])] + WRONG_SEEDS
row("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal",
    STATELESS, tol=0, runs=2)
# Its definition allows seeds without a sign; TensorFlow's kernel does not.
row("StatelessRandomUniformFullInt", STATELESS, tol=0, may_fail=True)
row("StatelessRandomUniformInt", [c(shape, [7, -9], -5, 60)
                                  for shape in SHAPED] + [
    c([0], [1, 2], 5, 5), c([99], [5, 6], -2 ** 31, 2 ** 31 - 1),
    once([70000], [1, 2], 0, 10), bad([2], [1, 2], 5, 5),
    bad([2], [1, 2], 5, 4), bad([2], [1, 2], [0], 5), bad([2], [1], 0, 5),
    bad([-2], [1, 2], 0, 5)], tol=0)

KEYED = [([7], [0, 9]), ([2 ** 64 - 1], [2 ** 64 - 1, 2 ** 64 - 2]),
         ([3], [5, 6, 7])]
WRONG_KEYS = [([1, 2], [3, 4], 1), (1, [3, 4], 1), ([1], [[3, 4]], 1),
              ([1], 3, 1), ([1], [3, 4], 2), ([1], [3, 4], 0),
              ([1], [3, 4], 9), ([1], [3, 4], [1])]


def keyed_cases(*bounds):
    """Cases of a V2 op: shape, key, counter, algorithm, bounds."""
    for shape in SHAPED + [[70000]]:
        make = once if shape == [70000] else c
        for key, counter in KEYED:
            key, counter = np.uint64(key), np.uint64(counter)
            yield make(shape, key, counter, 1, *bounds)
            yield make(shape, key, counter, 3, *bounds)
    for key, counter, algorithm in WRONG_KEYS:
        yield bad([2], key, counter, algorithm, *bounds)
        empty = c if algorithm in (0, 2) else bad
        yield empty([0], key, counter, algorithm, *bounds)
    yield bad([-2], [1], [3, 4], 1, *bounds)
    yield bad(2, [1], [3, 4], 1, *bounds)
    yield bad([[2]], [1], [3, 4], 1, *bounds)


row("StatelessRandomUniformV2 StatelessRandomNormalV2 "
    "StatelessTruncatedNormalV2 StatelessRandomUniformFullIntV2",
    list(keyed_cases()), tol=0)
row("StatelessRandomUniformIntV2", list(keyed_cases(-5, 60)) + [
    bad([2], [1], [3, 4], 1, 5, 5), bad([2], [1], [3, 4], 1, 5, 4),
    bad([2], [1], [3, 4], 1, [0], 5), bad([2], [1], [3, 4], 1, 0, [5]),
    c([0], [1], [3, 4], 1, 5, 5)], tol=0)
row("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", [
    c([1, 2]), c([-1, 2 ** 31 - 1]), c([0, 0]), bad([1]), bad(1),
    bad([1, 2, 3]), bad([[1, 2]]), bad([])], tol=0)
row("StatelessRandomGetAlg", [c()], tol=0)

row("RandomShuffle", [
    c(x(7), seed=5, seed2=6), c(x(7, 3), seed=5, seed2=6), c(x(), seed=1),
    c(x(1, 4), seed=1), c(x(0), seed=1), c(x(3, 0), seed=1),
    c(x(2, 3, 2), seed=-5, seed2=2 ** 40), once(x(3001), seed=9),
    once(x(300, 70), seed=8)], tol=0, runs=3)

LOGITS = Data(-4, 4)
MULTINOMIAL = [
    c(x(2, 5), 7), c(x(1, 1), 3), c(x(3, 4), 1), c(x(0, 4), 3), c(x(2, 3), 0),
    c([[np.inf, 0, 0], [-np.inf] * 3, [np.nan, 0, 1]], 9),
    c(x(5, 9), 13), once(x(1, 300), 5000), bad(x(2, 3), -1), bad(x(3), 2),
    bad(x(2, 0), 2), bad(x(0, 0), 2), bad(x(2, 3), [2]), bad(x(2, 2, 2), 1)]
row("Multinomial", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(MULTINOMIAL)],
    LOGITS, tol=0, runs=3)
row("StatelessMultinomial", [
    dataclasses.replace(case, inputs=case.inputs + ([number, 5],))
    for number, case in enumerate(MULTINOMIAL)] + [
        bad(x(2, 3), 2, [1]), bad(x(2, 3), 2, 1)], LOGITS, tol=0)

ALPHAS = [0.3, 1, 1.7, 20, 0.9999, 1e-3, 1e6]
GAMMA = [c([3], ALPHAS), c([], 2), c([2, 3], [[0.5], [4]]), c([0], [1]),
         c([3], []), c([1000], [0.2, 1]), c([4], [-1, 0, -2 / 3, np.nan]),
         once([5000], [0.7, 1, 3])]
WRONG_SHAPES = [bad([-1], [1]), bad(3, [1]), bad([[3]], [1]),
                bad([2 ** 31 - 1] * 3, [1])]
row("RandomGamma", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(GAMMA + WRONG_SHAPES)],
    tol=0, runs=3, dtypes=("float32", "float64", "float16"))
RATES = [3, 0, 9, 10, 11, 60, 700, 50000]
POISSON = [c([4], RATES), c([], 2), c([2, 3], [[1], [40]]), c([0], [1]),
           c([3], []), c([1000], [2, 30]),
           c([2], [-1, -np.inf, np.inf, 0.3, 9.99], dtypes=REALS),
           once([5000], [2, 30])] + WRONG_SHAPES
row("RandomPoissonV2", [
    dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
    for number, case in enumerate(POISSON)], tol=0, runs=3)


def with_seeds(case, number):
    """A stateless case: its shape ends with that of the parameter."""
    shape, parameter = case.inputs
    if not case.bad:
        shape = shape + list(np.shape(parameter))
    return dataclasses.replace(case, inputs=(shape, [number, -3], parameter))


UNSEEDED = [bad([2], [1, 2, 3], [1, 2]), bad([2], [1, 2], [1, 2, 3]),
            bad([2], [1, 2], [[1, 2]])]
row("StatelessRandomGammaV2", [
    with_seeds(case, number) for number, case in enumerate(
        GAMMA + WRONG_SHAPES)] + UNSEEDED, tol=0,
    dtypes=("float32", "float64", "float16"))
row("StatelessRandomPoisson", [
    with_seeds(case, number) for number, case in enumerate(POISSON)] +
    UNSEEDED, tol=0)

CLASSES = [[1], [2], [0], [9]]


def candidates(**attrs):
    """Cases of a candidate sampler; attrs go to all of them."""
    attrs = dict(dict(num_true=1, num_sampled=6, unique=False, seed=3),
                 **attrs)
    pairs = np.arange(8).reshape(4, 2)
    yield c(CLASSES, **attrs)
    yield c(CLASSES, **dict(attrs, unique=True, seed2=5))
    yield c(pairs, **dict(attrs, num_true=2, seed2=6))
    yield c(np.zeros([0, 1]), **dict(attrs, seed=2 ** 40, seed2=-5))
    yield bad([[-1]], **attrs)
    yield bad([[2 ** 62]], **attrs)
    yield bad([[1, 2]], **attrs)
    yield bad([1], **attrs)
    yield bad(1, **attrs)


row("LogUniformCandidateSampler UniformCandidateSampler", [
    *candidates(range_max=10), *candidates(range_max=5000),
    *candidates(range_max=64, num_sampled=50), *candidates(range_max=2 ** 40),
    c([[1]], num_true=1, num_sampled=900, unique=True, range_max=1000, seed=2),
    c([[0]], num_true=1, num_sampled=1, unique=True, range_max=1, seed=2),
    bad([[10]], num_true=1, num_sampled=1, unique=True, range_max=10),
    bad([[1]], num_true=1, num_sampled=4, unique=True, range_max=3)],
    tol=0, runs=3)
row("AllCandidateSampler", list(candidates(num_sampled=10)), tol=0, runs=2)
WEIGHTS = [3.0, 1.0, 0.0, 0.5, 2.0, 2.0, 7.25, 1e-3, 4.0, 1.0]
row("FixedUnigramCandidateSampler", [
    *candidates(range_max=10, unigrams=WEIGHTS),
    *candidates(range_max=10, unigrams=WEIGHTS, distortion=0.75),
    *candidates(range_max=12, unigrams=WEIGHTS, num_reserved_ids=2),
    c([[1], [2]], num_true=1, num_sampled=3, unique=True, range_max=5,
      unigrams=WEIGHTS, num_shards=2, shard=1, seed=4),
    c([[1], [2]], num_true=1, num_sampled=3, unique=False, range_max=4,
      unigrams=WEIGHTS, num_shards=3, shard=0, num_reserved_ids=2, seed=4),
    c([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
      unigrams=[2.0], seed=4),
    c([[0]], num_true=1, num_sampled=9, unique=False, range_max=3, seed=4,
      unigrams=[2.0, -1.0, 3.0]),
    c([[0]], num_true=1, num_sampled=9, unique=False, range_max=3, seed=4,
      unigrams=[0.0, 0.0, 0.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=2,
        unigrams=[2.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        unigrams=[2.0, 1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file="/no/such/file"),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file=__file__),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        num_reserved_ids=5, unigrams=[1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        num_shards=1, shard=1, unigrams=[1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file="/x", unigrams=[1.0])], tol=0, runs=3)
row("ComputeAccidentalHits", [
    c([[1, 2], [3, 3]], [3, 2, 3], num_true=2), c([[5]], [1, 2], num_true=1),
    c(np.zeros([0, 2]), [1], num_true=2), c([[1]], [], num_true=1),
    once(np.arange(600).reshape(200, 3), np.arange(500)[::-7], num_true=3),
    bad([[1, 2]], [1], num_true=1), bad([1], [1], num_true=1),
    bad([[1]], [[1]], num_true=1), bad([[1]], 1, num_true=1)], tol=0)

# ---- Variables --------------------------------------------------------------

row("Assign", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(2, 3)), x(6), validate_shape=False),
    c(var(x(2, 3)), x(2, 3), use_locking=False), c(var(declared=[4]), x(4)),
    bad(var(x(2, 3)), x(3, 2)), bad(var(x(2)), x(3))], ANY)
row("AssignAdd AssignSub", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(4)), x(4), use_locking=True), once(var(x(300, 70)), x(300, 70)),
    bad(var(x(2)), x(3)), bad(var(declared=[2]), x(2))], runs=2)
row("IsVariableInitialized", [c(var(x(2))), c(var(declared=[2]))],
    dtypes=types_of("Assign"))
row("ReadVariableOp", [c(var(x(2, 3))), c(var(x())), c(var(x(0, 2))),
                       bad(var(declared=[2]))], ANY,
    dtypes=types_of("AssignVariableOp"))
row("AssignVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(2), declared=None), x(2), validate_shape=True),
    bad(var(x(2)), x(3), validate_shape=True)], ANY)
row("AssignAddVariableOp AssignSubVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(300, 70)), x(300, 70)), bad(var(x(2)), x(3)),
    bad(var(declared=[2]), x(2))], runs=2)
row("VarIsInitializedOp", [
    c(var(x(2), "float32")), c(var(None, "int64", [2]))])
row("DisableCopyOnRead", [c(var(x(2, 3), "float32")),
                          bad(var(None, "float32", [2]))])
row("DestroyResourceOp", [
    c(var(x(2), "float32")), c(var(None, "float32", [2])),
    bad(var(None, "float32", [2]), ignore_lookup_error=False)], reads=False)
row("VariableShape", [
    c(var(x(2, 3), "float32")), c(var(x(), "int64")),
    c(var(x(0, 2), "string")), bad(var(None, "float32", [2]))], reads=False)
row("ResourceGather", [
    c(var(x(5, 3)), [0, 4, 0]), c(var(x(5)), 2), c(var(x(5)), [[1], [2]]),
    c(var(x(5, 2)), np.zeros([0])), c(var(x(2, 3, 4)), [[0, 1], [2, 0]],
                                      batch_dims=1),
    bad(var(x(5)), [5], gpu=c(var([0]), [0])),
    bad(var(x(5)), [-1], gpu=c(var([0]), [0])),
    bad(var(declared=[5]), [0]), bad(var(x()), [0])], reads=False)
NONE = np.zeros([0])
SCATTERED = [
    c(var(x(5, 3)), [0, 4, 0], x(3, 3)), c(var(x(5)), 2, x()),
    c(var(x(5)), [[1, 2]], x(1, 2)), c(var(x(5)), [1, 1], x()),
    c(var(x(5, 2)), np.zeros([0]), x(0, 2)), c(var(x(2, 0)), [1], x(1, 0)),
    c(var(x(4, 2, 3)), [3, 3, 0, 3], x(4, 2, 3)),
    c(var(x(3, 9)), [2, 2], x()),
    once(var(x(300, 70)), list(range(299, 0, -2)) * 7, x(1050, 70)),
    once(var(x(40)), list(range(40)) * 2000, x(80000)),
    bad(var(x(5)), [5], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [-1], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [[0, 9]], [[2, 3]], gpu=c(var(x(5)), [0], [2])),
    bad(var(x()), [0], x(1)),
    bad(var(x(5)), [0, 1], x(3)), bad(var(x(5, 2)), [0, 1], x(3, 2)),
    bad(var(x(5)), np.zeros([0]), x(1, 1)),
    bad(var(x(0)), [0], x(1), gpu=c(var(x(0)), NONE, x(0))),
    bad(var(declared=[5]), [0], x(1))]
row("ScatterAdd ScatterSub ResourceScatterAdd ResourceScatterSub", SCATTERED,
    tol=64, runs=2)
row("ScatterMul ResourceScatterMul", SCATTERED, Data(-1.5, 1.5), tol=64,
    runs=2)
row("ScatterDiv ResourceScatterDiv", SCATTERED, Data(-3, 3, nonzero=True),
    tol=512, runs=2)
row("ScatterMin ScatterMax", SCATTERED,
    dtypes=REALS + ("int32", "int64"))
row("ResourceScatterMin ResourceScatterMax", SCATTERED)
row("ScatterUpdate ResourceScatterUpdate", SCATTERED[:-3] + SCATTERED[-2:],
    ANY)

TUPLES = [
    c(var(x(5, 3)), [[0], [4], [0]], x(3, 3)),
    c(var(x(5, 3)), [[0, 2], [4, 0], [0, 2]], x(3)),
    c(var(x(5, 3)), [[[0, 2], [4, 0]], [[0, 2], [1, 1]]], x(2, 2)),
    c(var(x(5)), np.zeros([0, 1]), x(0)), bad(var(x(5)), [3], x()),
    c(var(x(2, 3, 2)), [[1, 2], [0, 0]], x(2, 2)),
    c(var(x(1, 1)), [[0, 0]], x(1)),
    c(var(x(0)), np.zeros([0, 1]), x(0)),
    once(var(x(300, 70)), [[i] for i in range(299, 0, -2)] * 7, x(1050, 70)),
    once(var(x(4, 10)), [[i % 4, i % 10] for i in range(80000)], x(80000)),
    c(var(x(4)), [[1], [5], [-1]], x(3), bad_indices_policy="IGNORE"),
    once(var(x(4)), [[1]], x(1), bad_indices_policy="ERROR",
         gpu="InvalidArgumentError"),
    bad(var(x(4)), [[5]], x(1), gpu=c(var(x(4)), np.zeros([0, 1]), x(0))),
    bad(var(x(4)), [[-1], [1], [5]], [7, 8, 9],
        gpu=c(var(x(4)), [[1]], [8])),
    bad(var(x(4)), [[1]], x(2)), bad(var(x(4)), [[1, 1]], x(1)),
    bad(var(x(4)), 1, x(1)), bad(var(x(4)), [[1]], x()),
    bad(var(x(4)), [[1]], x(1), bad_indices_policy="x"),
    bad(var(x(0)), [[1]], x(1)), bad(var(x(4)), np.zeros([1, 0]), x(1, 4)),
    bad(var(x(2, 3)), [[1]], x(1, 2)),
    bad(var(x(2, 3)), [[1, 3]], x(1),
        gpu=c(var(x(2, 3)), np.zeros([0, 2]), x(0)))]
MISSING = [bad(var(x()), np.zeros([1, 0]), x(1)),
           bad(var(declared=[4]), [[1]], x(1))]
row("ScatterNdAdd ScatterNdSub ResourceScatterNdAdd ResourceScatterNdSub",
    TUPLES + MISSING, tol=64, runs=2)
row("ScatterNdUpdate ResourceScatterNdUpdate", TUPLES + MISSING, ANY)
row("ScatterNdMin ScatterNdMax ResourceScatterNdMin ResourceScatterNdMax",
    TUPLES + MISSING)


def plain(case):
    """The case with values where it has variables."""
    return with_inputs(case, lambda specs: [
        spec.initial if isinstance(spec, Variable) else spec
        for spec in specs])


row("ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterSub",
    [plain(case) for case in TUPLES], tol=64)
row("TensorScatterUpdate TensorScatterMin TensorScatterMax",
    [plain(case) for case in TUPLES], without=("Tindices", "uint16"))
row("ScatterNd", [
    c([[0], [4], [0]], x(3, 3), [5, 3]), c([[1]], x(1), [4]),
    c([[0, 2], [4, 0], [0, 2]], x(3), [5, 3]), c([[[0]], [[1]]], x(2, 1, 2), [2, 2]), c(np.zeros([0, 1]), x(0), [4]),
    c(np.zeros([0, 1]), x(0), [0]),
    c([[1], [5]], x(2), [4], bad_indices_policy="IGNORE"),
    once([[i] for i in range(0, 300, 2)] * 7, x(1050, 70), [300, 70]),
    bad([[5]], x(1), [4], gpu=c(np.zeros([0, 1]), x(0), [4])),
    bad([[-1]], x(1), [4], gpu=c(np.zeros([0, 1]), x(0), [4])),
    bad([[1]], x(2), [4]),
    bad([[1, 1]], x(1), [4]), bad(1, x(1), [4]), bad([[1]], x(), [4]),
    bad([[1]], x(1), [4], bad_indices_policy="x"), bad([[1]], x(1), [0]),
    bad(np.zeros([0]), x(4), [4]), bad([[1]], x(1), [[4]]),
    bad([[1]], x(1), [-4]), bad([[1]], x(1), 4), bad([[]], x(1), []),
    bad([[1]], x(1, 0), [2, 0]), bad([[1]], x(1), [2 ** 31 - 1] * 3)],
    tol=16)
ND = [
    c(x(5, 3), [[0], [4], [0]]), c(x(5, 3), [[0, 2], [4, 0]]), c(x(5), [3]),
    c(x(2, 3, 2), [[[1, 2]], [[0, 0]]]), c(x(0), np.zeros([0, 1])),
    c(x(4), np.zeros([2, 0])), c(x(4), np.zeros([0])),
    once(x(300, 70), [[i] for i in range(299, 0, -2)] * 7),
    bad(x(4), [[5]], gpu=c([0], [[0]])), bad(x(4), [[-1]], gpu=c([0], [[0]])),
    bad(x(4), [[1, 1]]), bad(x(4), 1),
    bad(x(), [1]), bad(x(), [[]]), bad(x(0), [[1]]), bad(x(3, 0), [[1]]),
    bad([[1, 2], [3, 4]], [[[0], [9]]], gpu=c([[1, 2], [0, 0]], [[[0], [1]]])),
    bad(x(2, 3), [[0, 3]], gpu=c([0], [[0]]))]
row("GatherNd", ND + [
    c(x(4), [[1], [7]], bad_indices_policy="IGNORE")], ANY)
row("ResourceGatherNd", [
    with_inputs(case, lambda specs: (var(specs[0]), specs[1]))
    for case in ND] + [bad(var(declared=[4]), [[1]])], ANY, reads=False)


# ---- Segments and partitions ------------------------------------------------

IDS = [i * 7 % 40 for i in range(300)]
row("SegmentSum SegmentProd SegmentMin SegmentMax SegmentMean", [
    c(x(4), [0, 0, 1, 3]), c(x(5, 3), [0, 2, 2, 2, 3]), c(x(0), np.zeros([0])),
    c(x(2, 0), [0, 3]), c(x(4, 2, 3), [1, 1, 1, 1]), c(x(1, 2), [2]),
    once(x(300, 70), sorted(IDS)), once(x(80000), sorted(IDS * 266 + [0] * 200)),
    bad(x(4), [1, 0, 1, 3]), bad(x(4), [-1, 0, 1, 3]), bad(x(4), [0, 0, 1]),
    bad(x(4), 1), bad(x(), [1]), bad(x(4), [[0, 1], [1, 2]]),
    bad(x(0), [0])], Data(-1.5, 1.5), tol=64)
row("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMin "
    "UnsortedSegmentMax", [
        c(x(4), [0, 1, 0, 2], 3), c(x(5, 3), [0, 2, -1, 2, 0], 4),
        c(x(0), np.zeros([0]), 2), c(x(2, 4), [[0, 1, 1, 0]] * 2, 2),
        c(x(2, 4), 1, 2), c(x(2, 0), [0, 1], 2), c(x(3), [-1, -5, -1], 0),
        c(x(4, 2, 3), [1, 1, 0, 1], 2), once(x(300, 70), IDS, 40),
        once(x(80000), (IDS * 267)[:80000], 41),
        bad(x(4), [0, 1, 0, 3], 3, gpu=c(x(4), [0, 1, 0, -1], 3)),
        bad(x(4), [0, 1, 0], 3),
        bad(x(4), [0, 1, 0, 1], -3), bad(x(4), [0, 1, 0, 1], [3, 4]),
        bad(x(4), [0, 1, 0, 1], [3]),
        bad(x(2, 4), [[0, 1, 7, 0]] * 2, 2,
            gpu=c(x(2, 4), [[0, 1, -1, 0]] * 2, 2)),
        bad(x(), [0], 2),  # 0, to int32
        bad(x(4), [0, 1, 0, 1], 2 ** 62, gpu=c(x(4), [-1] * 4, 0))],
    Data(-1.5, 1.5), tol=64)
PICKED = ([0, 2, 2, 1, 3], [0, 0, 1, 3, 3])
row("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", [
    every(x(4), [0, 1], [0, 1]), c(x(4, 3), *PICKED), c(x(4, 2, 3), *PICKED),
    c(x(4, 3), NONE, NONE), c(x(4, 0), *PICKED), c(x(5), [4, 4, 4], [2, 2, 2]),
    once(x(300, 70), IDS, sorted(IDS)),
    bad(x(4, 3), [0, 4], [0, 1]), bad(x(4, 3), [0, -1], [0, 1]),
    bad(x(4, 3), [0, 1], [1, 0]), bad(x(4, 3), [0, 1], [0]),
    bad(x(4, 3), [[0, 1]], [[0, 1]]), bad(x(4, 3), [0, 1], [-1, 0]),
    bad(x(), [0], [0]), bad(x(0, 3), [0], [0])], tol=16)
FOUR = [[1, 2], [3, 4], [5, 6], [7, 8]]
row("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments "
    "SparseSegmentSqrtNWithNumSegments", [
        every(x(4), [0, 1], [0, 1], 2), c(x(4, 3), *PICKED, 6),
        c(x(4, 2, 3), *PICKED, 4), c(x(4, 3), NONE, NONE, 3),
        c(x(4, 3), NONE, NONE, 0), c(x(4, 0), *PICKED, 5),
        once(x(300, 70), IDS, sorted(IDS), 50),
        bad(FOUR, *PICKED, 3, gpu=c(FOUR, [0, 2, 2], [0, 0, 1], 3)),
        bad(FOUR, [0, 4], [0, 1], 3, gpu=c(FOUR, [0], [0], 3)),
        bad(x(4, 3), [0, 1], [1, 0], 3, cpu=True),
        bad(x(4, 3), [0, 1], [0], 3),
        bad(FOUR, [0, 1], [-1, 0], 3, gpu=c(FOUR, [1], [0], 3)),
        bad(x(4, 3), [0, 1], [0, 1], [3]), bad(x(4, 3), [0, 1], [0, 1], -3),
        bad(x(), [0], [0], 1)], tol=16)
SEGMENT_GRADIENTS = [
    every(x(2), [0, 1], [0, 1], 2), c(x(4, 3), *PICKED, 6),
    # Where nothing is picked, TensorFlow does not fill its output.
    c(x(4, 2, 3), *PICKED, 4), c(x(4, 3), NONE, NONE, 0),
    c(x(4, 0), *PICKED, 5), c(x(3, 2), [5, 0, 5], [0, 2, 2], 6),
    once(x(40, 70), [i * 11 % 97 for i in range(300)], sorted(IDS), 97),
    bad(x(4, 3), [0, 1], [0], 3), bad(x(4, 3), [0, 1], [0, 1], [3]),
    bad(x(), [0], [0], 1), bad(x(4, 3), [[0, 1]], [[0, 1]], 3)]
row("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad",
    SEGMENT_GRADIENTS + [
        bad(x(4, 3), *PICKED, 3, cpu=True),
        bad(FOUR, [0, -1], [0, 1], 3, gpu=c(FOUR, [0], [0], 3)),
        bad([[1, 2]], [0, 1], [0, 1], 3, gpu=c([[1, 2]], [0], [0], 3)),
        bad(FOUR, [0, 1], [-1, 0], 3, gpu=c(FOUR, [1], [0], 3))], tol=16)
row("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2",
    SEGMENT_GRADIENTS + [
        bad(x(4, 3), *PICKED, 3), bad(x(4, 3), [0, -1], [0, 1], 3),
        bad(x(1, 3), [0, 1], [0, 1], 3), bad(x(4, 3), [0, 1], [-1, 0], 3)],
    tol=16)
row("DynamicPartition", [
    c(x(4), [0, 1, 0, 2], num_partitions=3), c(x(), 1, num_partitions=2),
    c(x(4, 3), [1, 1, 0, 1], num_partitions=3),
    c(x(2, 3, 2), [[0, 1, 0], [2, 2, 0]], num_partitions=3),
    c(x(0, 2), np.zeros([0]), num_partitions=2),
    c(x(2, 0), [1, 0], num_partitions=2),
    once(x(300, 70), IDS, num_partitions=40),
    bad(x(4), [0, 1, 0, 3], num_partitions=3),
    bad(x(4), [0, -1, 0, 1], num_partitions=3),
    bad(x(4), [[0, 1], [0, 1]], num_partitions=3),
    bad(x(2, 2), [[0, 1], [0, 5]], num_partitions=3),
    bad(x(), 5, num_partitions=3), bad(x(4), [0, 1, 0], num_partitions=3)],
    ANY)

# ---- Sparse tensors ---------------------------------------------------------

row("SparseToDense", [
    c([[0, 1], [1, 2]], [2, 3], x(2), x()), c([[1, 0]], [2, 3], x(), x()),
    c([1, 3], [5], x(2), x()), c(3, [5], x(), x()),
    c(np.zeros([0, 2]), [2, 2], x(0), x()), c([[0], [3]], [4], x(2), x()),
    c(np.zeros([0, 1]), [0], x(0), x()),
    c(np.zeros([1, 0]), np.zeros([0]), x(1), x()),
    c([[1, 0], [0, 1], [1, 0]], [2, 2], x(3), x(), validate_indices=False),
    once([[i // 70, i % 70] for i in range(0, 21000, 3)], [300, 70], x(7000),
         x()),
    bad([[0, 3]], [2, 3], x(1), x()), bad([[0, -1]], [2, 3], x(1), x()),
    bad([[1, 0], [0, 1]], [2, 2], x(2), x()),
    bad([[1, 0], [1, 0]], [2, 2], x(2), x()), bad([[1, 0]], [2], x(1), x()),
    bad([[1, 0]], [[2, 2]], x(1), x()), bad([[1, 0]], [2, 2], x(2), x()),
    bad([[1, 0]], [2, 2], x(1, 1), x()), bad([[1, 0]], [2, 2], x(1), x(1)),
    bad([[[1]]], [2], x(1), x()), bad([[1, 0]], [2, -2], x(1), x()),
    bad([[5, 0]], [2, 2], [7], 3, validate_indices=False,
        gpu=c(np.zeros([0, 2]), [2, 2], x(0), 3, validate_indices=False))],
    ANY)
SORTED = [[0, 1], [1, 0], [1, 2]]
SPARSE = [
    c(SORTED, x(3), [2, 3]), c(SORTED[::-1], x(3), [3, 3]),
    c([[3, 0], [0, 1], [1, 1], [0, 0]], x(4), [5, 2]),
    c([[2], [0]], x(2), [4]), c(np.zeros([0, 2]), x(0), [2, 2]),
    c(np.zeros([0, 2]), x(0), [0, 2]),
    c([[1, 0, 4], [1, 0, 2], [0, 2, 3]], x(3), [3, 3, 5]),
    once([[i * 37 % 300, i * 11 % 70] for i in range(0, 2100)], x(2100),
         [300, 70]),
    bad(SORTED, x(2), [2, 3]), bad(SORTED, x(3), [2, 3, 4]),
    bad([0, 1], x(2), [2]), bad(SORTED, x(3, 1), [2, 3]),
    bad(SORTED, x(3), [[2, 3]])]
row("SparseReorder", [
    dataclasses.replace(case, inputs=case.inputs) for case in SPARSE[:7]
    + SPARSE[8:]] + [
    once([[i * 37 % 300, i // 7] for i in range(0, 2100)], x(2100),
         [300, 300])], ANY)
row("SparseFillEmptyRows", [
    dataclasses.replace(case, inputs=case.inputs + (x(),)) for case in SPARSE]
    + [bad([[2, 0]], x(1), [2, 3], x()), bad([[-1, 0]], x(1), [2, 3], x()),
       bad([[0, 0]], x(1), [0, 3], x()), bad(SORTED, x(3), [2, 3], x(1)),
       bad(np.zeros([0, 0]), x(0), np.zeros([0]), x())], ANY)
row("SparseFillEmptyRowsGrad", [
    c([0, 2, 3], x(5)), c([1, 0], x(2)), c(np.zeros([0]), x(3)),
    c(np.zeros([0]), x(0)), c([2, 2], x(4)), bad([0, 5], x(5)),
    bad([-1], x(2)), bad([[0]], x(2)), bad([0], x(2, 1)), bad(0, x(2))],
    SMALL)
row("ReverseSequence", [
    c(x(3, 5), [0, 5, 3], seq_dim=1), c(x(5, 3), [1, 2, 5], seq_dim=0,
                                        batch_dim=1),
    c(x(2, 4, 3), [4, 2], seq_dim=1), c(x(2, 4, 3), [1, 3], seq_dim=2),
    c(x(4, 2, 3), [4, 2, 3], seq_dim=0, batch_dim=2),
    c(x(2, 3, 2, 4, 2), [4, 1, 3], seq_dim=3, batch_dim=1),
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

# ---- Summaries: the same bytes; images in summaries.py ----------------------

def summary(*tags, value=1.0):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)
                             for tag in tags]).SerializeToString()


METADATA = tf.SummaryMetadata(display_name="d").SerializeToString()
row("ScalarSummary", [
    c([b"a", b"b"], x(2)), c(b"a", x()), c(b"", 0), c([[b"a"]], [[3]]),
    c(np.zeros([0], object), x(0)),
    c(b"a", np.nan, dtypes=REALS), bad(b"a", [2]), bad([b"a"], [[2]]),
    bad([b"a", b"b"], [2])])
row("HistogramSummary", [
    c(b"h", x(30)), c(b"h", x()), c(b"h", x(2, 3)), c(b"h", x(0)),
    c(b"h", [0, 0, 1]), once(b"h", x(300, 70)),
    c(b"h", [1e-12, -1e-12, 1.1e-12, 1e20, 1e19, -1.7e308, 1e-300],
      dtypes=["float64"]),
    bad(b"h", [1, np.nan], dtypes=REALS), bad(b"h", [1, np.inf]),
    bad([b"h"], [1, 2]), bad([b"h", b"i"], [1, 2])])
row("MergeSummary", [
    c(many(summary("a"), summary("b"))), c(many([summary("a", "b")], b"")),
    c(many(b"xx")), c(many(np.zeros([0], object))), c(many(summary(""), b"")),
    bad(many([summary("a")], summary("a"))), bad(many(summary("a", "a"))),
    bad(many(b"\x0a\xff")), bad(many(b"\x0a\x02\x0a\xff"))])
row("TensorSummaryV2", [
    c(b"t", x(2, 3), METADATA), c(b"t", x(), METADATA),
    c(b"", x(0), METADATA), c(b"t", x(3), b""), c(b"t", x(3), b"xx"),
    bad([b"t"], x(2), METADATA), bad(b"t", x(2), [METADATA])])
row("AudioSummaryV2", [
    c(b"g", [[0, .5, -.5, 1, -1, 2, 1e-5, .99999, .123456]], 44100),
    c(b"g", x(5, 9), 8000), c(b"g", x(5, 9), 8000, max_outputs=1),
    c(b"g", x(2, 3, 3), 22050.7), c(b"g", x(1, 0), 0.4), c(b"g", x(0, 3), 1),
    c(b"g", x(2, 300), 1, max_outputs=7), c(b"g", x(1, 5), [44100]),
    c(b"g", x(1, 2, 300), 44100.5),
    bad(b"g", x(1, 5), 0), bad(b"g", x(1, 5), -4), bad(b"g", x(1, 5), 1e12),
    bad(b"g", x(5), 44100), bad([b"g"], x(1, 5), 44100),
    bad(b"g", x(1, 1, 0), 44100), bad(b"g", x(1, 1, 65536), 44100),
    bad(b"g", x(1, 2), [1, 2])], Data(-1.2, 1.2))
STYLES = [dict(precision=2), dict(scientific=True), dict(shortest=True),
          dict(precision=3, shortest=True, width=3, fill="#"),
          dict(precision=0, fill=" "), dict(precision=12, scientific=True)]
WIDTHS = [dict(width=12, fill=fill) for fill in ("", " ", "0", "-", "+")] + [
    dict(fill="+"), dict(width=-2), dict(width=300), dict(precision=-2)]
NO_STYLE = ("int32", "int64", "bool", "uint8")
row("AsString", [c(x(3, 4)), c(x()), c(x(0, 2))] +
    [c(x(3, 4), **style) for style in WIDTHS] +
    [c(x(3, 4), dtypes=REALS + ("complex64", "complex128", "string"), **style)
     for style in STYLES] +
    [bad([1], dtypes=[dtype], **style) for dtype in NO_STYLE
     for style in STYLES[:3]] + [
        c([np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-30],
          dtypes=("float32", "float64")),
        c([np.nan, np.inf, 1], width=8, fill="0", dtypes=["float32"]),
        bad([1], scientific=True, shortest=True, dtypes=["float32"]),
        bad([1], fill="ab", dtypes=["float32"]),
        bad([1], fill="x", dtypes=["float32"])],
    tol=0)

# ---- Sets, the best, counters -----------------------------------------------

row("Unique UniqueWithCounts", [
    c([3, 1, 3, 2, 1]), c(x(40)), c(np.zeros([0])), c([0, 0]),
    once(x(20000)), bad([[1, 2]]), bad(1)], Data(0, 9))
row("UniqueV2 UniqueWithCountsV2", [
    c([3, 1, 3, 2, 1], np.zeros([0])), c(x(30, 2), [0]), c(x(2, 30), [1]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [0]), c(x(2, 9, 2), [-2]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [1]), c(x(0, 3), [0]),
    c(x(3, 0), [0]), c([2, 2], [0]), bad(x(2, 2), np.zeros([0])),
    bad(x(2, 2), 0), bad(x(2, 2), [2]), bad(x(2, 2), [-3]),
    bad(x(2, 2), [0, 1]), bad(x(2, 2), [[0]]), bad(x(), [0]),
    bad(x(), np.zeros([0]))], Data(0, 2))
row("ListDiff", [
    c([1, 2, 3, 4, 2], [2, 4]), c(x(40), x(9)), c(x(5), np.zeros([0])),
    c(np.zeros([0]), x(3)), once(x(9000), x(6)), bad(x(2, 2), x(2)),
    bad(x(2), x(2, 2)), bad(1, x(2))], Data(0, 30))
row("TopKV2", [
    c(x(5), 3), c(x(4, 9), 4), c(x(4, 9), 9), c(x(4, 9), 0), c(x(4, 9), 1),
    c([1, 5, 3, 5, 5, 2], 3), c(x(2, 3, 4), 2), c(x(0, 4), 2), c(x(2, 0), 0),
    c(x(3, 200), 20), once(x(300, 70), 5), once(x(2, 20000), 300),
    once(x(2, 5000), 3000),
    c([[0, 0, 0, 0]], 3), c(x(7), 7, sorted=False), c(x(7), 1, sorted=False),
    bad(x(5), 6), bad(x(5), -1), bad(x(), 1), bad(x(5), [1]),
    bad(x(5), [1, 2])], Data(-100, 100))
row("InTopKV2", [
    c([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [2, 2, 0], 2), c(x(9, 6), [0] * 9, 3),
    c([[1, np.inf, 3], [3, 2, np.nan]], [2, 0], 1), c(x(2, 3), [-1, 3], 9),
    c(x(0, 3), np.zeros([0]), 1), c(x(2, 3), [0, 1], 0), c(x(2, 3), [0, 1], -1),
    bad(x(2, 3), [0], 1), bad(x(3), [0, 1, 1], 1), bad(x(2, 3), [[0, 1]], 1),
    bad(x(2, 3), [0, 1], [1])])
row("InTopK", [
    c(x(9, 6), [0, 1, 2] * 3, k=3), c(x(2, 3), [5, -5], k=1),
    bad(x(2, 3), [0], k=1), bad(x(3), [0], k=1)])
NUMBERS = [c(x(2, 3), message="m"), c(x(), message=""), c(x(0), message="m"),
           once(x(300, 70), message="m"),
           bad([1, np.nan], message="m"), bad([np.inf], message="m"),
           bad([np.nan, -np.inf], message="")]
row("CheckNumerics CheckNumericsV2", NUMBERS)
row("CountUpTo ResourceCountUpTo", [
    c(var(3), limit=9), c(var(-2 ** 31), limit=0),
    bad(var(4), limit=4), bad(var(4), limit=-4), bad(var([1]), limit=4),
    bad(var(declared=[]), limit=4)], runs=2)
row("LinSpace", [c(0, 1, 5), c(1, -3, 7), c(x(), x(), 1000), c(2, 3, 1),
                 c(5, 5, 3), once(-1, 1, 70000), bad(0, 1, 0), bad(0, 1, -1),
                 bad([0], 1, 2), bad(0, [1], 2), bad(0, 1, [2]),
                 bad(0, 1, [2, 3])])

PLACES = [[0, 0], [0, 1], [0, 3], [2, 0]]
BACK = PLACES[::-1]
TWICE_THERE = [[0, 0], [0, 0], [0, 1]]
NOWHERE = np.zeros([0, 2])
row("SetSize", [
    c(PLACES, x(4), [3, 4]), c(BACK, x(4), [3, 4], validate_indices=False),
    c(TWICE_THERE, x(3), [3, 4], validate_indices=False),
    c(NOWHERE, np.zeros([0]), [3, 4]), c(NOWHERE, np.zeros([0]), [0, 4]),
    c([[0, 1, 2], [1, 0, 0]], x(2), [2, 3, 4]),
    bad(PLACES, x(3), [3, 4]), bad(PLACES, x(4), [3, 3]),
    bad(PLACES, x(4), [3]), bad(BACK, x(4), [3, 4]),
    bad(TWICE_THERE, x(3), [3, 4]), bad([[0], [1]], x(2), [3]),
    bad(PLACES, x(4), [3, 3], validate_indices=False),
    bad(PLACES, x(4), [1, 4], validate_indices=False), bad([0, 1], x(2), [3]),
    bad(PLACES, x(1, 4), [3, 4]), bad(PLACES, x(4), [[3, 4]]),
    bad(PLACES, x(4), [-3, 4])], Data(0, 2))
OPERATIONS = ("a-b", "b-a", "intersection", "union", "UNION")
row("DenseToDenseSetOperation", [
    c(x(3, 5), x(3, 4), set_operation=name) for name in OPERATIONS] + [
        c(x(2, 2, 3), x(2, 2, 1), set_operation="union"),
        c(x(2, 0), x(2, 3), set_operation="a-b"),
        c(x(0, 2), x(0, 2), set_operation="a-b"),
        bad(x(2, 3), x(2, 3), set_operation="x"),
        bad(x(2, 3), x(1, 3), set_operation="union"),
        bad(x(3), x(3), set_operation="union"),
        bad(x(2, 3), x(3), set_operation="union")], Data(0, 6))
row("DenseToSparseSetOperation", [
    c(x(3, 5), PLACES, x(4), [3, 4], set_operation=name)
    for name in OPERATIONS] + [
        c(x(3, 5), NOWHERE, np.zeros([0]), [3, 4], set_operation="union"),
        bad(x(3, 5), PLACES, x(4), [4, 4], set_operation="union"),
        bad(x(3, 5), PLACES, x(4), [3, 3], set_operation="union"),
        bad(x(3), [[1]], x(1), [4], set_operation="union"),
        bad(x(3, 5), BACK, x(4), [3, 4], set_operation="union")], Data(0, 6))
row("SparseToSparseSetOperation", [
    c(PLACES, x(4), [3, 4], [[0, 0], [1, 0], [2, 7]], x(3), [3, 9],
      set_operation=name) for name in OPERATIONS] + [
          c(NOWHERE, np.zeros([0]), [3, 4], NOWHERE, np.zeros([0]), [3, 4],
            set_operation="union"),
          bad(PLACES, x(4), [3, 4], PLACES, x(4), [4, 4],
              set_operation="union"),
          bad(BACK, x(4), [3, 4], PLACES, x(4), [3, 4],
              set_operation="union")], Data(0, 6))
row("SparseTensorDenseMatMul", [
    every(PLACES, x(4), [3, 4], x(4, 2)), c(PLACES, x(4), [3, 4], x(4, 1)),
    c(PLACES, x(4), [3, 4], x(3, 2), adjoint_a=True),
    c(PLACES, x(4), [3, 4], x(2, 4), adjoint_b=True),
    c(PLACES, x(4), [3, 4], x(2, 3), adjoint_a=True, adjoint_b=True),
    c(TWICE_THERE, x(3), [2, 2], x(2, 5)), c(BACK, x(4), [3, 4], x(4, 3)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2)),
    c(NOWHERE, np.zeros([0]), [3, 0], x(0, 2)),
    c(NOWHERE, np.zeros([0]), [0, 4], x(4, 2)),
    c(PLACES, x(4), [3, 4], x(4, 0)),
    once([[i * 37 % 300, i * 11 % 70] for i in range(2100)], x(2100),
         [300, 70], x(70, 130)),
    bad(PLACES, x(4), [3, 4], x(3, 2)), bad(PLACES, x(3), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4)), bad(PLACES, x(4), [3, 4, 5], x(4, 2)),
    bad(PLACES, x(4), [[3, 4]], x(4, 2)), bad([1, 2], x(2), [3, 4], x(4, 2)),
    bad(PLACES, x(4, 1), [3, 4], x(4, 2)),
    bad([[0, 4]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[3, 0]], x(1), [3, 4], x(4, 2),
        gpu=c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2))),
    bad([[0, -1]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[0, 1, 2]], x(1), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4, 2), adjoint_a=True)], tol=16)
row("SparseReshape", [
    c(PLACES, [3, 4], [12]), c(PLACES, [3, 4], [2, 3, 2]),
    c(PLACES, [3, 4], [3, 4]), c(PLACES, [3, 4], [-1, 6]), c([[2]], [4], [2, 2]),
    c(NOWHERE, [3, 4], [12]), c(NOWHERE, [2, 0], [-1, 3]), c(NOWHERE, [2, 0], [0]),
    c(np.zeros([1, 0]), np.zeros([0]), [1]), c([[0]], [1], np.zeros([0])),
    c([[0, 5], [-1, 0]], [2, 3], [6]), c([[9, 5]], [2, 3], [3, 2]),
    c([[9, 5]], [2, 3], [2, 3]),
    bad(PLACES, [3, 4], [13]), bad(PLACES, [3, 4], [-1, 5]),
    bad(PLACES, [3, 4], [-1, -1]), bad(PLACES, [3, 4], [-2, 6]),
    bad(PLACES, [3, -4], [12]), bad(PLACES, [3, 4, 1], [12]),
    bad(PLACES, [3, 0], [0]), bad(NOWHERE, [2, 0], [-1, 0]),
    bad(PLACES, [2 ** 40, 2 ** 40], [-1]), bad(PLACES, [3, 4], [2 ** 62, 8]),
    bad([1, 2], [3, 4], [12]), bad(PLACES, [[3, 4]], [12]),
    bad(PLACES, [3, 4], [[12]]), bad(PLACES, [3, 4], np.zeros([0]))])
row("Bucketize", [
    c(x(5, 7), boundaries=[-1.0, 0.0, 0.5, 0.5, 1.0]), c(x(), boundaries=[0.0]),
    c(x(0, 3), boundaries=[0.0]), c(x(4), boundaries=[]),
    c([0, 1, 2, 3], boundaries=[1.0, 2.0, 2.0]),
    c([float("nan"), float("inf"), -float("inf"), 0.1], boundaries=[0.1, 3.0],
      dtypes=["float32", "float64"]),
    c([16777217, 16777216], boundaries=[16777216.0, 16777218.0]),
    once(x(300, 70), boundaries=[i / 50 for i in range(-100, 100)]),
    bad(x(4), boundaries=[2.0, 1.0]), bad(x(4), boundaries=[0.0, 1.0, 0.5])])
row("SparseTensorDenseAdd", [
    c(PLACES, x(4), [3, 4], x(3, 4)), c(TWICE_THERE, x(3), [2, 2], x(2, 2)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(3, 4)), c([[1]], x(1), [3], x(3)),
    c([[0, 1, 2]], x(1), [2, 2, 3], x(2, 2, 3)),
    c(np.zeros([0, 1]), np.zeros([0]), [0], x(0)),
    bad([1, 2], x(2), [3, 4], x(3, 4)), bad(PLACES, x(4, 1), [3, 4], x(3, 4)),
    bad(PLACES, x(4), [[3, 4]], x(3, 4)), bad(PLACES, x(4), [3, 4], x(3, 5)),
    bad(PLACES, x(3), [3, 4], x(3, 4)), bad(PLACES, x(4), [3], x(3)),
    bad([[0, 9]], x(1), [3, 4], x(3, 4)),
    bad([[0, -1]], x(1), [3, 4], x(3, 4)),
    bad(np.zeros([0, 0]), np.zeros([0]), np.zeros([0]), x()),
    bad(np.zeros([0, 6]), np.zeros([0]), [1] * 6, x(1, 1, 1, 1, 1, 1))])

# ---- Optimizers: runs=3, so that slots are used, not only set ---------------

def apply_cases(slots, before, after=(), flags=(), dims=(3, 5)):
    """Cases of an Apply op: `slots` variables, numbers, gradient, numbers."""
    def one(make, shape, grad=None, **attrs):
        grads = [x(*(grad if grad is not None else shape))]
        states = [var(x(*shape)) for _ in range(slots)]
        return make(*states, *before, *grads, *after, **attrs)

    yield one(c, dims)
    yield one(c, ())
    yield one(c, (0,))
    yield one(c, dims, use_locking=True)
    yield one(once, (300, 70))
    for flag in flags:
        yield one(c, dims, **flag)
    yield one(bad, dims, grad=(3, 4))
    if before:
        states = [var(x(4)) for _ in range(slots)]
        vector = [[before[0]]] + list(before[1:])
        yield bad(*states, *vector, x(4), *after)
        missing = [var(declared=[4])] + states[1:]
        yield bad(*missing, *before, x(4), *after)
        smaller = states[:1] + [var(x(3))] + states[2:]
        yield bad(*smaller, *before, x(4), *after)


def sparse_cases(slots, before, after=(), flags=(), leaves_out=False):
    """The same of a SparseApply op: a gradient of some rows, and which.  On a
    GPU it may leave out the rows that are not there."""
    def one(make, indices, shape=(4, 5), grad=None, **attrs):
        count = (np.size(indices),) if np.ndim(indices) else ()
        grads = x(*(grad if grad is not None else count + shape[1:]))
        states = [var(x(*shape)) for _ in range(slots)]
        return make(*states, *before, grads, indices, *after, **attrs)

    yield one(c, [2, 0])
    yield one(c, [1, 1, 3, 1])
    yield one(c, [0], (1, 2, 3))
    yield one(c, [3, 0], (4,))
    yield one(c, np.zeros([0]))
    yield one(once, [9, 200, 0, 9], (300, 70))
    for flag in flags:
        yield one(c, [2, 0, 2], **flag)
    for indices, shape in ([4, 9], (4, 5)), ([-1], (4, 5)), ([1], (0, 3)):
        gpu = one(c, NONE, shape) if leaves_out else None
        yield one(bad, indices, shape, gpu=gpu)
    yield one(bad, [[1]], grad=(1, 5))
    yield one(bad, [1, 2], grad=(3, 5))
    yield one(bad, [1, 2], grad=(2, 4))
    yield one(bad, 0, (), grad=())


LEAVE_OUT = ("Adadelta Adagrad AdagradV2 Ftrl FtrlV2 "
             "ProximalAdagrad").split()


def optimizer(name, *args, **kwargs):
    # Ftrl subtracts roots that are nearly equal: half precision has few bits
    # left then, in TensorFlow too.
    tol = 16 if name.startswith("Ftrl") else 8
    row("Apply%s ResourceApply%s" % (name, name),
        list(apply_cases(*args, **kwargs)), POSITIVE, tol=tol, runs=3)
    if name not in ("GradientDescent", "Adam", "AdaMax", "AddSign",
                    "PowerSign"):
        row("SparseApply%s ResourceSparseApply%s" % (name, name),
            list(sparse_cases(*args, **kwargs, leaves_out=name in LEAVE_OUT)),
            POSITIVE, tol=tol, runs=3)


optimizer("GradientDescent", 1, [0.5])
optimizer("Adagrad", 2, [0.5], flags=[dict(update_slots=False)])
optimizer("AdagradV2", 2, [0.5, 0.01], flags=[dict(update_slots=False)])
optimizer("Momentum", 2, [0.5], [0.9], [dict(use_nesterov=True)])
optimizer("Adam", 3, [0.9, 0.99, 0.5, 0.8, 0.9, 0.01],
          flags=[dict(use_nesterov=True)])
optimizer("AdaMax", 3, [0.9, 0.5, 0.8, 0.9, 0.01])
optimizer("AddSign", 2, [0.5, 1.2, 0.9, 0.8])
optimizer("PowerSign", 2, [0.5, 1.2, 0.9, 0.8])
row("ResourceApplyAdamWithAmsgrad",
    list(apply_cases(4, [0.9, 0.99, 0.5, 0.8, 0.9, 0.01])), POSITIVE, tol=8,
    runs=3)
row("ResourceApplyKerasMomentum",
    list(apply_cases(2, [0.5], [0.9], [dict(use_nesterov=True)])), tol=8,
    runs=3)
row("ResourceSparseApplyKerasMomentum",
    list(sparse_cases(2, [0.5], [0.9], [dict(use_nesterov=True)],
                      leaves_out=True)), tol=8, runs=3)
optimizer("Adadelta", 3, [0.5, 0.9, 0.01])
optimizer("RMSProp", 3, [0.5, 0.9, 0.8, 0.01])
optimizer("CenteredRMSProp", 4, [0.5, 0.9, 0.8, 400.0])
optimizer("Ftrl", 3, [], [0.5, 0.1, 0.2, -0.5],
          [dict(multiply_linear_by_lr=True)])
optimizer("FtrlV2", 3, [], [0.5, 0.1, 0.2, 0.1, -0.5],
          [dict(multiply_linear_by_lr=True)])
optimizer("AdagradDA", 3, [], [0.5, 0.1, 0.2, 4])
optimizer("ProximalGradientDescent", 1, [0.5, 0.1, 0.2])
optimizer("ProximalAdagrad", 2, [0.5, 0.1, 0.2])

