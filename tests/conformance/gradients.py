"""Gradients that the C API adds, against TensorFlow's own.

Each function makes outputs from placeholders of the given shapes; what is
compared are the gradients of the sum of all outputs by each placeholder,
added by TF_AddGradients in libtfd and in TensorFlow's library.  Where that
library has none, Python's tf.gradients says what is right.
"""
import pathlib

import numpy as np
import tensorflow.compat.v1 as tf

from tests.conformance import capi
from tests.conformance import gradient_loops
from tests.conformance import gradient_rooms
from tests.conformance.compare import difference

CASES = []  # (name, function, shapes, ranks are known)
CONTROL = set()  # names of those that TensorFlow's C API does not know
REFUSED = {}  # name -> what libtfd's error says, where it derives nothing
DIFFERENCES = set()  # names of those that differences of y confirm, too
ALONE = set()  # names of those that TensorFlow does not derive, though it could
STEP = 1e-6  # of these
STEP_TOLERANCE = 1e-5
TWICE = set()  # names of those whose second gradients are compared
CHANGE = {}  # name -> what makes another GraphDef of it, for libtfd alone
TOLERANCE = 100  # times that of a double: other sums, in another order
FLOAT_TOLERANCE = 3e8
SHOWN = 300
raw = tf.raw_ops


def case(name, function, *shapes, unknown=True):
    """unknown: once more with placeholders of unknown rank."""
    CASES.append((name, function, shapes, True))
    if unknown:
        CASES.append((name + " of unknown rank", function, shapes, False))


def control(name, function, *shapes, change=None):
    """Control flow by Switch and Merge, which Python alone derives; the C API
    refuses it, or crashes."""
    def built(*x):
        with gradient_loops.old_control_flow():
            return function(*x)

    CONTROL.add(name)
    CHANGE[name] = change
    case(name, built, *shapes, unknown=False)


def python(name, function, *shapes, change=None, differences=False):
    """TensorFlow's C API has no gradient, or one of zeros."""
    CONTROL.add(name)
    CHANGE[name] = change
    if differences:
        DIFFERENCES.add(name)
    case(name, function, *shapes, unknown=False)


def twice(name, function, *shapes):
    """The gradients of the gradients, which libtfd adds, too."""
    TWICE.add(name)
    python(name, function, *shapes)


def alone(name, function, *shapes):
    ALONE.add(name)
    python(name, function, *shapes, differences=True)


def refuse(name, function, text, *shapes, change=None, order=1):
    REFUSED[name] = text
    if order == 2:
        TWICE.add(name)
    python(name, function, *shapes, change=change)


def reductions():
    for op in ("Sum", "Prod", "Mean", "Max", "Min"):
        reduce = getattr(raw, op)
        for axes in ([1], [0, 2], [-1], [2, 0, 1], [], 1):
            case("%s by %s" % (op, axes), lambda x, r=reduce, a=axes: r(
                input=x, axis=a), (2, 3, 4))
        case(op + " keeping", lambda x, r=reduce: r(
            input=x, axis=[0, 2], keep_dims=True), (2, 3, 4))
        case(op + " by int64", lambda x, r=reduce: r(
            input=x, axis=np.array([-1], np.int64)), (2, 3))
        case(op + " of a scalar", lambda x, r=reduce: r(
            input=x, axis=np.zeros([0], np.int32)), ())
    case("Prod with zeros", lambda x: raw.Prod(
        input=x * [[0.0, 1, 2], [0, 0, 3]], axis=[1]), (2, 3))


