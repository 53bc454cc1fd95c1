"""Cases of kernels/array/sets.c."""
import numpy as np

from tests.conformance.cases.shared import BACK, NOWHERE, PLACES, TWICE_THERE
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, row

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
