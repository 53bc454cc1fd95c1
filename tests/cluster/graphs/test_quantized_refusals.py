"""What TensorFlow aborts for, divides by zero for or reads beyond its memory
for, in quantised ops: here it is an error that names what is wrong."""
from tensorflow.python.framework import op_def_library

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test

ONE = dict(worker=1)
WIDE = {"%s_quantization_%s_val" % (side, end): value
        for side, (low, high) in {"lhs": (-128, 127), "rhs": (-128, 127),
                                  "output": (-2 ** 31, 2 ** 31 - 1)}.items()
        for end, value in (("min", low), ("max", high))}
AXES = {"lhs_quantization_axis": -1, "rhs_quantization_axis": -1,
        "output_quantization_axis": -1}
WINDOWS = {"window_strides": [], "padding": "VALID", "explicit_padding": [],
           "lhs_dilation": [], "rhs_dilation": [], "batch_group_count": 1,
           "feature_group_count": 1, "dimension_numbers": b""}
EACH = ([0.5, 1, 2], [1, 2, 3])


def run(cluster, op, inputs, **attrs):
    """inputs: name -> (type, value)."""
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        feeds = {}
        for name, (dtype, value) in inputs.items():
            attrs[name] = tf.placeholder(dtype, None)
            feeds[attrs[name]] = np.asarray(value).astype(
                tf.as_dtype(dtype).as_numpy_dtype)
        found = op_def_library.apply_op(op, **attrs)
        return session.run(found, feeds)


def scales(**sides):
    found = {}
    for side, (scale, zero) in sides.items():
        found[side + "_scales"] = "float32", scale
        found[side + "_zero_points"] = "int32", zero
    return found


def add(cluster, lhs, rhs, lhs_scale, rhs_scale, output, **axes):
    return run(cluster, "UniformQuantizedAdd", {
        "lhs": ("qint32", np.ones(lhs)), "rhs": ("qint32", np.ones(rhs)),
        **scales(lhs=lhs_scale, rhs=rhs_scale, output=output)},
        **{**AXES, **axes}, **WIDE)


@test(**ONE, tfd_only=True)
def sums_whose_scales_do_not_meet_are_refused(cluster):
    one = (0.5, 3)
    for lhs, rhs, lhs_scale, lhs_axis in [((2, 3), (2, 3), one, -1),
                                          ((2, 3), (3,), EACH, 1),
                                          ((2, 3), (), EACH, 1)]:
        with expect(tf.errors.InvalidArgumentError, "is per-axis quantized"):
            add(cluster, lhs, rhs, lhs_scale, one, EACH,
                lhs_quantization_axis=lhs_axis, output_quantization_axis=1)


@test(**ONE, tfd_only=True)
def a_sum_of_nothing_needs_no_scales(cluster):
    axes = dict.fromkeys(AXES, 0)
    for lhs, rhs, side in (((0, 3), (1, 3), "rhs"), ((1, 3), (0, 3), "lhs")):
        own = {"lhs": ([], []), "rhs": ([], []), side: ([0.5], [3])}
        assert add(cluster, lhs, rhs, own["lhs"], own["rhs"], ([], []),
                   **axes).shape == (0, 3)


def convolve(cluster, lhs, rhs, **attrs):
    one = (0.5, 3)
    return run(cluster, "UniformQuantizedConvolution", {
        "lhs": ("qint8", np.ones(lhs)), "rhs": ("qint8", np.ones(rhs)),
        **scales(lhs=one, rhs=one, output=one)},
        Tout=tf.qint32, **{**WINDOWS, **attrs}, **AXES, **WIDE)


@test(**ONE, tfd_only=True)
def windows_without_a_meaning_are_refused(cluster):
    image, taps = (2, 3, 5, 6), (4, 3, 2, 2)
    twice = b"\x08\x00\x10\x01\x1a\x02\x02\x02\x20\x01\x28\x00\x32\x02\x02\x03"
    outside = (b"\x08\x00\x10\x01\x1a\x02\x02\x03\x20\x01\x28\x00\x32\x02\x02"
               b"\x03\x38\x00\x40\x09\x4a\x02\x02\x03")
    for lhs, rhs, attrs, words in [
            (image, (4, 0, 2, 2), {}, "0 does not divide 3"),
            ((2, 0, 5, 6), (4, 0, 2, 2), {}, "0 does not divide 0"),
            (image, taps, {"dimension_numbers": twice}, "2 twice"),
            (image, taps, {"dimension_numbers": outside}, "value 9"),
            (image, taps, {"window_strides": [2 ** 40, 1]}, "out of range"),
            (image, taps, {"lhs_dilation": [1] * 13}, "lhs_dilation")]:
        with expect(tf.errors.InvalidArgumentError, words):
            convolve(cluster, lhs, rhs, **attrs)


