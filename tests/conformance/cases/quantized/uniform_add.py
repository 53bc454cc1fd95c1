"""Cases of kernels/quantized/uniform_add.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

WIDE = {"lhs_quantization_min_val": -128, "lhs_quantization_max_val": 127,
        "rhs_quantization_min_val": -128, "rhs_quantization_max_val": 127,
        "output_quantization_min_val": -2 ** 31,
        "output_quantization_max_val": 2 ** 31 - 1}
NARROW = {**WIDE, "output_quantization_min_val": -20,
          "output_quantization_max_val": 30}
# As in TensorFlow, which lets the high limit win where it is the lower one.
TURNED = {**WIDE, "output_quantization_min_val": 30,
          "output_quantization_max_val": -30}
ONE = (0.5, 3, 0.25, -2, 0.1, 5)
SCALES, ZEROS = [0.5, 1, 2], [1, 2, 3]
EACH = (SCALES, ZEROS)
A, B = x(2, 3), x(2, 3)


def but(index, value):
    return (*ONE[:index], value, *ONE[index + 1:])


def axes(lhs=-1, rhs=-1, output=-1):
    return {"lhs_quantization_axis": lhs, "rhs_quantization_axis": rhs,
            "output_quantization_axis": output, **WIDE}


SHAPES = [(A, B), (A, x(3)), (x(3), B), (x(2, 1), B), (x(), x()), (x(), B),
          (A, x()), (x(2, 2, 3), x(2, 1, 3)), (x(0), x()), (x(1), x(0)),
          (x(4, 1, 3), x(5, 1)), (x(0, 3), x(1, 3))]
# What TensorFlow does not abort for.
CHANNELS = [
    (A, B, *EACH, *EACH, *EACH, axes(1, 1, 1)),
    (A, x(3), *EACH, *EACH, *EACH, axes(1, 0, 1)),
    (A, B, *EACH, 0.25, -2, 0.1, 5, axes(1)),
    (A, B, 0.5, 3, *EACH, 0.1, 5, axes(-1, 1)),
    (A, B, *EACH, *EACH, 0.1, 5, axes(1, 1)),
    (A, B, [0.5, 1], [3, 4], *EACH, 0.1, 5, axes(0, 1)),
    (A, B, *EACH, 0.25, -2, *EACH, axes(1, -1, 1)),
    (x(3), B, *EACH, 0.25, -2, *EACH, axes(0, -1, 1)),
    (A, x(2, 1), *EACH, 0.25, -2, *EACH, axes(1, -1, 1)),
    (A, x(1, 3), *EACH, 0.25, -2, *EACH, axes(1, -1, 1)),
    (A, x(2, 1), *EACH, [1], [2], *EACH, axes(1, 1, 1)),
    (x(2, 1), B, [1], [2], 0.25, -2, *EACH, axes(1, -1, 1)),
    (x(2, 1), x(2, 1), 0.5, 3, 0.25, -2, [0.5], [1], axes(-1, -1, 1)),
    (A, B, [0.5, 1], [3, 4], [1, 2], [0, 1], [2, 3], [4, 5], axes(0, 0, 0)),
    (x(2, 3, 5), x(2, 3, 5), *EACH, *EACH, *EACH, axes(1, 1, 1)),
    (x(0, 3), x(0, 3), *EACH, *EACH, *EACH,
     axes(1, 1, 1))]
BAD = [(A, x(4), *ONE, WIDE), (x(0, 3), B, *ONE, WIDE),
       (A, B, *EACH, *EACH, *EACH, axes(1, 0, 1)),
       (A, B, *EACH, *EACH, *EACH, axes(0, 1, 1)),
       (A, B, [1, 2], [3, 4], *EACH, *EACH, axes(0, 1, 1)),
       (A, B, *EACH, [1, 2], [3, 4], *EACH, axes(1, 0, 1)),
       (A, B, [0.5], [1], 0.25, -2, 0.1, 5, axes(1)),
       (A, B, *EACH, 0.25, -2, 0.1, 5, axes(2)),
       (A, B, 0.5, 3, 0.25, -2, [1, 2], [3, 4], axes(-1, -1, 1)),
       (A, B, *EACH, *EACH, [1, 2], [3, 4], axes(1, 1, 1))] + [
    (A, B, *ONE, axes(*places)) for places in (
        (-2, -1, -1), (-1, -2, -1), (-1, -1, -2))] + [
    (A, B, *but(index, value), WIDE) for index, value in [
        (0, 0), (2, -1), (4, 0), (0, np.nan), (0, np.inf), (0, [0.5]),
        (1, [1]), (2, SCALES), (3, ZEROS), (4, [1]), (5, [1, 2])]]

row("UniformQuantizedAdd", [
    c(a, b, *ONE, **attrs) for a, b in SHAPES for attrs in (WIDE, NARROW)] + [
    c(*inputs, **attrs) for *inputs, attrs in CHANNELS] + [
    c(A, B, *but(0, scale), **WIDE) for scale in (1e-9, 1e20)] + [
    c(A, B, *ONE, **TURNED),
    c([2 ** 31 - 1, -2 ** 31, 2 ** 24 + 1], [5, -5, 1], 1, 0, 1, 0, 1, 7,
      **WIDE),
    once(x(300, 70), x(70), *ONE, **WIDE)] + [
    bad(*inputs, **attrs) for *inputs, attrs in BAD],
    Data(-2000, 2000), tol=0)
