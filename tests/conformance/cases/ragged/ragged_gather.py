"""Cases of kernels/ragged/ragged_gather.c."""
from tests.conformance.cases.shared import ANY, NONE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, once, row

ONE, TWO = [0, 2, 2, 3], ([0, 2, 3], [0, 1, 3, 3])
LONG = sorted(i * 37 % 3000 for i in range(80))
PICKS = [i * 7 % 80 for i in range(200)]


def picked(splits, values, rows, rank, make=c):
    return make(many(*splits), values, rows, OUTPUT_RAGGED_RANK=rank)


row("RaggedGather", [
    picked([ONE], x(3), [2, 0, 0], 1), picked(TWO, x(3), [1, 0], 2),
    picked([ONE], x(3, 2), [2, 0], 1), picked([ONE], x(3), 1, 0), picked(TWO, x(3), 0, 1),
    picked([ONE], x(3), [[0, 1], [2, 2]], 2), picked([ONE], x(3), [[[0], [1]]], 3),
    picked([ONE], x(3), NONE, 1), picked([[1, 3]], x(3), [0], 1),
    picked([[0, 2], [0, 1, 2]], x(3), [0], 2), picked([ONE], x(3, 0), [2, 0], 1),
    picked([[0, *LONG, 3000]], x(3000), PICKS, 1, once),
    picked([ONE], x(3), [3], 1, bad), picked([ONE], x(3), [-1], 1, bad),
    picked([ONE], x(3), [[0, 1], [9, 0]], 2, bad), picked([ONE], x(3), 7, 0, bad),
    picked([[0, 2, 2, 9]], x(3), [2], 1, bad), picked([[0, 2, 1, 3]], x(3), [1], 1, bad),
    picked([[0, -1, 3]], x(3), [1], 1, bad), picked([[0, 3]], x(), [0], 1, bad),
    picked([[[0, 3]]], x(3), [0], 1, bad), picked([NONE], x(3), [0], 1, bad),
    picked([[0, 5], [0, 1, 3]], x(3), [0], 2, bad),
    picked([[0, 2], [0, 1, 9]], x(3), [0], 2, bad), picked([[0]], x(0), [0], 1, bad)], ANY)
