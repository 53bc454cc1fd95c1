"""Sparse tensors."""
import dataclasses

import numpy as np

from tests.conformance.cases.shared import ANY, BACK, NOWHERE, PLACES, SMALL
from tests.conformance.cases.shared import TWICE_THERE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

row("SparseToDense", [
    c([[0, 1], [1, 2]], [2, 3], x(2), x()), c([[1, 0]], [2, 3], x(), x()),
    c([1, 3], [5], x(2), x()), c(3, [5], x(), x()),
    c(np.zeros([0, 2]), [2, 2], x(0), x()), c([[0], [3]], [4], x(2), x()),
    c(np.zeros([0, 1]), [0], x(0), x()),
    c(np.zeros([1, 0]), np.zeros([0]), x(1), x()),
    c([[1, 0], [0, 1], [1, 0]], [2, 2], x(3), x(), validate_indices=False),
    once([[i // 70, i % 70] for i in range(0, 21000, 3)], [300, 70], x(7000),
         x()),
    once(list(range(0, 6000, 3)), [6000], x(2000), x()),
    once(list(range(0, 6000, 3)), [6000], x(), x()),
    c([3, 1, 3, 0], [5], x(4), x(), validate_indices=False),
    c(np.zeros([0]), [3], x(0), x()),
    bad([0, 2, 1], [4], x(3), x()), bad([0, 2, 2], [4], x(3), x()),
    bad([1, 4], [4], [7, 8], 3, validate_indices=False,
        gpu=c([1], [4], [7], 3, validate_indices=False)),
    bad([-1, 2], [4], [7, 8], 3, validate_indices=False,
        gpu=c([2], [4], [8], 3, validate_indices=False)),
    bad([0, 4, -1], [4], x(3), x()),
    bad([[0, 3]], [2, 3], x(1), x()), bad([[0, -1]], [2, 3], x(1), x()),
    bad([[1, 0], [0, 1]], [2, 2], x(2), x()),
    bad([[1, 0], [1, 0]], [2, 2], x(2), x()), bad([[1, 0]], [2], x(1), x()),
    bad([[1, 0]], [[2, 2]], x(1), x()), bad([[1, 0]], [2, 2], x(2), x()),
    bad([[1, 0]], [2, 2], x(1, 1), x()), bad([[1, 0]], [2, 2], x(1), x(1)),
    bad([[[1]]], [2], x(1), x()), bad([[1, 0]], [2, -2], x(1), x()),
    bad([[5, 0]], [2, 2], [7], 3, validate_indices=False,
        gpu=c(np.zeros([0, 2]), [2, 2], x(0), 3, validate_indices=False))],
    ANY)
SORTED = [[0, 1], [1, 0], [1, 2]]
SPARSE = [
    c(SORTED, x(3), [2, 3]), c(SORTED[::-1], x(3), [3, 3]),
    c([[3, 0], [0, 1], [1, 1], [0, 0]], x(4), [5, 2]),
    c([[2], [0]], x(2), [4]), c(np.zeros([0, 2]), x(0), [2, 2]),
    c(np.zeros([0, 2]), x(0), [0, 2]),
    c([[1, 0, 4], [1, 0, 2], [0, 2, 3]], x(3), [3, 3, 5]),
    once([[i * 37 % 300, i * 11 % 70] for i in range(0, 2100)], x(2100),
         [300, 70]),
    bad(SORTED, x(2), [2, 3]), bad(SORTED, x(3), [2, 3, 4]),
    bad([0, 1], x(2), [2]), bad(SORTED, x(3, 1), [2, 3]),
    bad(SORTED, x(3), [[2, 3]])]
row("SparseReorder", [
    dataclasses.replace(case, inputs=case.inputs) for case in SPARSE[:7]
    + SPARSE[8:]] + [
    once([[i * 37 % 300, i // 7] for i in range(0, 2100)], x(2100),
         [300, 300])], ANY)
row("SparseFillEmptyRows", [
    dataclasses.replace(case, inputs=case.inputs + (x(),)) for case in SPARSE]
    + [bad([[2, 0]], x(1), [2, 3], x()), bad([[-1, 0]], x(1), [2, 3], x()),
       bad([[0, 0]], x(1), [0, 3], x()), bad(SORTED, x(3), [2, 3], x(1)),
       bad(np.zeros([0, 0]), x(0), np.zeros([0]), x())], ANY)
row("SparseFillEmptyRowsGrad", [
    c([0, 2, 3], x(5)), c([1, 0], x(2)), c(np.zeros([0]), x(3)),
    c(np.zeros([0]), x(0)), c([2, 2], x(4)),
    once(list(range(0, 9000, 2)), x(9000)),
    bad([0, 5], [1, 2, 3, 4, 0], gpu=c([0, 4], [1, 2, 3, 4, 0])),
    bad([-1], [3, 0], gpu=c([1], [3, 0])), bad([[0]], x(2)), bad([0], x(2, 1)), bad(0, x(2))],
    SMALL)

row("SparseTensorDenseMatMul", [
    every(PLACES, x(4), [3, 4], x(4, 2)), c(PLACES, x(4), [3, 4], x(4, 1)),
    c(PLACES, x(4), [3, 4], x(3, 2), adjoint_a=True),
    c(PLACES, x(4), [3, 4], x(2, 4), adjoint_b=True),
    c(PLACES, x(4), [3, 4], x(2, 3), adjoint_a=True, adjoint_b=True),
    c(TWICE_THERE, x(3), [2, 2], x(2, 5)), c(BACK, x(4), [3, 4], x(4, 3)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2)),
    c(NOWHERE, np.zeros([0]), [3, 0], x(0, 2)),
    c(NOWHERE, np.zeros([0]), [0, 4], x(4, 2)),
    c(PLACES, x(4), [3, 4], x(4, 0)), c(PLACES, x(4), [3, 4], x(4, 16)),
    c(PLACES, x(4), [3, 4], x(3, 12), adjoint_a=True),
    c(PLACES, x(4), [3, 4], x(8, 4), adjoint_b=True),
    once([[i * 37 % 300, i * 11 % 70] for i in range(2100)], x(2100),
         [300, 70], x(70, 130)),
    bad(PLACES, x(4), [3, 4], x(3, 2)), bad(PLACES, x(3), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4)), bad(PLACES, x(4), [3, 4, 5], x(4, 2)),
    bad(PLACES, x(4), [[3, 4]], x(4, 2)), bad([1, 2], x(2), [3, 4], x(4, 2)),
    bad(PLACES, x(4, 1), [3, 4], x(4, 2)),
    bad([[0, 4]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[3, 0]], x(1), [3, 4], x(4, 2),
        gpu=c(NOWHERE, np.zeros([0]), [3, 4], x(4, 2))),
    bad([[0, -1]], x(1), [3, 4], x(4, 2),
        gpu=c([[0, 0]], [np.nan], [3, 4], x(4, 2))),
    bad([[0, 1, 2]], x(1), [3, 4], x(4, 2)),
    bad(PLACES, x(4), [3, 4], x(4, 2), adjoint_a=True)], tol=16)
row("SparseReshape", [
    c(PLACES, [3, 4], [12]), c(PLACES, [3, 4], [2, 3, 2]),
    c(PLACES, [3, 4], [3, 4]), c(PLACES, [3, 4], [-1, 6]),
    c([[2]], [4], [2, 2]),
    c(NOWHERE, [3, 4], [12]), c(NOWHERE, [2, 0], [-1, 3]),
    c(NOWHERE, [2, 0], [0]),
    c(np.zeros([1, 0]), np.zeros([0]), [1]), c([[0]], [1], np.zeros([0])),
    c([[0, 5], [-1, 0]], [2, 3], [6]), c([[9, 5]], [2, 3], [3, 2]),
    c([[9, 5]], [2, 3], [2, 3]),
    bad(PLACES, [3, 4], [13]), bad(PLACES, [3, 4], [-1, 5]),
    bad(PLACES, [3, 4], [-1, -1]), bad(PLACES, [3, 4], [-2, 6]),
    bad(PLACES, [3, -4], [12]), bad(PLACES, [3, 4, 1], [12]),
    bad(PLACES, [3, 0], [0]), bad(NOWHERE, [2, 0], [-1, 0]),
    bad(PLACES, [2 ** 40, 2 ** 40], [-1]), bad(PLACES, [3, 4], [2 ** 62, 8]),
    bad([1, 2], [3, 4], [12]), bad(PLACES, [[3, 4]], [12]),
    bad(PLACES, [3, 4], [[12]]), bad(PLACES, [3, 4], np.zeros([0])),
    bad(PLACES, [3, 4], [2, -1, 5]), bad(PLACES, [3, 4], 12),
    bad(PLACES, [3, 0], [5])])
row("SparseTensorDenseAdd", [
    c(PLACES, x(4), [3, 4], x(3, 4)), c(TWICE_THERE, x(3), [2, 2], x(2, 2)),
    c(NOWHERE, np.zeros([0]), [3, 4], x(3, 4)), c([[1]], x(1), [3], x(3)),
    c([[0, 1, 2]], x(1), [2, 2, 3], x(2, 2, 3)),
    c(np.zeros([0, 1]), np.zeros([0]), [0], x(0)),
    bad([1, 2], x(2), [3, 4], x(3, 4)), bad(PLACES, x(4, 1), [3, 4], x(3, 4)),
    bad(PLACES, x(4), [[3, 4]], x(3, 4)), bad(PLACES, x(4), [3, 4], x(3, 5)),
    bad(PLACES, x(3), [3, 4], x(3, 4)), bad(PLACES, x(4), [3], x(3)),
    bad([[0, 9]], x(1), [3, 4], x(3, 4)),
    bad([[0, -1]], x(1), [3, 4], x(3, 4)),
    bad(np.zeros([0, 0]), np.zeros([0]), np.zeros([0]), x()),
    bad(np.zeros([0, 6]), np.zeros([0]), [1] * 6, x(1, 1, 1, 1, 1, 1))])
