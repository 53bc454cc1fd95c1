"""Cases of kernels/ragged/ragged_to_sparse.c."""
from tests.conformance.cases.shared import ANY, NONE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, once, row

LONG = sorted(i * 37 % 3000 for i in range(80))

row("RaggedTensorToSparse", [
    c(many([0, 2, 2, 3]), x(3)), c(many([0, 2, 3], [0, 1, 3, 3]), x(3)),
    c(many([0, 2, 2, 3]), x(3, 2)), c(many([0, 0]), x(0)), c(many([0]), x(0)),
    c(many([0, 2, 3]), x(3, 0)), c(many([0, 1], [0, 1]), x(1, 2, 2)),
    c(many([0, 1, 2], [0, 0, 2], [0, 1, 3]), x(3)), once(many([0, *LONG, 3000]), x(3000)),
    bad(many([0, 2, 2, 9]), x(3)), bad(many([1, 3]), x(3)), bad(many([0, 2, 1, 3]), x(3)),
    bad(many(NONE), x(3)), bad(many([0, 5], [0, 1, 3]), x(3)), bad(many([0, -1, 3]), x(3)),
    bad(many([0, 2], [1, 1, 3]), x(3)), bad(many([0, 2], [0, 1, 2]), x(3)),
    bad(many([0, 1], NONE), x(3))], ANY)