def slices():
    case("Slice", lambda x: raw.Slice(input=x, begin=[1, 0], size=[2, -1]),
         (3, 4))
    case("Slice by int64", lambda x: raw.Slice(
        input=x, begin=np.array([1, 2]), size=np.array([2, 1])), (3, 4))
    case("StridedSlice", lambda x: x[2:0:-1, ..., 1::2, tf.newaxis, 0],
         (3, 2, 4, 2))
    case("StridedSlice, one", lambda x: x[1, 2], (3, 4))
    case("StridedSliceGrad", lambda x: raw.StridedSliceGrad(
        shape=[5, 4], begin=[1, 0], end=[4, 4], strides=[1, 2], dy=x), (3, 2))
    case("Pad", lambda x: raw.Pad(input=x, paddings=[[1, 2], [0, 3]]), (3, 4))
    case("Pad by int64", lambda x: raw.Pad(
        input=x, paddings=np.array([[1, 2]])), (3,))
    case("PadV2", lambda x: raw.PadV2(
        input=x, paddings=[[1, 2], [0, 3]],
        constant_values=tf.constant(7, tf.float64)), (3, 4))
    for mode in ("REFLECT", "SYMMETRIC"):
        case("MirrorPad " + mode, lambda x, m=mode: raw.MirrorPad(
            input=x, paddings=[[1, 2], [0, 3]], mode=m), (3, 4))
        case("MirrorPadGrad " + mode, lambda x, m=mode: raw.MirrorPadGrad(
            input=x, paddings=[[1, 1], [0, 2]], mode=m), (4, 5))


def gathers():
    case("GatherV2", lambda x: tf.gather(x, [0, 2, 0]), (3, 4))
    case("GatherV2, one", lambda x: tf.gather(x, 2), (3, 4))
    case("GatherV2, scalars", lambda x: tf.gather(x, [[1, 1], [0, 2]]), (3,))
    case("GatherV2, none", lambda x: tf.gather(x, np.zeros([0], np.int32)),
         (3, 4))
    case("GatherV2 by int64", lambda x: tf.gather(
        x, np.array([1, 1]), axis=np.int64(1)), (3, 4))
    case("GatherV2 by axis 1", lambda x: tf.gather(x, [[0, 3], [3, 2]],
                                                   axis=1), (2, 4, 3))
    case("GatherV2 in batches", lambda x: raw.GatherV2(
        params=x, indices=[[0, 2], [1, 1], [0, 1]], axis=1, batch_dims=1),
        (3, 4, 2))
    case("GatherV2 in batches by axis 2", lambda x: raw.GatherV2(
        params=x, indices=[[0, 2, 2], [1, 1, 0]], axis=2, batch_dims=1),
        (2, 2, 3, 2))
    for op in (raw.DynamicStitch, raw.ParallelDynamicStitch):
        case(op.__name__, lambda x, y, o=op: o(
            indices=[[0, 3], [2, 1]], data=[x, y]), (2, 3), (2, 3))
    case("DynamicStitch, twice", lambda x, y: raw.DynamicStitch(
        indices=[[0, 1], 1], data=[x, y]), (2, 3), (3,))
    case("UnsortedSegmentSum", lambda x: raw.UnsortedSegmentSum(
        data=x, segment_ids=[1, 0, -1, 1], num_segments=3), (4, 2))
    case("UnsortedSegmentSum of scalars", lambda x: raw.UnsortedSegmentSum(
        data=x, segment_ids=[[1, 0], [-1, 1]], num_segments=2), (2, 2))


def sparse():
    case("SparseToDense", lambda x, y: raw.SparseToDense(
        sparse_indices=[[0, 1], [1, 0]], output_shape=[2, 3],
        sparse_values=x, default_value=tf.reshape(y, [])), (2,), ())
    case("SparseReorder", lambda x: raw.SparseReorder(
        input_indices=np.array([[1, 0], [0, 2], [0, 1]]), input_values=x,
        input_shape=np.array([2, 3]))[1], (3,))
    case("SparseFillEmptyRows", lambda x, y: raw.SparseFillEmptyRows(
        indices=np.array([[3, 0], [0, 2], [0, 1]]), values=x,
        dense_shape=np.array([5, 3]),
        default_value=tf.reshape(y, []))[1], (3,), ())
    for op in (raw.SparseSegmentSum, raw.SparseSegmentMean,
               raw.SparseSegmentSqrtN):
        case(op.__name__, lambda x, o=op: o(
            data=x, indices=[0, 2, 2, 1], segment_ids=[0, 0, 1, 3]) * 2.0,
            (4, 2), unknown=False)
    case("SparseSegmentMeanWithNumSegments", lambda x:
         raw.SparseSegmentMeanWithNumSegments(
             data=x, indices=[0, 2, 2, 1], segment_ids=[0, 0, 1, 3],
             num_segments=6), (4, 2))
    for a, b in ((False, False), (False, True), (True, False), (True, True)):
        case("SparseTensorDenseMatMul %d%d" % (a, b), lambda x, y, a=a, b=b:
             raw.SparseTensorDenseMatMul(
                 a_indices=np.array([[0, 1], [2, 0], [1, 1]]), a_values=x,
                 a_shape=np.array([3, 2]), b=y, adjoint_a=a, adjoint_b=b)
             * [[1.0, 2, 3, 4]], (3,),
             ((4, 3 if a else 2) if b else (3 if a else 2, 4)))
    sparser()
    case("ReverseSequence", lambda x: raw.ReverseSequence(
        input=x, seq_lengths=[1, 3], seq_dim=1), (2, 3, 2))
    case("ReverseSequence by batch 1", lambda x: raw.ReverseSequence(
        input=x, seq_lengths=[1, 3], seq_dim=0, batch_dim=1), (3, 2))


