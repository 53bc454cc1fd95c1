"""Cases of kernels/sparse/sparse_to_dense.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

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
