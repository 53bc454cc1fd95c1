"""Cases of kernels/sparse/sparse_rows.c."""
import dataclasses

import numpy as np

from tests.conformance.cases.shared import ANY, SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

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
    + [once([[i * i // 40, i % 7] for i in range(3000)], x(3000), [300000, 7], x()),
       bad([[2, 0]], x(1), [2, 3], x()), bad([[-1, 0]], x(1), [2, 3], x()),
       bad([[0, 0]], x(1), [0, 3], x()), bad(SORTED, x(3), [2, 3], x(1)),
       bad(np.zeros([0, 0]), x(0), np.zeros([0]), x())], ANY)
row("SparseFillEmptyRowsGrad", [
    c([0, 2, 3], x(5)), c([1, 0], x(2)), c(np.zeros([0]), x(3)),
    c(np.zeros([0]), x(0)), c([2, 2], x(4)),
    once(list(range(0, 9000, 2)), x(9000)),
    bad([0, 5], [1, 2, 3, 4, 0], gpu=c([0, 4], [1, 2, 3, 4, 0])),
    bad([-1], [3, 0], gpu=c([1], [3, 0])), bad([[0]], x(2)), bad([0], x(2, 1)), bad(0, x(2))],
    SMALL)
