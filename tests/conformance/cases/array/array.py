"""Cases of kernels/array/array.c."""
from tests.conformance.cases.shared import SHAPES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, row

row("Shape Size Rank", SHAPES)
row("ShapeN", [c(many(x(2, 3), x())), c(many(x(0, 2))), c(many(*[x(1)] * 9))])
row("QuantizedReshape", [
    c(x(2, 3), [3, 2], 0, 1), c(x(2, 3), [-1], -1, 5), c(x(), [1, 1], 0, 1),
    c(x(0), [2, 0], 0, 1), c(x(6), [2, -1], 3, -3),
    bad(x(2, 3), [4, 2], 0, 1), bad(x(2, 3), [-1, -1], 0, 1),
    bad(x(2, 3), [6], [0, 1], 1), bad(x(2, 3), [6], 0, [[1]]),
    bad(x(2, 3), [6], 0, [1, 2])])
row("Reshape", [
    c(x(2, 6), [3, 4]), c(x(2, 6), [-1]), c(x(2, 6), [4, -1]), c(x(1), []),
    c(x(), [1, 1]), c(x(0, 3), [0, 7]), c(x(0, 3), [3, -1]), c(x(2, 3), [6]),
    c(x(2), [1, 1, 1, 1, 1, 1, 1, 2]), c(x(0), [0, -1]),
    c(x(0, 3), [0, -1]), c(x(0, 2, 3), [0, 4, -1]),
    bad(x(2, 3), [0, -1]),
    bad(x(2, 6), [5]), bad(x(2, 6), [5, -1]), bad(x(4), [-1, -1]),
    bad(x(4), [-2, -2]), bad(x(4), [[4]]),
    bad(x(4), [2 ** 31 - 1, 2 ** 31 - 1])])
row("ExpandDims", [c(x(2, 3), 0), c(x(2, 3), 1), c(x(2, 3), -1), c(x(), 0),
                   c(x(2, 3), [2]), c(x(0), -2), bad(x(2), 2), bad(x(2), -3),
                   bad(x(2), [0, 1])])
row("Squeeze", [c(x(1, 2, 1, 3)), c(x(1, 2, 1, 3), squeeze_dims=[0]),
                c(x(1, 2, 1, 3), squeeze_dims=[-2]), c(x(1, 1)), c(x(2, 3)),
                c(x(1, 0)), bad(x(2, 1), squeeze_dims=[0]),
                bad(x(2, 1), squeeze_dims=[2])])
