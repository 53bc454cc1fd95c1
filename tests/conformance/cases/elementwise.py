"""Element by element, with broadcasting."""
import dataclasses

import numpy as np

from tests.conformance.cases.shared import ANY, DIVISOR, POSITIVE, REALS
from tests.conformance.cases.shared import SHAPES, SMALL, UNIT
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, every, many, once, row

COMPLEX = ("complex64", "complex128")
PAIRS = [
    c(x(2, 13), x(2, 13)), c(x(), x()), c(x(2, 3), x()), c(x(), x(4)),
    c(x(2, 3), x(3)), c(x(3), x(2, 3)), c(x(2, 1, 4), x(3, 1)),
    c(x(4, 1), x(1, 5)), c(x(0), x()), c(x(0, 3), x(3)), c(x(2, 0), x(2, 1)),
    c(x(1), x(0)), c(x(2, 1, 2, 1, 2), x(1, 3, 1, 3, 1)),
    c(x(3, 16), x(16)), c(x(16), x(3, 16)), c(x(3, 16), x(3, 1)),
    c(x(3, 1), x(1, 16)), c(x(2, 1, 16), x(3, 1)),
    c(x(7, 5), x(5)), c(x(5, 1), x(5, 33)), c(x(3, 1, 7), x(9, 1)),
    bad(x(2), x(3), dtypes=["complex64"]), bad(x(3), x(0), dtypes=["int8"]),
    once(x(300, 70), x(300, 70)), once(x(300, 70), x(70)),
    once(x(300, 1), x(300, 70)), bad(x(2), x(3)), bad(x(2, 3), x(2)),
    bad(x(0), x(2)), bad(x(2, 2, 3), x(3, 3))]
# Rows that begin anywhere within 16 bytes, one operand repeated.
UNEVEN = [case for n in (1, 3, 5, 7, 17, 31, 33, 1000, 1001, 4099, 20001)
          for case in (c(x(3, n), x(n), dtypes=REALS),
                       c(x(5, 1), x(5, n), dtypes=REALS))] + [
    c(x(2, 3, 1, 7), x(3, 5, 1), dtypes=REALS),
    c(x(31, 1, 3), x(7, 1), dtypes=REALS),
    c(x(1, 1001), x(9, 1), dtypes=REALS), c(x(0, 1001), x(1001)),
    bad(x(3, 1001), x(1000)), bad(x(5, 33), x(4, 33)), bad(x(7, 5), x(7))]
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
row("Tan Sinh Cosh Atan Expm1 Erfc", SHAPES + [
    c([1.57 + 0.001j, 0.3 + 80j, -2 - 30j], dtypes=COMPLEX)], SMALL)
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
row("LogicalAnd LogicalOr", [case for case in PAIRS if not case.dtypes])

row("Add AddV2 Mul Maximum Minimum", PAIRS, ANY)
row("Sub", PAIRS + UNEVEN, ANY)
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
row("LessEqual Greater GreaterEqual", PAIRS, ANY)
row("Less", PAIRS + UNEVEN, ANY)
row("Equal NotEqual", PAIRS[:-4] + [
    c(x(2, 3), x(2, 3), incompatible_shape_error=False),
    once(x(2), x(3), incompatible_shape_error=False), bad(x(2), x(3))],
    Data(-2, 2))
row("ApproximateEqual", TWICE + [
    c(x(5), x(5), tolerance=1.0),
    c([1, 1, 1, np.nan, np.inf, np.inf, -0.0],
      [1.5, 1.75, 0.5, np.nan, np.inf, -np.inf, 0], tolerance=0.5),
    c([0, 0, 0], [1e-5, 9.9999e-6, -1.0001e-5]), c(x(3), x(3), tolerance=-1.0),
    c(x(0), x(0)), c(x(1001), x(1001), tolerance=0.25),
    bad(x(2), x(3)), bad(x(2), x()), bad(x(2, 3), x(3)),
    bad(x(2), x(2), dtypes=["int32"])], Data(-2, 2))
row("ClipByValue", [
    c(x(2, 13), 1, 2), c(x(), 1, 2), c(x(0, 3), 1, 2), c(x(5), 2, 1),
    c(x(2, 13), x(2, 13), 2), c(x(2, 13), 1, x(2, 13)),
    c(x(7), x(7), x(7)), c(x(0), x(0), x(0)), c(x(1, 1), [[1]], 2),
    c([np.nan, 1, 2, -5, 0.0, -0.0, np.inf, -np.inf], -0.0, 1.5, dtypes=REALS),
    c([np.nan, 1, -5], np.nan, 0.5, dtypes=REALS),
    c([np.nan, 1, -5], [-1, -1, -1], [np.nan] * 3, dtypes=REALS),
    c([0.0, -0.0, 1, -1], [0.0] * 4, [-0.0] * 4, dtypes=REALS),
    *(c(x(n), x(n), 3) for n in (1, 3, 15, 17, 31, 33, 65, 1001)),
    once(x(300, 70), 0.5, 1.5), once(x(300, 70), x(300, 70), x(300, 70)),
    bad(x(2), [1], 2), bad(x(2), 1, [2]), bad(x(), [1], 2),
    bad(x(0, 3), x(0), 2), bad(x(2, 3), x(3), x(3)), bad(x(2), [[1]], 2)], ANY)