def sparser():
    """Those that the C API does not know."""
    at, dims = np.array([[0, 1], [1, 0], [1, 2]]), np.array([2, 3])
    case("SparseAdd", lambda x, y: raw.SparseAdd(
        a_indices=at, a_values=x, a_shape=dims, b_indices=at[1:],
        b_values=y, b_shape=dims, thresh=tf.constant(0, tf.float64))[1],
        (3,), (2,))
    case("SparseSlice", lambda x: raw.SparseSlice(
        indices=at, values=x, shape=dims, start=np.array([1, 0]),
        size=np.array([1, 2]))[1], (3,))
    for axes, kept in (([1], False), ([0], True), ([-1, 0], False), (1, True)):
        case("SparseReduceSum by %s" % axes, lambda x, a=axes, k=kept:
             raw.SparseReduceSum(input_indices=at, input_values=x, input_shape=dims,
                                 reduction_axes=a, keep_dims=k), (3,))
    case("SparseSoftmax", lambda x: raw.SparseSoftmax(
        sp_indices=at, sp_values=x, sp_shape=dims), (3,))
    for op in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseDiv):
        for shape in ((2, 3), (3,), (2, 1)):
            case("%s by %s" % (op.__name__, shape), lambda x, y, o=op: o(
                sp_indices=at, sp_values=x, sp_shape=dims, dense=y), (3,), shape)


def mixed():
    """In float, which is all that the product comes in."""
    shapes = {(0, 0): ((2, 3), (3, 4)), (1, 0): ((3, 2), (3, 4)),
              (0, 1): ((2, 3), (4, 3)), (1, 1): ((3, 2), (4, 3))}
    for (a, b), (x, y) in shapes.items():
        case("SparseMatMul in float, %d%d" % (a, b), lambda x, y, a=bool(a), b=bool(b):
             raw.SparseMatMul(a=tf.cast(x, tf.float32), b=tf.cast(y, tf.float32),
                              transpose_a=a, transpose_b=b), x, y)


def chosen():
    """What picks and pools by values: in float, and of shapes that are known."""
    for k, dims in ((3, (7,)), (2, (3, 5)), (4, (2, 3, 4)), (0, (2, 3))):
        case("ApproxTopK in float, %d of %s" % (k, dims), lambda x, k=k: raw.ApproxTopK(
            input=tf.cast(x, tf.float32), k=k)[0], dims, unknown=False)
    for dims in ((1, 6), (4, 9)):
        case("IsotonicRegression of %s" % (dims,), lambda x: raw.IsotonicRegression(
            input=x, output_dtype=tf.float64)[0] ** 2, dims, unknown=False)


