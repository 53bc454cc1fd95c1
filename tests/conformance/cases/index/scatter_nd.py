"""Cases of kernels/index/scatter_nd.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import (bad, c, once, row, var, Variable,
                                     with_inputs)

TUPLES = [
    c(var(x(5, 3)), [[0], [4], [0]], x(3, 3)),
    c(var(x(5, 3)), [[0, 2], [4, 0], [0, 2]], x(3)),
    c(var(x(5, 3)), [[[0, 2], [4, 0]], [[0, 2], [1, 1]]], x(2, 2)),
    c(var(x(5)), np.zeros([0, 1]), x(0)), bad(var(x(5)), [3], x(), words=False),
    c(var(x(2, 3, 2)), [[1, 2], [0, 0]], x(2, 2)),
    c(var(x(1, 1)), [[0, 0]], x(1)),
    c(var(x(0)), np.zeros([0, 1]), x(0)),
    once(var(x(300, 70)), [[i] for i in range(299, 0, -2)] * 7, x(1050, 70)),
    once(var(x(4, 10)), [[i % 4, i % 10] for i in range(80000)], x(80000)),
    c(var(x(4)), [[1], [5], [-1]], x(3), bad_indices_policy="IGNORE"),
    once(var(x(4)), [[1]], x(1), bad_indices_policy="ERROR",
         gpu="InvalidArgumentError"),
    bad(var(x(4)), [[5]], x(1), gpu=c(var(x(4)), np.zeros([0, 1]), x(0))),
    bad(var(x(4)), [[-1], [1], [5]], [7, 8, 9],
        gpu=c(var(x(4)), [[1]], [8])),
    bad(var(x(4)), [[1]], x(2)), bad(var(x(4)), [[1, 1]], x(1)),
    bad(var(x(4)), 1, x(1), words=False),
    bad(var(x(4)), [[1]], x(), words=False),
    bad(var(x(4)), [[1]], x(1), bad_indices_policy="x"),
    bad(var(x(0)), [[1]], x(1)), bad(var(x(4)), np.zeros([1, 0]), x(1, 4)),
    bad(var(x(2, 3)), [[1]], x(1, 2)),
    bad(var(x(2, 3)), [[1, 3]], x(1),
        gpu=c(var(x(2, 3)), np.zeros([0, 2]), x(0)))]
MISSING = [bad(var(x()), np.zeros([1, 0]), x(1)),
           bad(var(declared=[4]), [[1]], x(1))]
row("ScatterNdAdd ScatterNdSub ResourceScatterNdAdd ResourceScatterNdSub",
    TUPLES + MISSING, tol=64, runs=2)
row("ScatterNdUpdate ResourceScatterNdUpdate", TUPLES + MISSING, ANY)
row("ScatterNdMin ScatterNdMax ResourceScatterNdMin ResourceScatterNdMax",
    TUPLES + MISSING)


def plain(case):
    """The case with values where it has variables."""
    return with_inputs(case, lambda specs: [
        spec.initial if isinstance(spec, Variable) else spec
        for spec in specs])


row("ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterSub",
    [plain(case) for case in TUPLES], tol=64)
row("TensorScatterUpdate TensorScatterMin TensorScatterMax",
    [plain(case) for case in TUPLES], without=("Tindices", "uint16"))
row("ScatterNd", [
    c([[0], [4], [0]], x(3, 3), [5, 3]), c([[1]], x(1), [4]),
    c([[0], [4], [0]], x(3, 16), [5, 16]),
    c([[2], [2]], x(2, 2, 12), [3, 2, 12]), bad([[1]], x(1, 16), [4, 15]),
    c([[0, 2], [4, 0], [0, 2]], x(3), [5, 3]),
    c([[[0]], [[1]]], x(2, 1, 2), [2, 2]), c(np.zeros([0, 1]), x(0), [4]),
    c(np.zeros([0, 1]), x(0), [0]),
    c([[1], [5]], x(2), [4], bad_indices_policy="IGNORE"),
    once([[i] for i in range(0, 300, 2)] * 7, x(1050, 70), [300, 70]),
    bad([[5]], x(1), [4], gpu=c(np.zeros([0, 1]), x(0), [4])),
    bad([[-1]], x(1), [4], gpu=c(np.zeros([0, 1]), x(0), [4])),
    bad([[1]], x(2), [4]),
    bad([[1, 1]], x(1), [4]), bad(1, x(1), [4]), bad([[1]], x(), [4]),
    bad([[1]], x(1), [4], bad_indices_policy="x"), bad([[1]], x(1), [0]),
    bad(np.zeros([0]), x(4), [4]), bad([[1]], x(1), [[4]]),
    bad([[1]], x(1), [-4]), bad([[1]], x(1), 4), bad([[]], x(1), []),
    bad([[1]], x(1, 0), [2, 0]), bad([[1]], x(1), [2 ** 31 - 1] * 3)],
    tol=16)
