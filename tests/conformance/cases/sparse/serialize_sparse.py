"""Cases of kernels/sparse/serialize_sparse.c."""
import numpy as np

from tests.conformance.cases.shared import NOWHERE, PLACES
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("SerializeSparse", [
    c(PLACES, x(4), [3, 4]), c(PLACES, x(3), [3, 4]), c(PLACES, x(4), [3]),
    c(NOWHERE, x(0), [2, 2]), c([[5, 0]], x(1), [3, 4]), c([[0]], x(1), [3]),
    c(np.zeros([0, 0]), x(0), np.zeros([0])), c([[-1, 0]], x(1), [3, 4]),
    bad([0, 1], x(2), [3, 4]), bad(PLACES, x(4, 1), [3, 4]),
    bad(PLACES, x(4), [[3, 4]])], may_fail=True)
row("SerializeManySparse", [
    c(PLACES, x(4), [3, 4]), c(NOWHERE, x(0), [2, 2]),
    c([[0, 1, 2], [3, 0, 0]], x(2), [4, 2, 3]), c(NOWHERE, x(0), [0, 2]),
    bad(PLACES, x(3), [3, 4]), bad(PLACES, x(4), [3]),
    bad([0, 1], x(2), [3, 4]), bad(PLACES, x(4, 1), [3, 4]),
    bad(PLACES, x(4), [[3, 4]]), bad([[5, 0]], x(1), [3, 4]),
    bad([[0]], x(1), [3]), bad([[2, 0], [0, 0]], x(2), [3, 4]),
    bad(np.zeros([0, 0]), x(0), np.zeros([0])),
    bad([[-1, 0]], x(1), [3, 4]), bad([[0, 4]], x(1), [3, 4])], may_fail=True)