def ragged():
    one, two = np.array([0, 2, 2, 3]), [np.array([0, 2, 3]), np.array([0, 1, 3, 3])]
    case("RaggedTensorToSparse", lambda x: raw.RaggedTensorToSparse(
        rt_nested_splits=[one], rt_dense_values=x)[1], (3, 2))
    case("RaggedFillEmptyRows", lambda x, y: raw.RaggedFillEmptyRows(
        value_rowids=np.array([2, 0, 0]), values=x, nrows=np.int64(4),
        default_value=tf.reshape(y, []))[1], (3,), (), unknown=False)
    for name, splits in (("1", [one]), ("2", two)):
        case("RaggedGather of " + name, lambda x, s=splits: raw.RaggedGather(
            params_nested_splits=s, params_dense_values=x,
            indices=np.array([1, 0, 1]), OUTPUT_RAGGED_RANK=len(s))[1], (3, 2))
        for shape in ((), (1,), (2,)):
            case("RaggedTensorToTensor of %s by %s" % (name, shape),
                 lambda x, y, s=splits: raw.RaggedTensorToTensor(
                     shape=[2] + [-1] * len(s) + [2], values=x, default_value=y,
                     row_partition_tensors=s, row_partition_types=["ROW_SPLITS"] * len(s)),
                 (3, 2), shape, unknown=False)


def batches():
    shapes = {(0, 0): ((2, 3), (3, 4)), (1, 0): ((3, 2), (3, 4)),
              (0, 1): ((2, 3), (4, 3)), (1, 1): ((3, 2), (4, 3))}
    for (ax, ay), (x, y) in shapes.items():
        flags = {"adj_x": bool(ax), "adj_y": bool(ay)}
        for op, more in (("BatchMatMul", {}), ("BatchMatMulV2", {}),
                         ("BatchMatMulV3", {"Tout": tf.float64})):
            case("%s %d%d" % (op, ax, ay), lambda x, y, o=getattr(
                raw, op), f={**flags, **more}: o(x=x, y=y, **f),
                (2,) + x, (2,) + y)
        case("BatchMatMulV2 %d%d, broadcast" % (ax, ay), lambda x, y,
             f=flags: raw.BatchMatMulV2(x=x, y=y, **f), (2, 1) + x, (3,) + y)
        case("BatchMatMulV2 %d%d, one right" % (ax, ay), lambda x, y,
             f=flags: raw.BatchMatMulV2(x=x, y=y, **f), (2,) + x, y)
    case("BatchMatMulV2 of matrices", lambda x, y: raw.BatchMatMulV2(
        x=x, y=y), (2, 3), (3, 2))


def others():
    case("Cumsum", lambda x: raw.Cumsum(x=x, axis=1, exclusive=True), (2, 3))
    case("Cumsum back", lambda x: raw.Cumsum(x=x, axis=0, reverse=True),
         (2, 3))
    case("Cumprod", lambda x: raw.Cumprod(x=x, axis=1), (2, 3))
    case("Cumprod back", lambda x: raw.Cumprod(
        x=x, axis=0, exclusive=True, reverse=True), (3, 2))
    case("Split", lambda x: raw.Split(axis=1, value=x, num_split=2), (2, 4))
    case("SplitV", lambda x: raw.SplitV(
        value=x, size_splits=[1, 3], axis=1, num_split=2), (2, 4))
    case("Split, one part used", lambda x: raw.Split(
        axis=1, value=x, num_split=2)[1], (2, 4))
    case("SplitV, one part used", lambda x: raw.SplitV(
        value=x, size_splits=[1, 3], axis=1, num_split=2)[1], (2, 4))
    case("Unpack, one part used", lambda x: raw.Unpack(
        value=x, num=3, axis=1)[1], (2, 3))
    case("Unpack", lambda x: raw.Unpack(value=x, num=3, axis=1), (2, 3))
    case("Pack", lambda x, y: raw.Pack(values=[x, y], axis=1), (2, 3), (2, 3))
    case("ConcatV2", lambda x, y: raw.ConcatV2(values=[x, y], axis=0), (2, 3),
         (1, 3))
    case("Tile", lambda x: raw.Tile(input=x, multiples=[2, 3]), (2, 3))
    case("Transpose", lambda x: raw.Transpose(x=x, perm=[2, 0, 1]), (2, 3, 4))
    case("ReverseV2", lambda x: raw.ReverseV2(tensor=x, axis=[-1]), (2, 3))
    case("Reverse", lambda x: raw.Reverse(tensor=x, dims=[True, False]), (2, 3))
    case("EnsureShape", lambda x: raw.EnsureShape(input=x, shape=[None, 3]),
         (2, 3))
    case("BroadcastTo", lambda x: raw.BroadcastTo(input=x, shape=[4, 2, 3]),
         (2, 1))
    case("BiasAdd", lambda x, y: raw.BiasAdd(value=x, bias=y), (2, 3), (3,))
    case("MatMul", lambda x, y: raw.MatMul(a=x, b=y, transpose_a=True),
         (3, 2), (3, 4))
    case("SelectV2", lambda x, y: raw.SelectV2(
        condition=[True, False, True], t=x, e=y), (2, 3), (3,))
    case("ClipByValue", lambda x: raw.ClipByValue(
        t=x, clip_value_min=0.6, clip_value_max=1.3), (2, 3))
    case("ClipByValue by tensors", lambda x, y, z: raw.ClipByValue(
        t=x, clip_value_min=y - 0.6, clip_value_max=z + 0.3), (2, 3), (2, 3),
        (2, 3))
    case("ClipByValue by scalars", lambda x, y, z: raw.ClipByValue(
        t=x, clip_value_min=y - 0.6, clip_value_max=z + 0.3), (2, 3), (), ())
    case("AddN", lambda x, y: raw.AddN(inputs=[x, y, x]), (2, 3), (2, 3))
    for op in ("Add", "Sub", "Mul", "RealDiv", "DivNoNan", "Pow", "Maximum",
               "Minimum", "SquaredDifference"):
        case(op, lambda x, y, o=getattr(raw, op): o(x=x, y=y), (2, 1, 3),
             (4, 1))
    for op in ("Abs", "Cos", "Erf", "Exp", "Inv", "Log", "Log1p", "Neg",
               "Reciprocal", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sqrt",
               "Square", "Tanh"):
        case(op, lambda x, o=getattr(raw, op): o(x=x), (2, 3), unknown=False)
    case("Relu", lambda x: raw.Relu(features=x - 1), (2, 3))
    case("Softmax", lambda x: raw.Softmax(logits=x), (2, 3))
    case("LogSoftmax", lambda x: raw.LogSoftmax(logits=x), (2, 3))
    case("L2Loss", lambda x: raw.L2Loss(t=x), (2, 3))


