"""Cases of kernels/conv/patches.c."""
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row


def window(sizes, strides=None, padding="SAME", rates=None):
    """Numbers along the sides; rates of images alone."""
    one = [1] * len(sizes)
    found = {"ksizes": [1, *sizes, 1], "strides": [1, *(strides or one), 1],
             "padding": padding}
    if len(sizes) == 2:
        found["rates"] = [1, *(rates or one), 1]
    return found


def changed(attrs, **others):
    return {**attrs, **others}


SQUARE, CUBE = window([2, 2]), window([2, 2, 2])
row("ExtractImagePatches", [
    c(x(2, 4, 5, 3), **window([2, 3])),
    c(x(2, 5, 6, 2), **window([3, 2], [2, 3], "VALID")),
    c(x(1, 9, 8, 2), **window([3, 3], [1, 2], "VALID", [2, 3])),
    c(x(1, 6, 7, 1), **window([3, 2], [2, 1], "SAME", [2, 2])),
    c(x(1, 2, 3, 2), **window([7, 8])),
    c(x(1, 4, 4, 5), **window([1, 1], [3, 2])),
    c(x(0, 4, 4, 2), **SQUARE), c(x(1, 0, 4, 2), **SQUARE),
    c(x(1, 4, 4, 0), **SQUARE), once(x(2, 40, 50, 16), **window([3, 3])),
    bad(x(4, 4, 2), **SQUARE), bad(x(1, 2, 2, 1), **window([5, 5], None,
                                                           "VALID")),
    *[bad(x(1, 4, 4, 2), **changed(SQUARE, **{name: numbers}))
      for name in ("ksizes", "strides", "rates")
      for numbers in ([2, 2, 2, 1], [1, 2, 2, 2], [1, 0, 2, 1],
                      [1, 2, -1, 1])]], ANY)
row("ExtractVolumePatches", [
    c(x(2, 4, 5, 3, 2), **window([2, 3, 2])),
    c(x(1, 5, 6, 4, 3), **window([3, 2, 1], [2, 3, 1], "VALID")),
    c(x(1, 2, 3, 2, 1), **window([5, 7, 6])),
    c(x(1, 3, 4, 4, 2), **window([1, 1, 1], [2, 3, 2])),
    c(x(0, 4, 4, 4, 2), **CUBE), c(x(1, 0, 4, 4, 2), **CUBE),
    c(x(1, 4, 4, 4, 0), **CUBE), once(x(1, 8, 20, 20, 8), **CUBE),
    bad(x(4, 4, 4, 2), **CUBE), bad(x(1, 2, 2, 2, 1), **window(
        [5, 5, 5], None, "VALID")),
    *[bad(x(1, 4, 4, 4, 2), **changed(CUBE, **{name: numbers}))
      for name in ("ksizes", "strides")
      for numbers in ([2, 2, 2, 2, 1], [1, 2, 2, 2, 2], [1, 0, 2, 2, 1],
                      [1, 2, -1, 1, 1])]], ANY)
