"""Cases of kernels/index/gather_nd.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row, var, with_inputs

# More tuples than a block has; and such with one outside, far behind.
PAIRS = [[i % 30, i * 7 % 20] for i in range(1300)]
FAR = PAIRS[:1200] + [[30, 0]] + PAIRS[:50]
ND = [
    once(x(30, 20), PAIRS), once(x(30, 20, 3), PAIRS),
    once(x(5, 4, 3, 2), [[i % 5, i % 4, i % 3] for i in range(700)]),
    once(x(5, 4, 3, 2), [[i % 5, i % 4, i % 3, i % 2] for i in range(120)]),
    bad(x(30, 20), FAR, cpu=True),
    bad(x(30, 20), [[i % 30] for i in range(900)] + [[-1]], cpu=True),
    c(x(5, 3), [[0], [4], [0]]), c(x(5, 3), [[0, 2], [4, 0]]), c(x(5), [3]),
    c(x(2, 3, 2), [[[1, 2]], [[0, 0]]]), c(x(0), np.zeros([0, 1])),
    c(x(4), np.zeros([2, 0])), c(x(4), np.zeros([0])),
    once(x(300, 70), [[i] for i in range(299, 0, -2)] * 7),
    bad(x(4), [[5]], gpu=c([0], [[0]])), bad(x(4), [[-1]], gpu=c([0], [[0]])),
    bad(x(4), [[1, 1]]), bad(x(4), 1),
    bad(x(), [1]), bad(x(), [[]]), bad(x(0), [[1]]), bad(x(3, 0), [[1]]),
    bad([[1, 2], [3, 4]], [[[0], [9]]], gpu=c([[1, 2], [0, 0]], [[[0], [1]]])),
    bad(x(2, 3), [[0, 3]], gpu=c([0], [[0]]))]
row("GatherNd", ND + [
    c(x(4), [[1], [7]], bad_indices_policy="IGNORE"),
    once(x(30, 20), FAR, bad_indices_policy="IGNORE")], ANY)
row("ResourceGatherNd", [
    with_inputs(case, lambda specs: (var(specs[0]), specs[1]))
    for case in ND] + [bad(var(declared=[4]), [[1]])], ANY, reads=False)