def einsums():
    for equation, *shapes in (
            ("ij,jk->ik", (2, 3), (3, 4)), ("abc,cd->ad", (2, 3, 4), (4, 5)),
            ("aab,bc->ac", (2, 2, 3), (3, 2)), ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
            ("...ij,...jk->...ik", (1, 2, 3), (4, 3, 2)), ("aabbcd->ca", (
                2, 2, 3, 3, 4, 2)), ("ij->", (2, 3)), ("i->ii", (3,)),
            ("...i->...", (2, 3))):
        case("Einsum " + equation, lambda *x, e=equation: raw.Einsum(
            inputs=list(x), equation=e), *shapes)


def integrals():
    for op in ("Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence", "Erfinv",
               "Ndtri", "BesselI0", "BesselI1", "BesselI1e", "BesselK0",
               "BesselK1e", "BesselJ1", "BesselY1"):
        case(op, lambda x, o=getattr(raw, op): o(x=tf.sigmoid(x)), (2, 3))
    for op in ("Igamma", "Igammac"):
        case(op, lambda x, y, o=getattr(raw, op): o(
            a=tf.exp(x), x=tf.exp(y)), (2, 3), (3,))


def samples():
    for shape, *parameters in (
            ([5, 2, 3], (2, 3), (3,), (), (2, 1)), ([4], (), (), (), ()),
            ([2, 3], (2, 3), (2, 3), (2, 3), (2, 3))):
        case("StatelessParameterizedTruncatedNormal of %s" % shape,
             lambda m, d, a, b, s=shape: (
                 raw.StatelessParameterizedTruncatedNormal(
                     shape=s, seed=[3, 5], means=m, stddevs=d,
                     minvals=a - 2.0, maxvals=b)), *parameters)


def of_complex(y):
    return tf.sin(tf.real(y)) + tf.square(tf.imag(y))


