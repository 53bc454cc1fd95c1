"""Cases of kernels/array/concat.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, once, row

row("ConcatV2", [
    c(many(x(2, 3), x(2, 1)), 1), c(many(x(2, 3), x(1, 3)), 0),
    c(many(x(2), x(3), x(4)), -1), c(many(x(0, 2), x(3, 2)), 0),
    c(many(x(2, 0), x(2, 0)), 1), once(many(x(300, 70), x(300, 70)), 1),
    bad(many(x(2), x(3)), 1), bad(many(x(2, 3), x(3, 3)), 1),
    bad(many(x(2), x(2, 2)), 0),
    bad(many(x(), x()), 0), bad(many(x(2), x(2)), [0, 0]),
    bad(many(x(), x()), 1), bad(many(x(2), x()), 0),
    bad(many(x(), x(2)), 0), bad(many(x(2), x(2)), [[0]])])
row("ConcatOffset", [
    c(1, many([2, 3], [2, 1], [2, 0])), c(-1, many([4], [6])),
    bad(2, many([2, 3], [2, 1])), bad(0, many([2, 3], [2, 1])),
    bad(0, many([2], [2, 1])), bad([0, 1], many([2], [2])),
    bad([0], many([1], [3])), bad(0, many([[1, 2]], [[3, 2]])),
    bad(0, many([1, 2], [[3, 2]])), bad(0, many(1, 2)),
    bad(0, many([], [])), bad(-3, many([1, 2], [3, 2]))])
row("Concat", [
    c(1, many(x(2, 3), x(2, 1))), c(0, many(x(2, 3), x(1, 3))),
    c(-1, many(x(2), x(3), x(4))), c(0, many(x(0, 2), x(3, 2))),
    c(1, many(x(2, 0), x(2, 0))), once(1, many(x(300, 70), x(300, 70))), bad(1, many(x(2), x(3))),
    bad(1, many(x(2, 3), x(3, 3))), bad(0, many(x(2), x(2, 2))),
    bad(0, many(x(), x())), bad([0, 0], many(x(2), x(2))),
    bad(0, many(x(2), x())), bad([[0]], many(x(2), x(2))),
    bad(-2, many(x(2), x(2)))])
