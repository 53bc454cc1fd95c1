"""Cases of kernels/math/broadcast_ops.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("BroadcastTo", [
    c(x(3), [2, 3]), c(x(), [2, 2]), c(x(2, 1, 3), [2, 4, 3]), c(x(1), [0]),
    c(x(2, 3), [2, 3]), c(x(), []), c(x(0, 3), [2, 0, 3]),
    once(x(1, 70), [300, 70]), c(x(2, 1), [2, 32]), c(x(), [3, 16]),
    c(x(16), [3, 16]), c(x(2, 1, 16), [2, 3, 16]), c(x(3, 1, 1), [3, 5, 7]),
    bad(x(16), [3, 8]), bad(x(3), [2]), bad(x(2, 3), [3]),
    bad(x(2, 3), [2, -1]), bad(x(3), [[3]]), bad(x(2), [3, 4])])
row("BroadcastArgs", [
    c([2, 3], [3]), c([2, 1], [1, 3]), c([], [2]), c([4, 1, 3], [2, 1]),
    c([0, 1], [3]), c([], []), bad([2], [3]), bad([[2]], [2])])
row("BroadcastGradientArgs", [
    c([2, 3], [3]), c([2, 3], [2, 3]), c([], [2]), c([2, 1], [1, 3]),
    c([1], [1]), c([4, 1, 3], [2, 1]), c([0, 1], [3]), c([], []),
    bad([2], [3]), bad([[2]], [2])])