@test(**ONE, tfd_only=True)
def an_output_beyond_all_memory_is_refused(cluster):
    with expect(tf.errors.OpError, ""):
        convolve(cluster, (2, 3, 5, 6), (4, 3, 2, 2),
                 lhs_dilation=[2 ** 31 - 1, 2 ** 31 - 1])


def multiply(cluster, a, b, bias):
    limits = {name: ("float32", value) for name, value in [
        ("min_a", -1), ("max_a", 2), ("min_b", -1), ("max_b", 1)]}
    return run(cluster, "QuantizedMatMulWithBias", {
        "a": ("quint8", np.ones(a)), "b": ("qint8", np.ones(b)),
        "bias": ("float32", np.ones(bias)), **limits}, Toutput=tf.qint32,
        transpose_a=False, transpose_b=False, input_quant_mode="MIN_FIRST")


@test(**ONE, tfd_only=True)
def matrices_that_are_none_are_refused(cluster):
    for a, b in [((3, 7), (7,)), ((3, 7), (7, 5, 1)), ((), ()),
                 ((3, 7), (7, 5, 0))]:
        with expect(tf.errors.AbortedError, "must be matrices"):
            multiply(cluster, a, b, (5,))


def depthwise(cluster, image, taps, limits, **attrs):
    names = ("min_input", "max_input", "min_filter", "max_filter")
    return run(cluster, "QuantizedDepthwiseConv2DWithBiasAndRelu", {
        "input": ("quint8", np.ones(image)), "filter": ("qint8", np.ones(taps)),
        "bias": ("float32", np.ones(6)),
        **{name: ("float32", value) for name, value in zip(names, limits)}},
        out_type=tf.qint32, **{"strides": [1, 1, 1, 1], "padding": "VALID",
                               "dilations": [1, 1, 1, 1], "padding_list": [],
                               **attrs})


@test(**ONE, tfd_only=True)
def images_and_ranges_that_do_not_fit_are_refused(cluster):
    image, taps, limits = (2, 5, 6, 3), (2, 2, 3, 2), (0, 2, -1, 1)
    for x, w, some, attrs, words in [
            ((5, 6, 3), taps, limits, {}, "must be 4-dimensional"),
            ((1, 2, 5, 6, 3), taps, limits, {}, "must be 4-dimensional"),
            (image, (2, 2, 3), limits, {}, "must be 4-dimensional"),
            (image, taps, ([0, 0], 2, -1, 1), {}, "min_input"),
            (image, taps, (0, [], -1, 1), {}, "max_input"),
            (image, taps, (0, 2, [-1] * 3, [1] * 3), {}, "or 6"),
            (image, taps, limits, {"padding_list": [1, 1]}, "8 numbers"),
            (image, taps, limits, {"padding_list": [-1] * 8}, "between 0"),
            (image, taps, limits, {"padding_list": [2 ** 40] * 8}, "between 0")]:
        with expect(tf.errors.InvalidArgumentError, words):
            depthwise(cluster, x, w, some, **attrs)
    assert depthwise(cluster, image, taps, limits)[0].shape == (2, 4, 5, 6)
    assert depthwise(cluster, (0, 5, 6, 3), taps, limits)[0].shape == (
        0, 4, 5, 6)


@test(**ONE, tfd_only=True)
def joins_along_an_axis_of_64_bits(cluster):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        part = tf.constant(np.array([1, 255], np.uint8), tf.quint8)
        ranges = [tf.constant(0.0)] * 2, [tf.constant(1.0)] * 2
        found = op_def_library.apply_op(
            "QuantizedConcatV2", values=[part, part],
            axis=tf.constant(0, tf.int64),
            input_mins=ranges[0], input_maxes=ranges[1])
        assert session.run(found)[0].astype(int).tolist() == [1, 255, 1, 255]