def transforms():
    shapes = {"": (2, 6), "2D": (2, 3, 4), "3D": (2, 3, 2, 4)}
    for dims, shape in shapes.items():
        for op in ("FFT", "IFFT"):
            case(op + dims, lambda x, y, o=getattr(raw, op + dims): of_complex(
                o(input=tf.complex(x, y))), shape, shape, unknown=False)
    for dims, shape in (("", (2, 6)), ("", (2, 5)), ("2D", (2, 3, 4)),
                        ("2D", (2, 4, 5))):
        length = shape[1:]
        half = shape[:-1] + (shape[-1] // 2 + 1,)
        case("RFFT%s of %s" % (dims, shape), lambda x, o=getattr(
            raw, "RFFT" + dims), n=length: of_complex(o(
                input=x, fft_length=n, Tcomplex=tf.complex128)), shape,
            unknown=False)
        case("IRFFT%s of %s" % (dims, shape), lambda x, y, o=getattr(
            raw, "IRFFT" + dims), n=length: tf.sin(o(
                input=tf.complex(x, y), fft_length=n, Treal=tf.float64)),
            half, half, unknown=False)


def images():
    """In float, which is all that some of these come in."""
    def single(x):
        return tf.cast(x, tf.float32)
    window = {"strides": [1, 2, 1, 1], "padding": "SAME"}
    for op in (raw.Conv2D, raw.DepthwiseConv2dNative):
        case(op.__name__, lambda x, y, o=op: o(
            input=x, filter=y, strides=[1, 2, 2, 1], padding="SAME"),
            (2, 5, 4, 2), (3, 2, 2, 3))
    for op in (raw.MaxPool, raw.AvgPool):
        case(op.__name__, lambda x, o=op: o(
            **{"value" if o is raw.AvgPool else "input": x},
            ksize=[1, 2, 2, 1], **window), (2, 5, 4, 2))
    for op in (raw.FractionalMaxPool, raw.FractionalAvgPool):
        for overlapping in (False, True):
            case("%s, %s" % (op.__name__, overlapping),
                 lambda x, o=op, v=overlapping: o(
                     value=x, pooling_ratio=[1.0, 1.6, 1.3, 1.0], seed=3,
                     deterministic=True, overlapping=v)[0], (2, 5, 6, 2))
    case("ExtractImagePatches", lambda x: raw.ExtractImagePatches(
        images=x, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1],
        rates=[1, 1, 2, 1], padding="SAME"), (2, 4, 5, 2))
    volumes = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 1, 1],
               "padding": "SAME"}
    for op in (raw.MaxPool3D, raw.AvgPool3D):
        case("%s in float" % op.__name__, lambda x, o=op: o(
            input=single(x), **volumes), (1, 3, 4, 3, 2))
    case("AvgPool3DGrad in float", lambda x: raw.AvgPool3DGrad(
        orig_input_shape=[1, 3, 4, 3, 2], grad=single(x), **volumes),
        (1, 2, 4, 3, 2))
    case("MaxPool3DGrad in float", lambda x, dy: raw.MaxPool3DGrad(
        orig_input=single(x), orig_output=raw.MaxPool3D(
            input=single(x), **volumes), grad=single(dy), **volumes),
        (1, 3, 4, 3, 2), (1, 2, 4, 3, 2))
    case("MaxPool3DGradGrad in float", lambda x, ddx: raw.MaxPool3DGradGrad(
        orig_input=single(x), orig_output=raw.MaxPool3D(
            input=single(x), **volumes), grad=single(ddx), **volumes),
        (1, 3, 4, 3, 2), (1, 3, 4, 3, 2))
    # TensorFlow's C++ gradient forgets the attributes; Python's has them.
    case("FakeQuantWithMinMaxArgs in float", lambda x:
         raw.FakeQuantWithMinMaxArgs(inputs=single(x), min=0.2, max=1.0,
                                     num_bits=3), (2, 3))
    for op in ("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"):
        case(op + " in float", lambda x, y, z, o=getattr(raw, op): o(
            inputs=single(x), min=single(y) - 1, max=single(z),
            narrow_range=True), (2, 3), *[(3,) if "Channel" in op else ()] * 2)
    for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
        case(op + " by its range", lambda x, o=getattr(raw, op): o(
            input=x, input_min=0.2, input_max=0.9, range_given=True,
            num_bits=3), (2, 3))
    case("QuantizeAndDequantizeV3", lambda x: raw.QuantizeAndDequantizeV3(
        input=x, input_min=0.2, input_max=0.9, num_bits=3), (2, 3))
    case("LRN in float", lambda x: raw.LRN(input=single(x)), (1, 2, 2, 5))
    case("CTCLoss", lambda x: raw.CTCLoss(
        inputs=x, labels_indices=[[0, 0], [0, 1], [1, 0]],
        labels_values=[1, 1, 0], sequence_length=[4, 3])[0], (4, 2, 3))
    # Of BlockLSTMV2 TensorFlow takes the gradient of BlockLSTM, whose gates lie in
    # another order: no derivative of it.
    for peep in (True, False):
        case("BlockLSTM in float, %s" % peep, lambda x, cs, h, w, i, f, o, b,
             p=peep: raw.BlockLSTM(
                 seq_len_max=3, x=single(x), cs_prev=single(cs),
                 h_prev=single(h), w=single(w), wci=single(i), wcf=single(f),
                 wco=single(o), b=single(b), use_peephole=p).h,
             (3, 2, 3), (2, 2), (2, 2), (5, 8), (2,), (2,), (2,), (8,))
    for op in (raw.FusedBatchNorm, raw.FusedBatchNormV2, raw.FusedBatchNormV3):
        for training in (True, False):
            case("%s in float, %s" % (op.__name__, training), lambda x, a, b,
                 m, v, o=op, t=training: o(
                     x=single(x), scale=single(a), offset=single(b),
                     mean=single(m), variance=single(v), is_training=t)[0],
                 (2, 3, 2, 2), (2,), (2,), (2,), (2,))
    for op in (raw.ResizeBilinear, raw.ResizeBicubic):
        case("%s in float" % op.__name__, lambda x, o=op: o(
            images=single(x), size=[5, 2], half_pixel_centers=True),
            (2, 3, 4, 2))
    for curve in ("lanczos3", "box", "mitchellcubic"):
        case("ScaleAndTranslate in float, %s" % curve, lambda x, c=curve:
             raw.ScaleAndTranslate(
                 images=single(x), size=[5, 2], scale=[1.5, 0.5],
                 translation=[0.25, -0.5], kernel_type=c), (2, 3, 4, 2))
    for way in ("NEAREST", "BILINEAR"):
        moves = [[1.1, 0.2, -0.3, 0.1, 0.9, 0.4, 0.05, -0.03]]
        case("ImageProjectiveTransformV2 in float, %s" % way, lambda x, w=way:
             raw.ImageProjectiveTransformV2(
                 images=x, transforms=moves, output_shape=[5, 2], interpolation=w),
             (2, 3, 4, 2))
        case("ImageProjectiveTransformV3 in float, %s" % way, lambda x, w=way:
             raw.ImageProjectiveTransformV3(
                 images=x, transforms=moves * 2, output_shape=[5, 2], interpolation=w,
                 fill_mode="REFLECT", fill_value=2.0), (2, 3, 4, 2))
    case("CropAndResize in float", lambda x, y: raw.CropAndResize(
        image=single(x), boxes=single(y), box_ind=[0, 1, 1], crop_size=[3, 2]),
        (2, 3, 4, 2), (3, 4))


