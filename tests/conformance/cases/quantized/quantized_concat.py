"""Cases of kernels/quantized/quantized_concat.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, many, once, row

RANGES = [((-1, -2), (1, 3)), ((-1, -1), (1, 1)), ((0, 0), (1, 3)),
          ((-3, -2), (1, 1)), ((2, 1), (3, 3)), ((-3, -1), (-1, -1)),
          ((0, 0), (1, 1)), ((0.5, 0.5), (0.5, 0.5))]
LOWS, HIGHS = many(-1, -2), many(1, 3)
# TensorFlow takes the range of a value without elements for the next one's.
SHAPES = [(0, x(3), x(4)), (0, x(2), x(0)), (0, x(2, 3), x(1, 3)),
          (1, x(2, 3), x(2, 5)), (1, x(2, 1, 3), x(2, 4, 3)),
          (2, x(2, 3, 1), x(2, 3, 2)), (0, x(0), x(0)), (1, x(0, 2), x(0, 3)),
          (1, x(2, 3), x(2, 0))]
BAD = [(2, x(2, 3), x(2, 3)), (-3, x(2, 3), x(2, 3)), ([0], x(2), x(2)),
       ([0, 1], x(2), x(2)), (0, x(), x()), (0, x(3), x(1, 3)),
       (1, x(2, 3), x(3, 3)), (0, x(2, 3, 4), x(2, 3, 5))]
BAD_RANGES = [(many([-1, 0], -1), HIGHS), (LOWS, many(1, [[1, 2]])),
              (many([], 1), HIGHS), (LOWS, many([], 1))]


def first(axis, *values, ranges=(LOWS, HIGHS)):
    return axis, many(*values), *ranges


row("QuantizedConcat", [
    c(*first(0, x(9, 5), x(7, 5), ranges=(many(*low), many(*high))))
    for low, high in RANGES] + [
    c(*first(axis, a, b)) for axis, a, b in SHAPES] + [
    c(*first(1, x(2, 3), x(2, 1), x(2, 5), x(2, 4), ranges=(
        many(0, -1, -9, 3), many(1, 2, 1, 4)))),
    once(*first(1, x(70, 300), x(70, 20)))] + [
    bad(*first(axis, a, b)) for axis, a, b in BAD] + [
    bad(*first(0, x(3), x(3), ranges=ranges)) for ranges in BAD_RANGES] + [
    bad(*first(-1, x(2, 3), x(2, 5)))], Data(-2000, 2000), tol=0)


def second(axis, *values, ranges=(LOWS, HIGHS)):
    return many(*values), axis, *ranges


# TensorFlow has no kernel for an axis of 64 bits.
row("QuantizedConcatV2", [
    c(*second(0, x(9, 5), x(7, 5), ranges=(many(*low), many(*high))))
    for low, high in RANGES] + [
    c(*second(axis, a, b)) for axis, a, b in SHAPES] + [
    c(*second(-1, x(2, 3), x(2, 5))), c(*second(-2, x(2, 3), x(1, 3))),
    c(*second(1, x(2, 3), x(2, 1), x(2, 5), x(2, 4), ranges=(
        many(0, -1, -9, 3), many(1, 2, 1, 4)))),
    once(*second(1, x(70, 300), x(70, 20)))] + [
    bad(*second(axis, a, b)) for axis, a, b in BAD] + [
    bad(*second(0, x(3), x(3), ranges=ranges)) for ranges in BAD_RANGES],
    Data(-2000, 2000), tol=0, without=("Tidx", "int64"), onednn=True)
