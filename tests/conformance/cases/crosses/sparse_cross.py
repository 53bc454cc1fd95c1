"""Cases of kernels/crosses/sparse_cross.c.  Of int64 in matrices, hashed with a
key, there is none: TensorFlow crashes."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops
L = np.int64
WORDS = np.array(["a", "", "c" * 40, "\xfc\x00", "bc", "d" * 70])
NUMBERS = L([0, -1, 1 << 33, 7, -(1 << 63), (1 << 63) - 1])
ROWS = [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2], [3, 0]]
# indices, values, shape
TEXT, INT = (ROWS, WORDS, [4, 3]), (ROWS, NUMBERS, [4, 3])
FEW = ([[0, 5], [2, 0], [2, 7]], NUMBERS[:3], [4, 9])
NOTHING = (np.zeros([0, 2]), NUMBERS[:0], [4, 0])
NO_ROWS = (np.zeros([0, 2]), NUMBERS[:0], [0, 3])
LATE = ([[1, 0], [0, 0], [2, 0]], NUMBERS[:3], [4, 3])
OUTSIDE = ([[0, 0], [9, 0]], NUMBERS[:2], [4, 3])
BELOW = ([[-1, 0], [0, 0]], NUMBERS[:2], [4, 3])
MATRIX = WORDS[[0, 1, 2, 3, 4, 5, 0, 1]].reshape(4, 2)
COLUMN = L([[3], [-4], [5], [1 << 40]])
WIDE = np.arange(12, dtype=L).reshape(4, 3)
MANY = (np.argwhere(np.ones([60, 9])), np.arange(540, dtype=L), [60, 9])

GOOD = {
    "text": ([TEXT], []), "int": ([INT], []), "both": ([TEXT, INT], []),
    "three": ([TEXT, INT, FEW], []), "nothing": ([TEXT, NOTHING], []),
    "no rows": ([NO_ROWS, NO_ROWS], []), "none": ([], []),
    "matrix": ([], [MATRIX]), "column": ([], [COLUMN]),
    "mixed": ([TEXT, FEW], [MATRIX, COLUMN]), "late": ([LATE], []),
    "outside": ([OUTSIDE], [COLUMN]), "below": ([BELOW], [COLUMN]),
    "empty matrix": ([TEXT], [MATRIX[:, :0]]), "many": ([MANY, MANY, MANY], []),
    "empty column": ([], [COLUMN[:0]]),
}
BAD = {
    "vector of indices": ([([0, 1], NUMBERS[:2], [4, 3])], []),
    "rank 3": ([([[0, 0, 0]], NUMBERS[:1], [4, 3])], []),
    "matrix of values": ([(ROWS, NUMBERS[None], [4, 3])], []),
    "few values": ([(ROWS, NUMBERS[:5], [4, 3])], []),
    "matrix of shape": ([(ROWS, NUMBERS, [[4, 3]])], []),
    "long shape": ([(ROWS, NUMBERS, [4, 3, 1])], []),
    "rows": ([INT, NO_ROWS], []), "rows of a matrix": ([INT], [COLUMN[:2]]),
    "second": ([INT, (ROWS, NUMBERS[:2], [4, 3])], []),
    "vector": ([INT], [COLUMN[:, 0]]),
}


def lists(sparse, dense, **more):
    return dict(indices=[hidden(L(s[0])) for s in sparse],
                values=[hidden(s[1]) for s in sparse],
                shapes=[hidden(L(s[2])) for s in sparse],
                dense_inputs=[hidden(d) for d in dense], **more)


def old(given, out, internal, buckets=0, key=956888297470):
    return list(raw.SparseCross(**lists(
        *given, hashed_output=out == tf.int64, num_buckets=buckets,
        hash_key=key, out_type=out, internal_type=internal)))


def joined(given, sep="_Y_"):
    return list(raw.SparseCrossV2(**lists(*given, sep=hidden(sep))))


def hashed(given, buckets=0, strong=False, salt=(137, -1)):
    return list(raw.SparseCrossHashed(**lists(
        *given, num_buckets=hidden(L(buckets)), strong_hash=hidden(strong),
        salt=hidden(L(salt)))))


def has_int_matrix(given):
    return any(d.dtype == L for d in given[1])


def all_text(given):
    return all(v.dtype != L for v in [s[1] for s in given[0]] + given[1])


@scenario("SparseCross SparseCrossV2 SparseCrossHashed", tol=0)
@fresh_graph
def crosses(side):
    found = {}
    for name, given in GOOD.items():
        found[name + " text"] = old(given, tf.string, tf.int64)
        found[name + " hash"] = old(given, tf.int64, tf.int64)
        found[name + " bucket"] = old(given, tf.int64, tf.int64, 100, -1)
        found[name + " joined"] = joined(given)
        found[name + " hashed"] = hashed(given)
        found[name + " buckets"] = hashed(given, 1000)
        if not has_int_matrix(given):
            found[name + " strong"] = hashed(given, 0, True)
        if all_text(given):
            found[name + " text of text"] = old(given, tf.string, tf.string)
            found[name + " hash of text"] = old(given, tf.int64, tf.string)
    for sep in ("", "a longer one, past any inline storage"):
        found["by " + sep] = joined(GOOD["mixed"], sep)
    for salt in ((0, 0), (1, 2)):
        found["salt %d" % salt[0]] = hashed(GOOD["both"], 7, True, salt)
    found["below zero"] = hashed(GOOD["both"], -5)
    return answers(side, found)


@scenario("SparseCross SparseCrossV2 SparseCrossHashed", tol=0)
@fresh_graph
def bad_crosses(side):
    found = {}
    for name, given in BAD.items():
        found[name] = old(given, tf.int64, tf.int64)
        found[name + " joined"] = joined(given)
        found[name + " hashed"] = hashed(given)
    for out in (tf.string, tf.int64):
        found["int %s" % out.name] = old(GOOD["both"], out, tf.string)
        found["column %s" % out.name] = old(([TEXT], [COLUMN]), out, tf.string)
    for sep in (["a"], [["a", "b", "c", "d"]]):
        found["sep %d" % len(sep[0])] = joined(GOOD["both"], sep)
    for salt in ([1], [1, 2, 3], []):
        found["salt %d" % len(salt)] = hashed(GOOD["both"], 7, True, salt)
    found["values"] = list(raw.SparseCrossV2(
        indices=[hidden(L(ROWS))] * 2, values=[hidden(WORDS)],
        shapes=[hidden(L([4, 3]))] * 2, dense_inputs=[], sep="x"))
    return answers(side, found)
