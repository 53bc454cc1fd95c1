"""Sets: of values, of sparse tensors, of the best in a row."""
import numpy as np

from tests.conformance.cases.shared import BACK, NOWHERE, PLACES, TWICE_THERE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("Unique UniqueWithCounts", [
    c([3, 1, 3, 2, 1]), c(x(40)), c(np.zeros([0])), c([0, 0]),
    c([np.nan, 0.0, -0.0, np.nan, 1, np.inf] * 99, dtypes=["float32", "float64"]),
    c([i * i * 7919 - 2 ** 40 for i in range(-900, 1500)], dtypes=["int64"]),
    c([-5, 2000, -5, 7] * 50, dtypes=["int32", "int64"]),
    once(x(20000)), bad([[1, 2]]), bad(1)], Data(0, 9))
row("UniqueV2 UniqueWithCountsV2", [
    c([3, 1, 3, 2, 1], np.zeros([0])), c(x(30, 2), [0]), c(x(2, 30), [1]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [0]), c(x(2, 9, 2), [-2]),
    c([[0, 1, 0], [0, 1, 0], [1, 1, 1]], [1]), c(x(0, 3), [0]),
    c(x(3, 0), [0]), c([2, 2], [0]), bad(x(2, 2), np.zeros([0])),
    bad(x(2, 2), 0), bad(x(2, 2), [2]), bad(x(2, 2), [-3]),
    bad(x(2, 2), [0, 1]), bad(x(2, 2), [[0]]), bad(x(), [0]),
    bad(x(), np.zeros([0]))], Data(0, 2))
row("ListDiff", [
    c([1, 2, 3, 4, 2], [2, 4]), c(x(40), x(9)), c(x(5), np.zeros([0])),
    c([np.nan, 1, -0.0] * 99, [0, np.nan], dtypes=["float32"]),
    c(np.zeros([0]), x(3)), once(x(9000), x(6)), bad(x(2, 2), x(2)),
    bad(x(2), x(2, 2)), bad(1, x(2))], Data(0, 30))
row("TopKV2", [
    c(x(5), 3), c(x(4, 9), 4), c(x(4, 9), 9), c(x(4, 9), 0), c(x(4, 9), 1),
    c([1, 5, 3, 5, 5, 2], 3), c(x(2, 3, 4), 2), c(x(0, 4), 2), c(x(2, 0), 0),
    c(x(3, 200), 20), once(x(300, 70), 5), once(x(2, 20000), 300),
    once(x(2, 5000), 3000),
    c([[0, 0, 0, 0]], 3), c(x(7), 7, sorted=False), c(x(7), 1, sorted=False),
    bad(x(5), 6), bad(x(5), -1), bad(x(), 1), bad(x(5), [1]),
    bad(x(5), [1, 2])], Data(-100, 100))
row("InTopKV2", [
    c([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [2, 2, 0], 2), c(x(9, 6), [0] * 9, 3),
    c([[1, np.inf, 3], [3, 2, np.nan]], [2, 0], 1), c(x(2, 3), [-1, 3], 9),
    c(x(0, 3), np.zeros([0]), 1), c(x(2, 3), [0, 1], 0), c(x(2, 3), [0, 1], -1),
    bad(x(2, 3), [0], 1), bad(x(3), [0, 1, 1], 1), bad(x(2, 3), [[0, 1]], 1),
    bad(x(2, 3), [0, 1], [1])])
row("InTopK", [
    c(x(9, 6), [0, 1, 2] * 3, k=3), c(x(2, 3), [5, -5], k=1),
    bad(x(2, 3), [0], k=1), bad(x(3), [0], k=1)])
row("SetSize", [
    c(PLACES, x(4), [3, 4]), c(BACK, x(4), [3, 4], validate_indices=False),
    c(TWICE_THERE, x(3), [3, 4], validate_indices=False),
    c(NOWHERE, np.zeros([0]), [3, 4]), c(NOWHERE, np.zeros([0]), [0, 4]),
    c([[0, 1, 2], [1, 0, 0]], x(2), [2, 3, 4]),
    bad(PLACES, x(3), [3, 4]), bad(PLACES, x(4), [3, 3]),
    bad(PLACES, x(4), [3]), bad(BACK, x(4), [3, 4]),
    bad(TWICE_THERE, x(3), [3, 4]), bad([[0], [1]], x(2), [3]),
    bad(PLACES, x(4), [3, 3], validate_indices=False),
    bad(PLACES, x(4), [1, 4], validate_indices=False), bad([0, 1], x(2), [3]),
    bad(PLACES, x(1, 4), [3, 4]), bad(PLACES, x(4), [[3, 4]]),
    bad(PLACES, x(4), [-3, 4]), bad(PLACES, x(4), [3, 4, 5]),
    bad([0, 1], x(2), [3, 4]), bad(PLACES, x(4), np.zeros([0])),
    bad(PLACES, x(4), [3, 2], validate_indices=False)], Data(0, 2))
OPERATIONS = ("a-b", "b-a", "intersection", "union", "UNION")
row("DenseToDenseSetOperation", [
    c(x(3, 5), x(3, 4), set_operation=name) for name in OPERATIONS] + [
        c(x(2, 2, 3), x(2, 2, 1), set_operation="union"),
        c(x(2, 0), x(2, 3), set_operation="a-b"),
        c(x(0, 2), x(0, 2), set_operation="a-b"),
        bad(x(2, 3), x(2, 3), set_operation="x"),
        bad(x(2, 3), x(1, 3), set_operation="union"),
        bad(x(3), x(3), set_operation="union"),
        bad(x(2, 3), x(3), set_operation="union")], Data(0, 6))
row("DenseToSparseSetOperation", [
    c(x(3, 5), PLACES, x(4), [3, 4], set_operation=name)
    for name in OPERATIONS] + [
        c(x(3, 5), NOWHERE, np.zeros([0]), [3, 4], set_operation="union"),
        bad(x(3, 5), PLACES, x(4), [4, 4], set_operation="union"),
        bad(x(3, 5), PLACES, x(4), [3, 3], set_operation="union"),
        bad(x(3), [[1]], x(1), [4], set_operation="union"),
        bad(x(3, 5), BACK, x(4), [3, 4], set_operation="union")], Data(0, 6))
row("SparseToSparseSetOperation", [
    c(PLACES, x(4), [3, 4], [[0, 0], [1, 0], [2, 7]], x(3), [3, 9],
      set_operation=name) for name in OPERATIONS] + [
          c(NOWHERE, np.zeros([0]), [3, 4], NOWHERE, np.zeros([0]), [3, 4],
            set_operation="union"),
          bad(PLACES, x(4), [3, 4], PLACES, x(4), [4, 4],
              set_operation="union"),
          bad(BACK, x(4), [3, 4], PLACES, x(4), [3, 4],
              set_operation="union")], Data(0, 6))
