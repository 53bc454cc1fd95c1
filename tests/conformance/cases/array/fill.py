"""Cases of kernels/array/fill.c."""
from tests.conformance.cases.shared import SHAPES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("ZerosLike OnesLike", SHAPES)
row("Fill", [c([2, 3], 7), c([37], x()), c([3, 16], 7), c([], 7), c([0, 4], 7), c([5], x()),
             bad([2], [7, 8]), bad([-1], 7), bad([[2]], 7),
             bad([2 ** 31 - 1] * 3, 7)])
row("Empty", [c(dims, init=True) for dims in ([2, 3], [], [0, 4], [37])] + [
    bad([-1], init=True), bad([[2]], init=True), bad(2, init=True),
    bad([2 ** 31 - 1] * 3, init=True)])
