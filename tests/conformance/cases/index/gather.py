"""Cases of kernels/index/gather.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row, var

row("GatherV2", [
    c(x(5, 3), [0, 4, 2, 0], 0), c(x(5, 3), 3, 0), c(x(2, 5), [[1, 0]], 1),
    c(x(2, 5), [1], -1), c(x(5), np.zeros([0]), 0), c(x(5, 0), [1, 2], 0),
    c(x(2, 3, 4), [[0, 1], [2, 2]], 1, batch_dims=1),
    c(x(2, 3), [[0], [1]], 1, batch_dims=1), c(x(3, 2, 2), [2, 0], 1 - 1),
    once(x(300, 70), list(range(0, 300, 2)), 0),
    bad(x(5), [5], 0, gpu=c([0], [0], 0)),
    bad(x(5), [-1], 0, gpu=c([0], [0], 0)),
    bad([[1, 2], [3, 4]], [1, 2, 0], 0,
        gpu=c([[1, 2], [3, 4], [0, 0]], [1, 2, 0], 0)),
    bad([[1, 2], [3, 4]], [[0, 2], [-1, 1]], 1, batch_dims=1,
        gpu=c([[1, 0], [0, 4]], [[0, 1], [0, 1]], 1, batch_dims=1)),
    bad(x(), [0], 0), bad(x(5), [0], 1), bad(x(5), [0], [0, 0]),
    bad(x(5), [0], -2), bad(x(5, 2), [0], [0]), bad(x(5, 2), [0], 4),
    bad(x(0, 3), [0], 0, gpu=c([[0, 0, 0]], [0], 0)),
    bad(x(2, 3), [0, 1, 2], 1, batch_dims=1)])
row("ResourceGather", [
    c(var(x(5, 3)), [0, 4, 0]), c(var(x(5)), 2), c(var(x(5)), [[1], [2]]),
    c(var(x(5, 2)), np.zeros([0])), c(var(x(2, 3, 4)), [[0, 1], [2, 0]],
                                      batch_dims=1),
    bad(var(x(5)), [5], gpu=c(var([0]), [0])),
    bad(var(x(5)), [-1], gpu=c(var([0]), [0])),
    bad(var(declared=[5]), [0]), bad(var(x()), [0])], reads=False)
row("Gather", [
    c(x(5, 3), [0, 4, 2, 0]), c(x(5, 3), 3), c(x(5), [[1, 0]]),
    c(x(5), np.zeros([0])), c(x(5, 0), [1, 2]), c(x(2, 3, 4), [[1], [0]]),
    c(x(5), [1], validate_indices=False), c(x(0, 3), np.zeros([0])),
    once(x(300, 70), list(range(0, 300, 2))),
    bad(x(5), [5]), bad(x(5), [-1]), bad(x(), [0]), bad(x(0, 3), [0]),
    bad([[1, 2], [3, 4]], [[0, 1], [2, 0]])])