for fill in (reductions, slices, gathers, batches, others, einsums, integrals,
             samples, sparse, chosen, ragged, mixed, images, transforms):
    fill()
gradient_rooms.fill(case)
gradient_rooms.fill_control(control)
gradient_loops.fill_control(control)
gradient_loops.fill(python, twice, refuse, alone)


def outputs_of(made):
    return [y for y in (made if isinstance(made, (list, tuple)) else [made])
            if isinstance(y, tf.Tensor)]


def number(name, shape):
    """Values that differ, none near 0."""
    random = np.random.RandomState(len(name) + sum(shape))
    return random.uniform(0.3, 1.7, shape)


def build(function, shapes, known):
    """Outputs, placeholders (and variables) and what to feed, in the default
    graph."""
    x = [tf.placeholder(tf.float64, shape if known else None, name="x%d" % i)
         for i, shape in enumerate(shapes)]
    feeds = {p.name: number(p.name, shape) for p, shape in zip(x, shapes)}
    made = function(*x)
    if isinstance(made, gradient_loops.By):
        made, x = made.y, x + made.handles
    # Sines: no two elements weigh the same, so none can hide in a sum.
    y = [tf.reduce_sum(tf.sin(output)) for output in outputs_of(made)]
    return y, x, feeds


def order_of(name):
    return 2 if name in TWICE else 1


