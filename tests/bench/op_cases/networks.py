"""Products, convolutions and what stands between them; random numbers; text."""
import tensorflow as tf

from tests.bench.op_cases.table import (
    FLOAT, FLOATS, REALS, STRING, const, handle, ids, made, of, row, side,
    x)


def square(n):
    return [x(side(n), side(n)), x(side(n), side(n))]


SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}
WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def image(n, depth):
    return x(1, side(n // depth), side(n // depth), depth)


row("matmul", "MatMul", {"": square}, FLOATS, heavy=30,
    product=lambda n: (side(n),) * 3)
row("matmul", "MatMul", {
    "tall": lambda n: [x(n // 64, 64), x(64, 64)]}, FLOATS, heavy=10,
    product=lambda n: (n // 64, 64, 64))
row("matmul", "MatMul", {
    "x7": lambda n: [x(n // 7, 7), x(7, 3)]}, FLOATS, heavy=4,
    product=lambda n: (n // 7, 3, 7))
row("matmul", "MatMul", {
    "vector": lambda n: [x(1, side(n)), x(side(n), side(n))]}, FLOATS)
row("batch_matmul", "BatchMatMulV2", {
    "16x16": lambda n: [x(max(1, n // 256), 16, 16)] * 2}, FLOATS, heavy=4,
    product=lambda n: (16, 16, 16, max(1, n // 256)))
row("bias", "BiasAdd", {
    "x64": lambda n: [x(n // 64, 64), x(64)], "x7": lambda n: [
        x(n // 7, 7), x(7)]}, FLOATS)
row("bias", "BiasAddGrad", {"x64": lambda n: [x(n // 64, 64)],
                            "x7": lambda n: [x(n // 7, 7)]}, FLOATS)
row("softmax", "Softmax LogSoftmax", {
    "x%d" % w: lambda n, w=w: [x(max(1, n // w), w)] for w in (3, 64, 1000)},
    FLOATS, work=16)
row("xent", "SparseSoftmaxCrossEntropyWithLogits", {
    "x64": lambda n: [x(n // 64, 64), ids(n // 64, top=64)]}, FLOATS, work=20)
row("xent", "SoftmaxCrossEntropyWithLogits", {
    "x64": lambda n: [x(n // 64, 64), x(n // 64, 64)]}, FLOATS, work=20)
row("conv", "Conv2D", {
    "3x3 x16": lambda n: [image(n, 16), x(3, 3, 16, 16)]}, FLOATS, SAME,
    flops=lambda n: 2 * n * 9 * 16, heavy=30)
row("depthwise", "DepthwiseConv2dNative", {
    "3x3 x64": lambda n: [image(n, 64), x(3, 3, 64, 1)]}, FLOATS, SAME,
    heavy=10)
row("pooling", "MaxPool AvgPool", {"2x2 x64": lambda n: [image(n, 64)]}, FLOATS,
    WINDOW)
row("max_pool_index", "MaxPoolWithArgmax", {
    "2x2 x64": lambda n: [image(n, 64)]}, REALS, WINDOW)
row("dilation", "Dilation2D", {
    "3x3 x16": lambda n: [image(n, 16), x(3, 3, 16)]}, REALS,
    {**SAME, "rates": [1, 1, 1, 1]}, heavy=30)
LABELS = [[b, i] for b in range(8) for i in range(8)]
row("ctc_loss", "CTCLoss", {
    "x8 x32": lambda n: [x(max(16, n // 256), 8, 32), LABELS,
                         [i % 31 for i in range(64)],
                         [max(16, n // 256)] * 8]}, REALS, limit=False,
    heavy=100)
row("ctc_decoder", "CTCGreedyDecoder", {
    "x8 x32": lambda n: [x(max(1, n // 256), 8, 32),
                         [max(1, n // 256)] * 8]}, REALS, limit=False)
row("ctc_decoder", "CTCBeamSearchDecoder", {
    "x8 x32": lambda n: [x(max(1, n // 256), 8, 32),
                         [max(1, n // 256)] * 8]}, REALS,
    {"beam_width": 16, "top_paths": 1}, limit=False, heavy=1000)


def cell(n, gates, units=64):
    """What a cell of a recurrent network has, for about n numbers of h."""
    batch = max(1, n // units)
    return [x(batch, units), x(batch, units)] + [x(2 * units, gates * units)]


def lstm(n, given=0, time=()):
    inputs, state, w = cell(n, 4)
    return [x(*time, *inputs.dims), state, state, w] + [x(64)] * 3 + [
        x(256)] + [x(*time, *state.dims)] * given


def lstm_steps(n, given=0):
    return [16] + lstm(n // 16, given, (16,))


def gru(n, given=0):
    inputs, state, w = cell(n, 2)
    return [inputs, state, w, x(128, 64), x(128), x(64)] + [state] * given


PEEP = {"use_peephole": True}
row("lstm", "LSTMBlockCell", {"x64": lstm}, FLOAT, PEEP, limit=False, heavy=30)
row("lstm", "BlockLSTM BlockLSTMV2", {"16 x64": lstm_steps}, FLOAT, PEEP,
    limit=False, heavy=30)
row("lstm_grad", "LSTMBlockCellGrad", {"x64": lambda n: lstm(n, 8)}, FLOAT,
    PEEP, limit=False, heavy=10)
row("lstm_grad", "BlockLSTMGrad BlockLSTMGradV2", {
    "16 x64": lambda n: lstm_steps(n, 9)}, FLOAT, PEEP, limit=False, heavy=60)
row("gru", "GRUBlockCell", {"x64": gru}, FLOAT, limit=False, heavy=30)
row("gru", "GRUBlockCellGrad", {"x64": lambda n: gru(n, 4)}, FLOAT,
    limit=False, heavy=30)
row("lrn", "LRN", {"x64": lambda n: [image(n, 64)]}, FLOAT, work=30, heavy=4)
row("resize", "ResizeBilinear ResizeBicubic", {
    "x3 up": lambda n: [image(n // 4, 3), [side(n // 3)] * 2],
    "x3 down": lambda n: [image(n, 3), [side(n // 12)] * 2]},
    FLOAT + ("uint8",), limit=False, heavy=4)
row("resize_nearest", "ResizeNearestNeighbor", {
    "x3 up": lambda n: [image(n // 4, 3), [side(n // 3)] * 2]},
    FLOAT + ("uint8",), limit=False, heavy=4)
row("resize_area", "ResizeArea", {
    "x3 down": lambda n: [image(n, 3), [side(n // 12)] * 2]},
    FLOAT + ("uint8",), limit=False, heavy=4)
row("color_space", "RGBToHSV HSVToRGB", {"x3": lambda n: [image(n, 3)]}, FLOAT,
    limit=False, heavy=4)
row("adjust_color", "AdjustContrastv2 AdjustHue AdjustSaturation", {
    "x3": lambda n: [image(n, 3), 0.3]}, FLOAT, limit=False, heavy=4)
row("crop_and_resize", "CropAndResize", {
    "x3": lambda n: [image(n, 3), [[0.1, 0.2, 0.8, 0.9]] * 4, [0] * 4,
                     [side(n // 12)] * 2]}, FLOAT + ("uint8",), limit=False,
    heavy=10)
row("resize_grad", "ResizeBilinearGrad ResizeBicubicGrad", {
    "x3": lambda n: [image(n, 3), image(n // 4, 3)]}, FLOAT, limit=False,
    heavy=10)
ENLARGED = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"}
BORDER = [[0, 0], [1, 1], [1, 1], [0, 0]]
row("fused_conv", "FusedPadConv2D", {
    "3x3 x16": lambda n: [image(n, 16), BORDER, x(3, 3, 16, 16)]}, FLOATS,
    ENLARGED, flops=lambda n: 2 * n * 9 * 16, heavy=30)
row("fused_conv", "FusedResizeAndPadConv2D", {
    "3x3 x16": lambda n: [image(n // 4, 16), [side(n // 16)] * 2, BORDER,
                          x(3, 3, 16, 16)]}, FLOATS,
    ENLARGED, flops=lambda n: 2 * n * 9 * 16, heavy=30)
row("scale_and_translate", "ScaleAndTranslate", {
    "x3 up": lambda n: [image(n // 4, 3), [side(n // 3)] * 2, [2.0] * 2, [0.5] * 2],
    "x3 down": lambda n: [image(n, 3), [side(n // 12)] * 2, [0.5] * 2, [0.5] * 2]},
    FLOAT + ("uint8",), limit=False, heavy=10)
row("scale_and_translate", "ScaleAndTranslateGrad", {
    "x3": lambda n: [image(n, 3), image(n // 4, 3), [2.0] * 2, [0.5] * 2]}, FLOAT,
    limit=False, heavy=10)
row("glimpse", "ExtractGlimpse", {
    "x3": lambda n: [image(n, 3), [side(n // 12)] * 2, [[0.1, 0.1]]]}, FLOAT,
    limit=False)
row("batch_norm", "FusedBatchNormV3", {"x64": lambda n: [
    image(n, 64), x(64), x(64), x(0), x(0)]}, FLOAT, {"is_training": True})
row("conv", "Conv2DBackpropInput", {
    "3x3 x16": lambda n: [[1, side(n // 16), side(n // 16), 16],
                          x(3, 3, 16, 16), image(n, 16)]}, FLOATS, SAME,
    flops=lambda n: 2 * n * 9 * 16, heavy=30)
row("conv", "Conv2DBackpropFilter", {
    "3x3 x16": lambda n: [image(n, 16), [3, 3, 16, 16], image(n, 16)]}, FLOATS,
    SAME, flops=lambda n: 2 * n * 9 * 16, heavy=30)
row("conv", "Conv2D", {
    "1x1 x64": lambda n: [image(n, 64), x(1, 1, 64, 64)]}, FLOATS, SAME,
    flops=lambda n: 2 * n * 64, heavy=30)
row("depthwise", "DepthwiseConv2dNativeBackpropInput", {
    "3x3 x64": lambda n: [[1, side(n // 64), side(n // 64), 64],
                          x(3, 3, 64, 1), image(n, 64)]}, FLOATS, SAME,
    heavy=10)
row("depthwise", "DepthwiseConv2dNativeBackpropFilter", {
    "3x3 x64": lambda n: [image(n, 64), [3, 3, 64, 1], image(n, 64)]}, FLOATS,
    SAME, heavy=10)


def halved(n, depth):
    """What a window of 2 makes of image()."""
    return x(1, (side(n // depth) + 1) // 2, (side(n // depth) + 1) // 2, depth)


row("pooling", "MaxPoolGrad", {"2x2 x64": lambda n: [
    image(n, 64), halved(n, 64), halved(n, 64)]}, FLOATS, WINDOW)
row("pooling", "AvgPoolGrad", {"2x2 x64": lambda n: [
    [1, side(n // 64), side(n // 64), 64], halved(n, 64)]}, FLOATS, WINDOW)
row("batch_norm", "FusedBatchNormGradV3", {"x64": lambda n: [
    image(n, 64), image(n, 64), x(64), x(64), x(64, low=1, high=2), x(0)]},
    FLOAT, {"is_training": True}, heavy=4)
row("fused", "_FusedMatMul", {"bias, relu": lambda n: [
    x(n // 64, 64), x(64, 64), [x(64)]]}, FLOAT,
    {"fused_ops": ["BiasAdd", "Relu"]}, heavy=10,
    product=lambda n: (n // 64, 64, 64))
row("fused", "Snapshot", lambda n: [x(n)], REALS)
row("in_topk", "InTopKV2", {"5 of x64": lambda n: [
    x(n // 64, 64), ids(n // 64, top=64), 5]}, FLOAT)
row("fft", "FFT IFFT", {
    "x%d" % w: lambda n, w=w: [x(max(1, n // w), w)] for w in (
        64, 480, 625, 1009, 4096)}, ("complex64", "complex128"), heavy=8)
row("fft", "RFFT", {
    "x%d" % w: lambda n, w=w: [x(max(1, n // w), w), [w]] for w in (
        400, 512, 2048)}, FLOAT, heavy=8)
row("fft", "IRFFT", {
    "x512": lambda n: [x(max(1, n // 512), 257), [512]]},
    ("complex64",), heavy=8)
row("fft", "FFT2D IFFT2D", {
    "x%dx%d" % (w, w): lambda n, w=w: [x(max(1, n // w // w), w, w)]
    for w in (32, 250)}, ("complex64", "complex128"), heavy=8)
row("fft", "RFFT2D", {"x256x256": lambda n: [
    x(max(1, n // 65536), 256, 256), [256, 256]]}, FLOAT, heavy=8)
row("fft", "FFT3D", {"x16x16x16": lambda n: [
    x(max(1, n // 4096), 16, 16, 16)]}, ("complex64", "complex128"), heavy=8)
row("linalg", "Cholesky MatrixInverse MatrixDeterminant", lambda n: [
    x(max(1, n // 4096), 16, 16)], REALS, limit=False, heavy=100)
row("linalg", "Qr Svd", lambda n: [x(max(1, n // 16384), 16, 16)], REALS,
    limit=False, heavy=200)
row("factors", "Lu", lambda n: [x(max(1, n // 4096), 16, 16)], REALS,
    limit=False, heavy=100)
row("factors", "CholeskyGrad", lambda n: [
    x(max(1, n // 4096), 16, 16, low=1, high=2),
    x(max(1, n // 4096), 16, 16)], REALS, limit=False, heavy=100)
row("banded", "BandedTriangularSolve", lambda n: [
    x(4, max(1, n // 16), low=1, high=2), x(max(1, n // 16), 16)], REALS,
    limit=False, heavy=8)
row("tridiagonal", "TridiagonalMatMul", lambda n: [
    x(1, max(1, n // 16)), x(1, max(1, n // 16)), x(1, max(1, n // 16)),
    x(max(1, n // 16), 16)], REALS, limit=False, heavy=4)
row("tridiagonal", "TridiagonalSolve", lambda n: [
    x(3, max(1, n // 16), low=1, high=2), x(max(1, n // 16), 16)], REALS,
    limit=False, heavy=8)
row("eigen", "Eig", lambda n: [x(max(1, n // 16384), 16, 16)], FLOAT,
    {"Tout": tf.complex64}, limit=False, heavy=400)
row("least_squares", "MatrixSolveLs", lambda n: [
    x(max(1, n // 8192), 32, 8), x(max(1, n // 8192), 32, 4), const(1)],
    ("float64",), limit=False, heavy=40)
row("matrix_function", "MatrixSquareRoot", lambda n: [
    x(max(1, n // 16384), 16, 16, low=1, high=2)], REALS, limit=False,
    heavy=400)
row("random_binomial", "StatelessRandomBinomial", lambda n: [
    [n // 10], [1, 2], const(40), const(0.375)], FLOAT, {"dtype": "T"},
    limit=False, heavy=10)
row("truncated_normal", "ParameterizedTruncatedNormal", lambda n: [
    [n // 10], const(0), const(1), const(-1), const(2)], REALS, limit=False,
    heavy=10)
row("truncated_normal", "StatelessParameterizedTruncatedNormal", lambda n: [
    [n // 10], [1, 2], const(0), const(1), const(3), const(4)], REALS,
    limit=False, heavy=10)
row("sobol", "SobolSample", lambda n: [
    8, max(1, n // 8), 0], REALS, {"dtype": "T"}, limit=False)
row("random", "RandomUniform RandomStandardNormal TruncatedNormal",
    lambda n: [[n]], FLOATS, {"dtype": "T"}, heavy=4)
row("random", "RandomUniformInt", lambda n: [[n], const(0), const(99)],
    ("int32", "int64"), heavy=4)
row("random_variable", "StatefulUniform StatefulStandardNormalV2",
    lambda n: [handle(3, dtype="int64"), 1, [n]], FLOATS, {"dtype": "T"},
    heavy=4)
row("random_shuffle", "RandomShuffle", {
    "": lambda n: [x(n)], "x64": lambda n: [x(n // 64, 64)]}, REALS, heavy=4)
row("random_gamma", "RandomGamma", lambda n: [[n // 10], const(2)], REALS,
    limit=False, heavy=10)
row("random", "StatelessRandomUniform StatelessRandomNormal",
    lambda n: [[n], [1, 2]], FLOATS, {"dtype": "T"}, heavy=4)
for kind, draw in (("uniform", tf.random.uniform_candidate_sampler),
                   ("log uniform", tf.random.log_uniform_candidate_sampler)):
    made("candidates", kind, {"unique": lambda n: [
        of("int64", max(4, n // 64), 1, low=0, high=n // 2)]}, ("int64",),
        lambda a, _, draw=draw: list(draw(
            a[0], 1, a[0].shape[0], True, a[0].shape[0] * 64)), limit=False,
        heavy=10)
row("multinomial", "Multinomial", lambda n: [x(64, 64), n // 640], REALS,
    limit=False, heavy=10)
row("hash_bucket", "StringToHashBucketFast", lambda n: [x(n // 16)], STRING,
    {"num_buckets": 1000}, limit=False)
row("hash_bucket", "StringToHashBucketStrong", lambda n: [x(n // 16)], STRING,
    {"num_buckets": 1000, "key": [1, 2]}, limit=False)
row("letters", "StringLength StringLower StringStrip", lambda n: [x(n // 16)],
    STRING, limit=False, heavy=4)
row("substr", "Substr", lambda n: [x(n // 16), 0, 1], STRING, limit=False,
    heavy=4)
row("string_split", "StringSplitV2", lambda n: [x(n // 64), const(b"1")],
    STRING, limit=False, heavy=10)
row("as_string", "AsString", lambda n: [x(n // 16)], FLOAT + (
    "float64", "int32", "int64", "bool"), limit=False, heavy=4)
row("string", "StringJoin", lambda n: [[x(n // 16), x(n // 16)]], STRING,
    limit=False, heavy=4)
row("regex", "StaticRegexFullMatch", {"digits": lambda n: [x(n // 16)]},
    STRING, {"pattern": "[1-4]*5.*"}, limit=False, heavy=10)
row("regex", "RegexFullMatch", {
    "digits": lambda n: [x(n // 16), const(b"[1-4]*5.*")]}, STRING,
    limit=False, heavy=10)
row("regex", "RegexReplace", {
    "digits": lambda n: [x(n // 16), const(b"[1-4]"), const(b"<\\0>")]}, STRING,
    limit=False, heavy=10)
row("regex", "StaticRegexReplace", {"digits": lambda n: [x(n // 16)]},
    STRING, {"pattern": "[1-4]", "rewrite": "<\\0>"}, limit=False, heavy=10)
row("summary_histogram", "HistogramSummary", lambda n: ["tag", of("float32", n)],
    FLOAT, limit=False, heavy=10)
row("einsum", "Einsum", {"turned": lambda n: [square(n)]}, FLOATS,
    {"equation": "ij,kj->ik"}, heavy=30, product=lambda n: (side(n),) * 3)


def volume(n, depth):
    """Four planes of image()'s kind."""
    return x(1, 4, side(n // depth // 4), side(n // depth // 4), depth)


def halved_volume(n, depth):
    """What a window of 2 makes of volume()."""
    half = (side(n // depth // 4) + 1) // 2
    return x(1, 2, half, half, depth)


CUBE = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1],
        "padding": "SAME"}
row("pooling_volume", "MaxPool3D AvgPool3D", {
    "2x2x2 x64": lambda n: [volume(n, 64)]}, FLOAT, CUBE)
row("pooling_volume", "AvgPool3DGrad", {"2x2x2 x64": lambda n: [
    list(volume(n, 64).dims), halved_volume(n, 64)]}, FLOAT, CUBE)
row("pooling_volume", "MaxPool3DGrad", {"2x2x2 x64": lambda n: [
    volume(n, 64), halved_volume(n, 64), halved_volume(n, 64)]}, FLOAT, CUBE)
ONE_BY_ONE = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
row("convolve_volume", "Conv3D", {
    "3x3x3 x16": lambda n: [volume(n, 16), x(3, 3, 3, 16, 16)]}, FLOATS,
    ONE_BY_ONE, flops=lambda n: 2 * n * 27 * 16, heavy=80)
row("convolve_volume", "Conv3DBackpropInputV2", {
    "3x3x3 x16": lambda n: [list(volume(n, 16).dims), x(3, 3, 3, 16, 16),
                            volume(n, 16)]}, FLOATS, ONE_BY_ONE,
    flops=lambda n: 2 * n * 27 * 16, heavy=80)
row("convolve_volume", "Conv3DBackpropFilterV2", {
    "3x3x3 x16": lambda n: [volume(n, 16), [3, 3, 3, 16, 16],
                            volume(n, 16)]}, FLOATS, ONE_BY_ONE,
    flops=lambda n: 2 * n * 27 * 16, heavy=80)
FRACTION = {"pooling_ratio": [1.0, 1.5, 1.5, 1.0], "deterministic": True,
            "seed": 1}
row("fractional_pool", "FractionalMaxPool FractionalAvgPool", {
    "1.5 x64": lambda n: [image(n, 64)]}, REALS, FRACTION)
row("patches", "ExtractImagePatches", {
    "3x3 x16": lambda n: [image(n // 9, 16)]}, REALS, {
        "ksizes": [1, 3, 3, 1], "strides": [1, 1, 1, 1],
        "rates": [1, 1, 1, 1], "padding": "SAME"})
row("patches", "ExtractVolumePatches", {
    "2x2x2 x16": lambda n: [volume(n // 8, 16)]}, REALS, {
        "ksizes": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1],
        "padding": "SAME"})
row("convolve_volume", "Conv", {
    "3x3 x16": lambda n: [image(n, 16), x(3, 3, 16, 16)]}, FLOATS, SAME,
    flops=lambda n: 2 * n * 9 * 16, heavy=30)
