"""Cases of kernels/quantized/uniform_conv.c and uniform_window.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row


def limits(of, low=-128, high=127):
    return {of + "_quantization_min_val": low, of + "_quantization_max_val": high}


RHS = {**limits("rhs"), "padding": "VALID"}
WIDE = {**RHS, **limits("lhs"), **limits("output", -2 ** 31, 2 ** 31 - 1)}
NARROW = {**WIDE, **limits("output", -5000, 6000)}
ONE = (0.5, 3, 0.25, -2, 0.1, 5)
SCALES, ZEROS = [0.5, 1, 2, 0.03], [1, -2, 3, 127]
A, B = x(2, 3, 5, 6), x(4, 3, 2, 2)


def but(index, value):
    return (*ONE[:index], value, *ONE[index + 1:])


def number(field, value):
    if value >= 0:
        return bytes([field << 3, value])
    return bytes([field << 3]) + b"\xff" * 9 + b"\x01"


def places(field, values):
    if not values:
        return b""
    return bytes([field << 3 | 2, len(values)]) + bytes(values)


def numbers(lhs=(0, 1, (2, 3)), rhs=(1, 0, (2, 3)), out=(0, 1, (2, 3))):
    """The message: of rhs, lhs's features come first."""
    found = b""
    for side, (first, second, space) in enumerate((lhs, rhs, out)):
        found += number(3 * side + 1, first) + number(3 * side + 2, second)
        found += places(3 * side + 3, space)
    return {"dimension_numbers": found}


LAST = numbers((0, 3, (1, 2)), (2, 3, (0, 1)), (0, 3, (1, 2)))
MIXED = numbers((2, 0, (3, 1)), (3, 1, (0, 2)), (1, 3, (2, 0)))
UNPACKED = numbers()["dimension_numbers"].replace(
    b"\x1a\x02\x02\x03", b"\x18\x02\x18\x03")
EXPLICIT = {"padding": "EXPLICIT", "explicit_padding": [1, 0, 2, 3]}
GROUPS = [(A, x(6, 1, 2, 2), {"feature_group_count": 3}),
          (x(4, 3, 5, 6), B, {"batch_group_count": 2}),
          (x(6, 4, 5, 6), x(12, 4, 2, 2), {"batch_group_count": 3}),
          (x(4, 3, 5, 6), x(6, 3, 2, 2), {"batch_group_count": 1}),
          (x(2, 4, 3), x(6, 2, 2), {"feature_group_count": 2})]
WINDOWS = [
    (A, B, {}), (A, B, {"padding": "SAME"}), (A, B, EXPLICIT),
    (A, B, {"window_strides": [2, 3]}), (A, B, {"lhs_dilation": [2, 3]}),
    (A, B, {"rhs_dilation": [2, 3]}),
    (A, B, {**EXPLICIT, "lhs_dilation": [3, 2], "rhs_dilation": [2, 1],
            "window_strides": [1, 2]}),
    (A, B, {"padding": "SAME", "lhs_dilation": [3, 2], "rhs_dilation": [1, 4],
            "window_strides": [2, 1]}),
    (A, B, numbers()), (A, B, {"dimension_numbers": UNPACKED}),
    (x(2, 5, 6, 3), x(2, 2, 3, 4), LAST), (x(3, 6, 2, 5), x(2, 4, 2, 3), MIXED),
    (x(2, 5, 6, 3), x(2, 2, 3, 4), {**LAST, **EXPLICIT}),
    (x(2, 3, 4), x(4, 3, 2), {}), (x(1, 2, 3, 4, 5), x(4, 2, 2, 3, 2), {}),
    (A, x(4, 3, 6, 2), {}), (A, x(4, 3, 8, 2), {"window_strides": [4, 1]}),
    (A, x(4, 3, 0, 2), {}), (x(0, 3, 5, 6), B, {}), (A, x(0, 3, 2, 2), {}),
    (A, B, {"padding": "EXPLICIT", "explicit_padding": [9, 0, 0, 0]})] + GROUPS
