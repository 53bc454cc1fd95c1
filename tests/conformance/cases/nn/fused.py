"""Cases of kernels/nn/fused.c: what TensorFlow's graph optimizers make for a CPU
of the ops that users write."""
from tests.conformance.cases.shared import SHAPES, SMALL, UNIT
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, many, once, row

AFTER_CONV = ("Relu", "Relu6", "Elu", "LeakyRelu")
AFTER_MATMUL = AFTER_CONV + ("Tanh", "Sigmoid")


def product(a, b, *args, ops=("BiasAdd",), make=c, **attrs):
    return make(x(*a), x(*b), many(*args), fused_ops=list(ops), **attrs)


BIAS = x(4)
row("_FusedMatMul", [
    product((2, 3), (3, 4), BIAS),
    product((3, 2), (3, 4), BIAS, transpose_a=True),
    product((2, 3), (4, 3), BIAS, transpose_b=True),
    product((3, 2), (4, 3), BIAS, ops=("BiasAdd", "Relu"), transpose_a=True,
            transpose_b=True),
    product((0, 3), (3, 4), BIAS), product((2, 3), (3, 0), x(0)),
    product((2, 0), (0, 4), BIAS),
    product((1, 1), (1, 1), x(1)),
    product((130, 70), (70, 90), x(90), ops=("BiasAdd", "Tanh"), make=once),
    product((3, 7), (7, 5000), x(5000), ops=("BiasAdd", "Elu"), make=once),
    product((3, 5), (5, 4), BIAS, ops=("BiasAdd", "LeakyRelu"),
            leakyrelu_alpha=0.5)] + [
    product((3, 5), (5, 4), BIAS, ops=("BiasAdd", name))
    for name in AFTER_MATMUL] + [
    product((2, 3), (3, 4), *args, ops=ops, make=bad) for args, ops in (
        ([BIAS], ()), ([], ()), ([], ("BiasAdd",)),
        ([BIAS, BIAS], ("BiasAdd",)), ([x(1, 4)], ("BiasAdd",)),
        ([x()], ("BiasAdd",)), ([BIAS], ("Relu",)),
        ([BIAS], ("Relu", "BiasAdd")), ([BIAS], ("BiasAdd", "Relu", "Relu")),
        ([BIAS], ("BiasAdd", "Selu")), ([BIAS], ("BiasAdd", "BiasAdd")),
        ([BIAS, x(2, 4)], ("BiasAdd", "Add")), ([x(2, 4)], ("Add",)),
        ([BIAS] * 4, ("FusedBatchNorm",)), ([BIAS], ("BiasAdd", "")))] + [
    product((2, 3), (2, 4), BIAS, make=bad),
    product((3,), (3, 4), BIAS, make=bad),
    product((2, 2, 3), (3, 4), BIAS, make=bad),
    product((2, 3), (3, 4), BIAS, transpose_b=True, make=bad)],
    SMALL, tol=32)
NORM = ([0.5, 1, -2, 1.5], [0, 1, -1, 0.25], [0.5, -0.5, 0, 2],
        [1, 0.25, 4, 0])


def convolution(*args, image=(2, 5, 6, 3), kernel=(3, 3, 3, 4),
                ops=("BiasAdd",), make=c, **attrs):
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME",
             "num_args": len(args), **attrs}
    return make(x(*image), x(*kernel), many(*args), many(),
                fused_ops=list(ops), **attrs)


EXPLICIT = {"padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
SECOND = {"image": (2, 3, 5, 5), "data_format": "NCHW"}
row("_FusedConv2D", [
    convolution(BIAS), convolution(BIAS, padding="VALID"),
    convolution(BIAS, strides=[1, 2, 2, 1], ops=("BiasAdd", "Relu")),
    convolution(BIAS, dilations=[1, 2, 2, 1]), convolution(BIAS, **EXPLICIT),
    convolution(BIAS, kernel=(1, 1, 3, 4)),
    convolution(*NORM, ops=("FusedBatchNorm",)),
    convolution(*NORM, ops=("FusedBatchNorm",), epsilon=0.5),
    convolution(BIAS, ops=("BiasAdd", "LeakyRelu"), leakyrelu_alpha=0.5),
    convolution(x(16), image=(8, 28, 28, 8), kernel=(5, 5, 8, 16),
                ops=("BiasAdd", "Relu"), make=once)] + [
    convolution(BIAS, ops=("BiasAdd", name)) for name in AFTER_CONV] + [
    convolution(*NORM, ops=("FusedBatchNorm", name))
    for name in AFTER_CONV] + [
    convolution(*args, ops=ops, make=bad) for args, ops in (
        ([BIAS], ()), ([BIAS, BIAS], ("BiasAdd",)),
        ([x(1, 4)], ("BiasAdd",)), ([BIAS], ("Relu",)),
        ([BIAS], ("BiasAdd", "Tanh")), ([BIAS], ("BiasAdd", "Relu", "Relu")),
        ([BIAS, x(2, 5, 6, 4)], ("BiasAdd", "Add")),
        (NORM[:3], ("FusedBatchNorm",)), ([BIAS], ("FusedBatchNorm",)),
        (NORM, ("BiasAdd",)), (NORM, ("FusedBatchNorm", "Sigmoid")),
        ([[[1, 1, 1, 1]]] + list(NORM[1:]), ("FusedBatchNorm",)))] + [
    convolution(BIAS, make=bad, cpu=True, **SECOND),
    convolution(*NORM, ops=("FusedBatchNorm",), make=bad, cpu=True, **SECOND),
    convolution(BIAS, make=bad, cpu=True, image=(2, 5, 6, 4),
                kernel=(3, 3, 2, 4)),
    convolution(BIAS, make=bad, image=(5, 6, 3)),
    convolution(BIAS, make=bad, kernel=(3, 3, 3)),
    convolution(BIAS, make=bad, kernel=(3, 3, 2, 4)),
    convolution(BIAS, make=bad, strides=[2, 1, 1, 1])],
    SMALL, tol=64, dtypes=("float32", "float64"))
WIDE = "Acos Asin Asinh Atan Atanh Cosh Rint Sinh Tan".split()
row("_UnaryOpsComposition", [
    c(x(2, 13), op_names=["Sin", "Abs", "Sqrt", "Tanh"]),
    c(x(), op_names=["Exp"]), c(x(0, 3), op_names=["Neg", "Exp"]),
    c(x(40, 30), op_names=["Abs", "Sqrt"])] + [
    once(x(300, 70), op_names=["Square", "Log1p", "Rsqrt", "Neg", "Relu"])] + [
    c(x(3, 4), op_names=[name, "Neg"]) for name in (
        "Abs Ceil Cos Expm1 Exp Floor Inv Log1p Neg Round Reciprocal Sigmoid "
        "Sin Square Tanh Elu Relu Relu6 Selu").split()] + [
    c(x(3, 4), op_names=[name, "Neg"], dtypes=("float32", "float64"))
    for name in WIDE] + [
    bad(x(3, 4), op_names=[name], dtypes=("float16",)) for name in WIDE] + [
    c(x(3, 4), op_names=["Square", name]) for name in "Log Rsqrt Sqrt".split()]
    + [c(x(3, 4), op_names=["Exp", "Exp", "Acosh"],
         dtypes=("float32", "float64")), bad(x(3), op_names=[]),
       bad(x(3), op_names=["Softplus"]), bad(x(3), op_names=["Exp", ""]),
       bad(x(3), op_names=["Add"])], UNIT, tol=8)
row("Snapshot", SHAPES, Data(special=True), tol=0)
