"""Cases of kernels/random/random_shuffle.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario

row("RandomShuffle", [
    c(x(7), seed=5, seed2=6), c(x(7, 3), seed=5, seed2=6), c(x(), seed=1),
    c(x(1, 4), seed=1), c(x(0), seed=1), c(x(3, 0), seed=1),
    c(x(2, 3, 2), seed=-5, seed2=2 ** 40), once(x(3001), seed=9),
    c(x(2), seed=3), c(x(64), seed=3), c(x(65), seed=3), c(x(66), seed=3),
    c(x(130, 2), seed=4), c(x(129, 1), seed=4),
    once(x(300, 70), seed=8)], tol=0, runs=3)
KEY, COUNTER = np.uint64([12345]), np.uint64([7, 9])
row("StatelessShuffle", [
    *(c(x(n), KEY, COUNTER, 1) for n in (0, 1, 2, 3, 7, 64, 65, 66)),
    c(x(7, 3), KEY, COUNTER, 3), c(x(), KEY, COUNTER, 1),
    c(x(1, 4), KEY, COUNTER, 1), c(x(3, 0), KEY, COUNTER, 1),
    c(x(2, 3, 2), np.uint64([2 ** 64 - 1]),
      np.uint64([2 ** 64 - 1, 2 ** 64 - 2]), 1),
    c(x(9), KEY, np.uint64([5, 6, 7]), 1), once(x(3001), KEY, COUNTER, 1),
    once(x(300, 70), KEY, COUNTER, 1),
    bad(x(5), KEY, COUNTER, 2), bad(x(5), KEY, COUNTER, 0),
    bad(x(5), KEY, COUNTER, 9), bad(x(5), KEY, COUNTER, [1]),
    bad(x(5), np.uint64([1, 2]), COUNTER, 1), bad(x(5), 1, COUNTER, 1),
    bad(x(5), KEY, [[3, 4]], 1), bad(x(5), KEY, 3, 1)], tol=0)

TWO = [[1, 2, 3], [4, 5, 6]]
PLACES = [
    (list(range(10)), [1, 2, 3], 9), (3, [1, 2, 3], 9), (0, [1, 2, 3], 0),
    (3, TWO, 9), (3, TWO[:1], 9), (3, [1, 2, 3], [9, 8]), (3, [1, 2, 3], [9]),
    ([3], [1, 2, 3], 9), ([3, 4], TWO, [9, 8]),
    ([0, 5, 70000], [1, 2, 3], 70000),
    ([0, 7, 2 ** 31 - 1], [4, 5, 6], 2 ** 31 - 1)]
NO_PLACES = [
    ([3], TWO, 9), ([3], [1, 2, 3], [9, 9]), ([1, 2, 3], TWO, 9),
    ([1, 2, 3], TWO[:1], 9), ([1, 2, 3], [1, 2, 3], [9]), ([], [1, 2, 3], 9),
    (3, 1, 9), (3, [1, 2], 9), ([3, 3], [[1, 2], [3, 4]], 9),
    (3, [[[1, 2, 3]]], 9), (3, [1, 2, 3], [[9]]), ([[3]], [1, 2, 3], 9),
    (0, [1, 2, 3], -1), (-1, [1, 2, 3], 9), (10, [1, 2, 3], 9),
    ([3, 30], TWO, [9, 8])]


def places(index, seed, largest, dtype="int32", of_seed="int32", **attrs):
    return tf.raw_ops.RandomIndexShuffle(
        index=hidden(np.array(index, dtype)),
        seed=hidden(np.array(seed, of_seed)),
        max_index=hidden(np.array(largest, dtype)), **attrs)


@scenario("RandomIndexShuffle", tol=0)
@fresh_graph
def index_shuffles(side):
    """TensorFlow takes no seeds of a known rank whose size is not known."""
    out = {}
    wide = {"int64": 2 ** 62, "uint64": 2 ** 64 - 1, "uint32": 2 ** 32 - 1}
    with side.session() as session:
        for i, case in enumerate(PLACES):
            for dtype in ("int32", "uint32", "int64", "uint64"):
                out["%d %s" % (i, dtype)] = told(session, places(
                    *case, dtype, dtype))
        for dtype, most in wide.items():
            out["most " + dtype] = told(session, places(
                [0, 9, most], [-1, -2, 2 ** 40 + 3], most, dtype, "int64"))
        for rounds in (4, 6, 8, 64):
            out["rounds %d" % rounds] = told(session, places(
                *PLACES[0], rounds=rounds))
        for i, case in enumerate(NO_PLACES):
            out["refused %d" % i] = told(session, places(*case))
    return out
