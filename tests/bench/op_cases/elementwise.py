"""Functions of numbers, element by element."""
from tests.bench.op_cases.table import (
    FLOAT, FLOATS, INTS, ITEMS, NUMBERS, REALS, const, of, row, side, x)


def one(low=-1, high=1):
    return lambda n: [x(n, low=low, high=high)]


def two(low=-1, high=1):
    return lambda n: [x(n, low=low, high=high), x(n, low=low, high=high)]


def pairs(low=-1, high=1):
    """With a scalar, a row, a column, and odd rows of 3 and 7."""
    def a(*dims):
        return x(*dims, low=low, high=high)
    return {
        "": lambda n: [a(n), a(n)],
        "odd": lambda n: [a(n + 1), a(n + 1)],
        "scalar": lambda n: [a(n), a()],
        "row": lambda n: [a(n // 64, 64), a(64)],
        "row7": lambda n: [a(n // 7, 7), a(7)],
        "row3": lambda n: [a(n // 3, 3), a(1, 3)],
        "column": lambda n: [a(side(n), side(n)), a(side(n), 1)]}


# ---- One number to one -------------------------------------------------------

row("unary", "Abs Neg Square Sign", one(), NUMBERS)
row("unary", "Ceil Floor Round Rint", one(-9, 9), FLOATS)
row("unary", "Sqrt Rsqrt", one(1, 9), FLOATS, work=4)
row("unary", "Reciprocal", one(1, 9), FLOATS)
row("unary", "IsNan IsFinite IsInf", one(), FLOATS)
row("unary", "Exp", one(), FLOATS, work=12)
row("unary", "Expm1 Sigmoid", one(-4, 4), FLOATS, work=16)
row("unary", "Log Log1p", one(1, 9), FLOATS, work=16)
row("unary", "Tanh", one(-4, 4), FLOATS, work=16)
row("trig", "Sin Cos", one(-9, 9), FLOATS, work=20)
row("trig", "Tan Asin Acos Atan", one(), FLOATS, work=24)
row("trig", "Sinh Cosh Asinh Atanh", one(-0.9, 0.9), FLOATS, work=24)
row("trig", "Acosh", one(1, 9), FLOATS, work=24)
row("trig", "Atan2", two(), REALS, work=30)
row("special", "Erf", one(-4, 4), FLOATS, work=20)
row("special", "Erfc", one(-4, 4), FLOATS, work=24)
row("special", "Lgamma Digamma", one(0.1, 9), REALS, work=40, heavy=10)
row("bessel", "BesselI0 BesselI0e BesselI1 BesselI1e BesselK0 BesselK0e "
    "BesselK1 BesselK1e BesselJ0 BesselJ1 BesselY0 BesselY1", one(0.1, 9),
    REALS, work=40, heavy=5)
row("integrals", "Dawsn Expint FresnelCos FresnelSin Spence", one(0.1, 9),
    REALS, work=40, heavy=5)
row("integrals", "Erfinv", one(-0.99, 0.99), REALS, work=40, heavy=5)
row("integrals", "Ndtri", one(0.01, 0.99), REALS, work=40, heavy=5)
row("special", "NextAfter", two(), REALS)
row("math", "Igamma Igammac Zeta", two(1.1, 9), REALS, limit=False, heavy=100)
row("math", "Polygamma", lambda n: [of("float32", n, low=1, high=3),
                                    x(n, low=1, high=9)], FLOAT, limit=False,
    heavy=4)
row("math", "Betainc", lambda n: [x(n, low=0.5, high=5), x(n, low=0.5, high=5),
                                  x(n, low=0.1, high=0.9)], REALS,
    limit=False, heavy=100)

# ---- Activations, and what goes backward -------------------------------------

row("relu", "Relu", one(), NUMBERS)
row("relu", "ReluGrad", two(), FLOATS)
row("activation", "Relu6 LeakyRelu", one(-9, 9), FLOATS)
row("activation", "Elu Selu", one(-4, 4), FLOATS, work=14)
row("activation", "Softplus", one(-4, 4), FLOATS, work=26)
row("activation", "Softsign", one(-4, 4), FLOATS)
row("activation", "Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftsignGrad",
    two(), FLOATS)
row("activation", "SoftplusGrad", two(), FLOATS, work=16)
row("unary_grad", "SigmoidGrad TanhGrad RsqrtGrad SqrtGrad ReciprocalGrad",
    two(0.1, 0.9), FLOATS)
row("check_numerics", "CheckNumerics", one(), FLOATS, {"message": "m"})
row("bitcast", "Bitcast", lambda n: [of("float32", n)], FLOAT,
    {"type": "int32"}, limit=False)

# ---- Two numbers to one ------------------------------------------------------

row("binary", "AddV2", pairs(), NUMBERS)
row("binary", "Mul", {key: pairs()[key] for key in ("", "row", "row7", "column")},
    NUMBERS)
row("binary", "Sub Maximum Minimum SquaredDifference",
    {key: pairs()[key] for key in ("", "scalar")}, NUMBERS)
row("divide", "RealDiv DivNoNan", pairs(1, 9), FLOATS)
row("divide", "Xdivy Xlogy Xlog1py", two(1, 9), REALS, work=20)
row("divide", "FloorDiv FloorMod", two(1, 99), FLOATS + INTS)
row("divide", "TruncateDiv TruncateMod", two(1, 99), INTS + REALS)
row("divide", "FloorDiv FloorMod", {
    "scalar": lambda n: [x(n, low=1, high=999), x(low=7, high=8)]}, INTS)
row("power", "Pow", {"": two(1, 2), "square": lambda n: [
    x(n, low=1, high=2), const(2)]}, FLOATS + INTS, work=40)
row("compare", "Less Greater LessEqual GreaterEqual Equal NotEqual",
    {"": two(), "scalar": lambda n: [x(n), x()]}, NUMBERS)
row("compare", "Equal NotEqual", {"string": two()}, ("string",), limit=False,
    heavy=10)
row("compare", "LogicalAnd LogicalOr", two(), ("bool",))
row("compare", "LogicalNot", one(), ("bool",))
row("compare", "ApproximateEqual", two(), REALS + INTS)
row("bitwise", "BitwiseAnd BitwiseOr BitwiseXor", {"": two(), "row": pairs()[
    "row"]}, INTS + ("uint8",))
row("bitwise", "LeftShift RightShift", two(0, 20), INTS)
row("bitwise", "Invert PopulationCount", one(), INTS)
row("add_n", "AddN", {
    "2": lambda n: [[x(n) for _ in range(2)]],
    "8": lambda n: [[x(n) for _ in range(8)]]}, NUMBERS)
row("complex", "Complex", two(), REALS)
row("complex", "Real Imag ComplexAbs Angle Conj",
    lambda n: [of("complex64", n)], ("complex64",))
row("binary", "Mul AddV2", two(), ("complex64",))
row("unary", "Exp", {"complex": one()}, ("complex64",))

# ---- Choices -----------------------------------------------------------------

row("select", "SelectV2", {
    "": lambda n: [of("bool", n), x(n), x(n)],
    "scalar": lambda n: [of("bool", n), x(n), const(0)],
    "rows": lambda n: [of("bool", n // 64, 1), x(n // 64, 64), x(n // 64, 64)]},
    NUMBERS)
row("select", "Select", {
    "": lambda n: [of("bool", n), x(n), x(n)],
    "rows": lambda n: [of("bool", n // 64), x(n // 64, 64), x(n // 64, 64)]},
    NUMBERS)
row("clip", "ClipByValue", {
    "": lambda n: [x(n), const(0), const(1)],
    "odd": lambda n: [x(n + 1), const(0), const(1)],
    "tensors": lambda n: [x(n), x(n), x(n)]}, NUMBERS)
row("bucketize", "Bucketize", {
    "10": lambda n: [x(n)]}, REALS + INTS,
    {"boundaries": [i / 5 - 1 for i in range(10)]}, limit=False)
for there in ("float64", "float16", "bfloat16", "int32", "int64", "bool",
              "uint8", "complex64"):
    row("cast", "Cast", {"to " + there: one(0, 9)}, ("float32",),
        {"DstT": there})
for there in ("float32", "int64", "bool"):
    row("cast", "Cast", {"to " + there: one(0, 9)}, (
        "int32", "float64", "float16", "bfloat16", "bool", "uint8"),
        {"DstT": there})
row("const", "Identity", one(), ITEMS, limit=False)
