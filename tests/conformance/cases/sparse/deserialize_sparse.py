"""Cases of kernels/sparse/deserialize_sparse.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.cases.shared import NOWHERE, PLACES
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

F = np.float32
GIVEN = {"three": (PLACES, F([1, 2, 3, 4]), [3, 4]),
         "one": ([[0, 1]], F([9]), [2, 9]),
         "rank 3": ([[0, 1, 1]], F([9]), [2, 9, 2]),
         "none": (NOWHERE, F([]), [7, 2]),
         "strings": (PLACES, np.array(["a", "", "c" * 40, "d"]), [3, 4])}


def whole(name, out_type):
    indices, values, shape = GIVEN[name]
    return raw.SerializeSparse(
        sparse_indices=hidden(np.int64(indices)), sparse_values=hidden(values),
        sparse_shape=hidden(np.int64(shape)), out_type=out_type)


def rows(name, out_type):
    indices, values, shape = GIVEN[name]
    return raw.SerializeManySparse(
        sparse_indices=hidden(np.int64(indices)), sparse_values=hidden(values),
        sparse_shape=hidden(np.int64(shape)), out_type=out_type)


def serialized(out_type):
    one, other = whole("three", out_type), whole("one", out_type)
    none = whole("none", out_type)
    return {
        "whole": one, "none": none, "rows": rows("three", out_type),
        "no rows": tf.stack([one])[:0],
        "stack": tf.stack([one, other, none]),
        "ranks": tf.stack([one, whole("rank 3", out_type)]),
        "grid": tf.reshape(tf.stack([one, other, none, one]), [2, 2, 3]),
        "two": one[:2], "scalar": one[0], "nothing": one[:0],
        "columns": tf.reshape(tf.stack([one, other]), [3, 2]),
        "shuffled": tf.stack([one[1], one[0], one[2]]),
        "no values": tf.stack([one[0], one[2], one[2]]),
        "no shape": tf.stack([one[0], one[1], one[1]]),
        "other shape": tf.stack([one[0], one[1],
                                 whole("rank 3", out_type)[2]]),
        "other values": tf.stack([one[0], other[1], one[2]]),
    }


@scenario("SerializeSparse SerializeManySparse DeserializeSparse "
          "DeserializeManySparse")
@fresh_graph
def sparse_and_back(side):
    found = {}
    for out_type in (tf.string, tf.variant):
        for name, given in serialized(out_type).items():
            found["%s of %s" % (name, out_type.name)] = raw.DeserializeSparse(
                serialized_sparse=hidden(given), dtype=tf.float32)
            if out_type == tf.string:
                found["many " + name] = raw.DeserializeManySparse(
                    serialized_sparse=hidden(given), dtype=tf.float32)
        found["type of %s" % out_type.name] = raw.DeserializeSparse(
            serialized_sparse=whole("one", out_type), dtype=tf.int32)
        found["strings of %s" % out_type.name] = raw.DeserializeSparse(
            serialized_sparse=rows("strings", out_type), dtype=tf.string)
    found["junk"] = raw.DeserializeSparse(
        serialized_sparse=hidden(["a", "b", "c"]), dtype=tf.float32)
    found["many junk"] = raw.DeserializeManySparse(
        serialized_sparse=hidden([["a", "b", "c"]]), dtype=tf.float32)
    return answers(side, {name: list(parts) for name, parts in found.items()})
