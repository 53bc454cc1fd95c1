"""Cases of kernels/quantized/uniform_dot.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row


def limits(of, low=-128, high=127):
    return {of + "_quantization_min_val": low, of + "_quantization_max_val": high}


INT32 = limits("output", -2 ** 31, 2 ** 31 - 1)
WIDE = {**limits("lhs"), **limits("rhs"), **INT32}
NARROW = {**WIDE, **limits("output", -50, 100)}
ONE = (0.5, 3, 0.25, -2, 0.1, 5)
SCALES, ZEROS = [0.5, 1, 2, 0.03], [1, -2, 3, 127]
BOTH = {"rhs_quantization_axis": 1, "output_quantization_axis": 1}
A, B = x(2, 3), x(3, 4)


def but(index, value):
    return (*ONE[:index], value, *ONE[index + 1:])


row("UniformQuantizedDot", [
    c(A, B, *ONE, **WIDE), c(A, B, *ONE, **NARROW),
    c(x(5, 7), x(7, 9), *ONE, **WIDE), c(x(0, 3), B, *ONE, **WIDE),
    c(x(2, 0), x(0, 4), *ONE, **WIDE), c(A, x(3, 0), *ONE, **WIDE),
    c(A, B, *but(0, 1e-9), **WIDE), c(A, B, *but(0, 1e20), **WIDE),
    c(A, B, 0.5, 3, SCALES, ZEROS, 0.1, 5, rhs_quantization_axis=1, **WIDE),
    c(A, B, 0.5, 3, SCALES, ZEROS, SCALES[::-1], ZEROS[::-1], **BOTH, **WIDE),
    c(A, B, 0.5, 3, SCALES, ZEROS, SCALES, ZEROS, **WIDE),
    once(x(60, 300), x(300, 40), *ONE, **WIDE),
    bad(x(3), B, *ONE, **WIDE), bad(A, x(3), *ONE, **WIDE),
    bad(x(2, 4), B, *ONE, **WIDE), bad(A, B, *but(5, [1]), **WIDE),
    bad(A, B, 0.5, 3, 0.25, -2, SCALES, ZEROS, **WIDE)] + [
    bad(A, B, *but(index, value), **WIDE) for index, value in [
        (0, [0.5]), (1, [1]), (0, 0), (2, -1), (4, 0), (0, np.inf),
        (0, np.nan), (2, SCALES), (3, ZEROS), (4, [1, 2])]] + [
    bad(A, B, 0.5, 3, [1, 2], [1, 2], 0.1, 5, **WIDE)] + [
    bad(A, B, *ONE, **{name: axis}, **WIDE) for name, axis in [
        ("lhs_quantization_axis", 0), ("rhs_quantization_axis", 0),
        ("rhs_quantization_axis", -2), ("output_quantization_axis", 0)]],
    Data(-128, 127), tol=0)

RHS = limits("rhs")
row("UniformQuantizedDotHybrid", [
    c(A, B, 0.25, -2, **RHS), c(x(5, 7), x(7, 9), 0.25, -2, **RHS),
    c(A, B, SCALES, ZEROS, rhs_quantization_axis=1, **RHS),
    c(A, B, SCALES, ZEROS, **RHS), c(x(0, 3), B, 0.25, -2, **RHS),
    c(x(2, 0), x(0, 4), 0.25, -2, **RHS), c(A, x(3, 0), 0.25, -2, **RHS),
    c(np.zeros([2, 3]), B, 0.25, -2, **RHS),
    c([[1.0, 2, 3], [-3, -2, -1]], B, 0.25, -2, **RHS),
    c([[1e-44, 0, 0], [1e30, -1e30, 1]], B, 0.25, -2, **RHS),
    once(x(60, 300), x(300, 40), 0.25, -2, **RHS),
    bad(x(3), B, 0.25, -2, **RHS), bad(A, x(3), 0.25, -2, **RHS),
    bad(x(2, 4), B, 0.25, -2, **RHS), bad(A, B, [0.5], -2, **RHS),
    bad(A, B, 0.5, [1], **RHS), bad(A, B, 0, -2, **RHS),
    bad(A, B, [1, 2], [1, 2], **RHS),
    bad(A, B, 0.5, 1, rhs_quantization_axis=0, **RHS)],
    Data(-128, 127), tol=1)