BAD_WINDOWS = [
    (A, B, attrs) for attrs in [
        {"padding": "same"}, {"padding": "SAME", "explicit_padding": [1] * 4},
        {"padding": "EXPLICIT"}, {"explicit_padding": [1] * 4},
        {"padding": "EXPLICIT", "explicit_padding": [1, 1]},
        {"padding": "EXPLICIT", "explicit_padding": [1, 1, -1, 1]},
        {"window_strides": [1]}, {"window_strides": [0, 1]},
        {"lhs_dilation": [1, 1, 1]}, {"lhs_dilation": [2, -1]},
        {"rhs_dilation": [3]}, {"rhs_dilation": [-1, 1]},
        {"rhs_dilation": [6, 1]}, {"feature_group_count": 0},
        {"feature_group_count": -1}, {"feature_group_count": 2},
        {"feature_group_count": 3}, {"batch_group_count": 0},
        {"batch_group_count": 3}, {"dimension_numbers": b"\xff"},
        {"dimension_numbers": b"junk"}, numbers((4, 1, (2, 3))),
        numbers((-1, 1, (2, 3))), numbers((0, 5, (2, 3))),
        numbers((0, 1, (2,))), numbers((0, 1, (2, 7))),
        numbers(rhs=(9, 0, (2, 3))), numbers(rhs=(1, 9, (2, 3))),
        numbers(rhs=(1, 0, (2,))), numbers(rhs=(1, 0, (2, 8))),
        numbers(out=(9, 1, (2, 3))), numbers(out=(0, 1, (2,))),
        numbers(out=(0, 1, (2, 9)))]] + [
    (A, x(4, 3, 7, 2), {}), (A, x(4, 3, 8, 2), {}), (x(2, 3, 0, 6), B, {}),
    (x(2, 3), x(4, 3), {}), (x(2, 3, 5), B, {}), (x(), x(), {}),
    (A, x(4, 2, 2, 2), {}), (A, x(6, 3, 2, 2), {"feature_group_count": 3}),
    (A, x(4, 1, 2, 2), {"feature_group_count": 3}),
    (A, x(3, 3, 2, 2), {"batch_group_count": 2})]
EACH = {"rhs_quantization_axis": 0}
BOTH = {**EACH, "output_quantization_axis": 1}

row("UniformQuantizedConvolution", [
    c(a, b, *ONE, **{**WIDE, **attrs}) for a, b, attrs in WINDOWS] + [
    c(A, B, *ONE, **NARROW), c(A, B, *but(1, 300), **{**WIDE, **EXPLICIT}),
    c(A, B, *but(0, 1e-9), **WIDE), c(A, B, *but(0, 1e20), **WIDE),
    c(A, B, 0.5, 3, SCALES, ZEROS, 0.1, 5, **EACH, **WIDE),
    c(A, B, 0.5, 3, SCALES, ZEROS, SCALES[::-1], ZEROS[::-1], **BOTH, **WIDE),
    c(x(2, 5, 6, 3), x(2, 2, 3, 4), 0.5, 3, SCALES, ZEROS, SCALES, ZEROS,
      **{**WIDE, **LAST}, rhs_quantization_axis=3, output_quantization_axis=3),
    once(x(2, 16, 30, 31), x(8, 16, 3, 3), *ONE, **WIDE)] + [
    bad(a, b, *ONE, **{**WIDE, **attrs}) for a, b, attrs in BAD_WINDOWS] + [
    bad(A, B, *but(index, value), **WIDE) for index, value in [
        (0, [0.5]), (1, [1]), (0, 0), (2, -1), (4, 0), (0, np.inf),
        (0, np.nan), (2, SCALES), (3, ZEROS), (4, [1, 2]), (5, [1])]] + [
    bad(A, B, *ONE, **{name: axis}, **WIDE) for name, axis in [
        ("lhs_quantization_axis", 0), ("rhs_quantization_axis", 1),
        ("rhs_quantization_axis", 7), ("rhs_quantization_axis", 0),
        ("output_quantization_axis", 0), ("output_quantization_axis", 1)]] + [
    bad(A, B, 0.5, 3, 0.25, -2, SCALES, ZEROS, output_quantization_axis=1,
        **WIDE),
    bad(A, B, 0.5, 3, [1, 2], [1, 2], 0.1, 5, **EACH, **WIDE)],
    Data(-128, 127), tol=0)

row("UniformQuantizedConvolutionHybrid", [
    c(a, b, 0.25, -2, **{**RHS, **attrs}) for a, b, attrs in WINDOWS] + [
    c(A, B, SCALES, ZEROS, **EACH, **RHS),
    c(np.zeros([2, 3, 5, 6]), B, 0.25, -2, **RHS),
    c(np.linspace(1, 9, 180).reshape(2, 3, 5, 6), B, 0.25, -2, **RHS),
    c(-np.linspace(1, 9, 180).reshape(2, 3, 5, 6), B, 0.25, -2, **RHS),
    c(np.full([1, 3, 2, 2], 1e-44), B, 0.25, -2, **RHS),
    once(x(2, 16, 30, 31), x(8, 16, 3, 3), 0.25, -2, **RHS)] + [
    bad(a, b, 0.25, -2, **{**RHS, **attrs}) for a, b, attrs in BAD_WINDOWS] + [
    bad(A, B, *inputs, **RHS) for inputs in [
        (0, 1), (-1, 1), (np.nan, 1), ([0.5], 1), (0.5, [1]), (SCALES, ZEROS)]
    ] + [bad(A, B, [1, 2], [1, 2], **EACH, **RHS),
         bad(A, B, 0.25, -2, rhs_quantization_axis=1, **RHS)],
    Data(-128, 127), tol=1)