def call_of(name, function, shapes, known):
    with tf.Graph().as_default() as graph:
        y, x, feeds = build(function, shapes, known)
        change = CHANGE.get(name) or (lambda same: same)
        return capi.Call(change(graph.as_graph_def()).SerializeToString(),
                         [output.name for output in y], [p.name for p in x],
                         feeds, order_of(name))


def python_answer(function, shapes, order):
    """With known ranks: without, tf.gradients fails where the C API does."""
    with tf.Graph().as_default(), tf.Session() as session:
        y, x, feeds = build(function, shapes, True)
        with gradient_loops.old_control_flow():
            for _ in range(order):
                y = tf.gradients([d for d in y if d is not None], x)
            dx = [None if d is None else tf.convert_to_tensor(d) for d in y]
        there = iter(session.run([d for d in dx if d is not None], feeds))
        return [None if d is None else next(there) for d in dx]


def right_answer(theirs, name, function, shapes):
    """TensorFlow's C API's; Python's where that fails or crashes."""
    if theirs is None or isinstance(theirs, capi.Failure):
        return python_answer(function, shapes, order_of(name))
    return theirs


def problem(got, want, tolerance):
    """What is wrong with an answer; "" when it is right."""
    if isinstance(got, capi.Failure):
        return "error %d: %s" % (got.code, got.message[:SHOWN])
    for ours, theirs in zip(got, want):
        if (ours is None) != (theirs is None):
            return "%s instead of %s" % (ours, theirs)
        if ours is not None and difference(ours, theirs, tolerance):
            return difference(ours, theirs, tolerance)
    return ""


def difference_problem(got, function, shapes):
    """What central differences of TensorFlow's y say; "" when they agree."""
    with tf.Graph().as_default(), tf.Session() as session:
        y, x, feeds = build(function, shapes, True)
        total = tf.add_n(y)
        for p, ours in zip(x, got):
            value = feeds[p.name]
            ours = np.zeros(value.shape) if ours is None else ours
            for at in np.ndindex(value.shape):
                ends = []
                for step in (STEP, -STEP):
                    moved = np.array(value)
                    moved[at] += step
                    ends.append(session.run(total, {**feeds, p.name: moved}))
                slope = (ends[0] - ends[1]) / (2 * STEP)
                if abs(slope - ours[at]) > STEP_TOLERANCE * (1 + abs(slope)):
                    return "%s%s: %g, and differences say %g" % (
                        p.name, list(at), ours[at], slope)
    return ""


def refusal_problem(got, text):
    if not isinstance(got, capi.Failure):
        return "%s, and no error with '%s'" % (got, text)
    return "" if text in got.message else problem(got, None, 0)


def tensorflow_library():
    return str(pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2")


def run(library, loops):
    """(passed, failures) of the gradients that a library adds; loops: those of
    CONTROL, else the others."""
    chosen = [found for found in CASES if (found[0] in CONTROL) == loops]
    calls = [call_of(*found) for found in chosen]
    ours = capi.ask(library, calls)
    theirs = iter(capi.ask(tensorflow_library(), [
        call for call, found in zip(calls, chosen) if found[0] not in CONTROL]))
    failed = []
    for found, got in zip(chosen, ours):
        name, function, shapes, _ = found
        want = None if name in CONTROL else next(theirs)
        if name in REFUSED:
            text = refusal_problem(got, REFUSED[name])
        elif name in ALONE and not isinstance(got, capi.Failure):
            text = ""
        else:
            text = problem(got, right_answer(want, name, function, shapes),
                           FLOAT_TOLERANCE if " in float" in name else TOLERANCE)
        if not text and name in DIFFERENCES:
            text = difference_problem(got, function, shapes)
        if text:
            failed.append("%s: %s" % (found[0], text))
    return len(chosen) - len(failed), failed
