"""Cases of kernels/crosses/ragged_cross.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops
L = np.int64
WORDS = np.array(["a", "", "c" * 40, "\xfc\x00", "bc", "d" * 70])
NUMBERS = L([0, -1, 1 << 33, 7, -(1 << 63), (1 << 63) - 1])
SPLITS = [0, 2, 2, 5, 6]
ROWS = [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2], [3, 0]]
TEXT, INT = ("R", WORDS, SPLITS), ("R", NUMBERS, SPLITS)
EMPTY = ("R", NUMBERS[:0], [0] * 5)
NO_ROWS = ("R", NUMBERS[:0], [0])
SPARSE = ("S", ROWS, WORDS, [4, 3])
SPARSE_INT = ("S", ROWS[:3], NUMBERS[:3], [4, 9])
LATE = ("S", [[1, 0], [0, 0], [2, 0]], NUMBERS[:3], [4, 3])
OUTSIDE = ("S", [[0, 0], [9, 0]], NUMBERS[:2], [4, 3])
BELOW = ("S", [[-1, 0], [0, 0]], NUMBERS[:2], [4, 3])
MATRIX = ("D", WORDS[[0, 1, 2, 3, 4, 5, 0, 1]].reshape(4, 2))
COLUMN = ("D", L([[3], [-4], [5], [1 << 40]]))
MANY = ("R", np.arange(540, dtype=L), range(0, 541, 9))

GOOD = {
    "text": [TEXT], "int": [INT], "both": [INT, TEXT], "sparse": [SPARSE],
    "matrix": [MATRIX], "column": [COLUMN], "none": [], "empty": [TEXT, EMPTY],
    "no rows": [NO_ROWS], "all": [COLUMN, TEXT, SPARSE, INT, MATRIX],
    "sparse first": [SPARSE_INT, SPARSE, TEXT], "late": [LATE],
    "outside": [OUTSIDE, COLUMN], "below": [BELOW, COLUMN],
    "many": [MANY, MANY, MANY],
}
BAD = {
    "start": [("R", NUMBERS, [1, 2, 2, 5, 6])], "end": [("R", NUMBERS, [0, 9])],
    "falling": [("R", NUMBERS, [0, 3, 2, 5, 6])], "no splits": [("R", NUMBERS, [])],
    "values": [("R", NUMBERS[None], SPLITS)], "splits": [("R", NUMBERS, [SPLITS])],
    "rows": [TEXT, NO_ROWS], "rows of a matrix": [TEXT, ("D", COLUMN[1][:2])],
    "rows of a sparse one": [TEXT, ("S", ROWS[:1], NUMBERS[:1], [9, 3])],
    "vector": [("D", NUMBERS)], "index": [("S", [0, 1], NUMBERS[:2], [4, 3])],
    "shape": [("S", ROWS, NUMBERS, [4, 3, 1])],
    "value": [("S", ROWS, NUMBERS[None], [4, 3])],
}


def cross(columns, out, splits=np.int64, order=None, buckets=0, key=956888297470):
    def of(kind):
        return [c for c in columns if c[0] == kind]
    return list(raw.RaggedCross(
        ragged_values=[hidden(c[1]) for c in of("R")],
        ragged_row_splits=[hidden(splits(c[2])) for c in of("R")],
        sparse_indices=[hidden(L(c[1])) for c in of("S")],
        sparse_values=[hidden(c[2]) for c in of("S")],
        sparse_shape=[hidden(L(c[3])) for c in of("S")],
        dense_inputs=[hidden(c[1]) for c in of("D")],
        input_order=order or "".join(c[0] for c in columns),
        hashed_output=out == tf.int64, num_buckets=buckets, hash_key=key,
        out_values_type=out, out_row_splits_type=tf.as_dtype(splits)))


@scenario("RaggedCross", tol=0)
@fresh_graph
def ragged_crosses(side):
    found = {}
    for name, columns in GOOD.items():
        for splits in (np.int64, np.int32):
            key = "%s %s " % (name, splits.__name__)
            found[key + "text"] = cross(columns, tf.string, splits)
            found[key + "hash"] = cross(columns, tf.int64, splits)
        found[name + " bucket"] = cross(columns, tf.int64, buckets=100, key=-1)
    return answers(side, found)


@scenario("RaggedCross", tol=0)
@fresh_graph
def bad_ragged_crosses(side):
    found = {}
    for name, columns in BAD.items():
        for splits in (np.int64, np.int32):
            found["%s %s" % (name, splits.__name__)] = cross(
                columns, tf.int64, splits)
    columns = [TEXT, INT, SPARSE, COLUMN]
    for order in ("RRRD", "RRSS", "RSDD", "RRSX", "RRS", "RRSDD"):
        found[order] = cross(columns, tf.string, order=order)
    return answers(side, found)
