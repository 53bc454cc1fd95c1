"""Scatter and gather by rows of variables, and by tuples of indices."""
import numpy as np

from tests.conformance.cases.shared import ANY, NONE, REALS
from tests.conformance.inputs import Data, x
from tests.conformance.table import Variable, bad, c, once, row, var
from tests.conformance.table import with_inputs

row("ResourceGather", [
    c(var(x(5, 3)), [0, 4, 0]), c(var(x(5)), 2), c(var(x(5)), [[1], [2]]),
    c(var(x(5, 2)), np.zeros([0])), c(var(x(2, 3, 4)), [[0, 1], [2, 0]],
                                      batch_dims=1),
    bad(var(x(5)), [5], gpu=c(var([0]), [0])),
    bad(var(x(5)), [-1], gpu=c(var([0]), [0])),
    bad(var(declared=[5]), [0]), bad(var(x()), [0])], reads=False)
SCATTERED = [
    c(var(x(5, 3)), [0, 4, 0], x(3, 3)), c(var(x(5)), 2, x()),
    c(var(x(5)), [[1, 2]], x(1, 2)), c(var(x(5)), [1, 1], x()),
    c(var(x(5, 2)), np.zeros([0]), x(0, 2)), c(var(x(2, 0)), [1], x(1, 0)),
    c(var(x(4, 2, 3)), [3, 3, 0, 3], x(4, 2, 3)),
    c(var(x(5, 16)), [0, 4, 0], x(3, 16)), c(var(x(3, 16)), [2, 2], x()),
    c(var(x(3, 9)), [2, 2], x()),
    once(var(x(300, 70)), list(range(299, 0, -2)) * 7, x(1050, 70)),
    once(var(x(40)), list(range(40)) * 2000, x(80000)),
    bad(var(x(5)), [5], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [-1], x(1), gpu=c(var(x(5)), NONE, x(0))),
    bad(var(x(5)), [[0, 9]], [[2, 3]], gpu=c(var(x(5)), [0], [2])),
    bad(var(x()), [0], x(1)),
    bad(var(x(5)), [0, 1], x(3)), bad(var(x(5, 2)), [0, 1], x(3, 2)),
    bad(var(x(5)), np.zeros([0]), x(1, 1)),
    bad(var(x(0)), [0], x(1), gpu=c(var(x(0)), NONE, x(0))),
    bad(var(declared=[5]), [0], x(1))]
row("ScatterAdd ScatterSub ResourceScatterAdd ResourceScatterSub", SCATTERED,
    tol=64, runs=2)
row("ScatterMul ResourceScatterMul", SCATTERED, Data(-1.5, 1.5), tol=64,
    runs=2)
row("ScatterDiv ResourceScatterDiv", SCATTERED, Data(-3, 3, nonzero=True),
    tol=512, runs=2)
row("ScatterMin ScatterMax", SCATTERED,
    dtypes=REALS + ("int32", "int64"))
row("ResourceScatterMin ResourceScatterMax", SCATTERED)
row("ScatterUpdate ResourceScatterUpdate", SCATTERED[:-3] + SCATTERED[-2:],
    ANY)

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