row("Cast", [c(x(3, 4)), c(x()), c(x(0)), once(x(300, 70)),
             c([1.5, 2.5, -1.5], dtypes=REALS),
             every(x(3, 4), Truncate=True)], Data(0, 90), may_fail=True)
row("AddN", [c(many(x(2, 3), x(2, 3), x(2, 3))), c(many(x(4))),
             c(many(x(0), x(0))), c(many(*[x(3)] * 11)),
             once(many(*[x(40)] * 40)),
             once(many(x(300, 70), x(300, 70))), bad(many(x(2), x(3)))])
EVERY_THIRD = np.arange(20001) % 3 == 0
row("Select", [c([True, False], x(2), x(2)), c(True, x(2, 3), x(2, 3)),
               c([True, False], x(2, 3), x(2, 3)), c(False, x(), x()),
               c([True, False, True], x(3, 16), x(3, 16)),
               c(False, x(35), x(35)),
               c([[0, 1, 1] * 6] * 2, x(2, 18), x(2, 18)),
               bad([True] * 16, x(2, 16), x(2, 16)),
               c(np.zeros(0, bool), x(0, 3), x(0, 3)),
               c(EVERY_THIRD[:9], x(9, 33), x(9, 33)),
               c(EVERY_THIRD[:33], x(33), x(33)),
               c(False, x(3, 1001), x(3, 1001)),
               bad(EVERY_THIRD[:33], x(9, 33), x(9, 33)),
               bad([True], x(2, 3), x(2, 3)), bad(True, x(2), x(3)),
               bad([[True, False]], x(2, 2), x(2, 2))], ANY)
row("SelectV2", [c([True, False, True], x(2, 3), x(2, 3)), c(True, x(3), x()),
                 c([[True], [False]], x(2, 3), x(3)), c(False, x(), x()),
                 c([True, False], x(0, 2), x(2)), c(x(4, 1), x(1, 5), x()),
                 *(c(EVERY_THIRD[:n], x(3, n), x(n))
                   for n in (1, 5, 17, 31, 33, 1001)),
                 c(EVERY_THIRD[:5, None], x(7), x(5, 7)),
                 c(EVERY_THIRD[:9, None], x(), x(9, 33)),
                 c(True, x(5, 33), x(5, 1)), c(EVERY_THIRD[:77], x(77), x()),
                 once(EVERY_THIRD[:4099], x(3, 4099), x(4099)),
                 once(EVERY_THIRD, x(3, 20001), x(3, 1)),
                 bad(EVERY_THIRD[:33], x(3, 33), x(32)),
                 bad(EVERY_THIRD[:5, None], x(4, 7), x(7)),
                 c([[True], [False]], x(2, 16), x(16)), c(x(37), x(37), x()),
                 c(x(3, 32), x(3, 32), x(3, 1)), c(x(16), x(2, 1, 16), x(3, 1)),
                 bad([True] * 16, x(16), x(3, 8)),
                 bad([True, False], x(3), x(3)), bad(True, x(2), x(3))], ANY)

NUMBERS = [c(x(2, 3), message="m"), c(x(), message=""), c(x(0), message="m"),
           once(x(300, 70), message="m"),
           c(x(3, 16), message="m"), c(x(37), message="m"),
           bad([1, np.nan], message="m"), bad([np.inf], message="m"),
           bad([1] * 18 + [np.nan] + [1] * 18, message="m"),
           bad([1] * 36 + [np.inf], message="m"),
           bad([np.nan, -np.inf], message="")]
row("CheckNumerics CheckNumericsV2", NUMBERS)
row("Bucketize", [
    c(x(5, 7), boundaries=[-1.0, 0.0, 0.5, 0.5, 1.0]), c(x(), boundaries=[0.0]),
    c(x(0, 3), boundaries=[0.0]), c(x(4), boundaries=[]),
    c([0, 1, 2, 3], boundaries=[1.0, 2.0, 2.0]),
    c([float("nan"), float("inf"), -float("inf"), 0.1], boundaries=[0.1, 3.0],
      dtypes=["float32", "float64"]),
    c([16777217, 16777216], boundaries=[16777216.0, 16777218.0]),
    once(x(300, 70), boundaries=[i / 50 for i in range(-100, 100)]),
    bad(x(4), boundaries=[2.0, 1.0]), bad(x(4), boundaries=[0.0, 1.0, 0.5])])
