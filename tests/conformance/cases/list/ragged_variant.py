"""Cases of kernels/list/ragged_variant.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, data, elements,
                                                    hidden, numbers, raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

V = np.array([1, 2, 3], np.int32)
WIDE = np.arange(6, dtype=np.int32).reshape(3, 2)


def packed(splits, values, batched=False, dtype=np.int64):
    return raw.RaggedTensorToVariant(
        rt_nested_splits=[hidden(np.array(s, dtype)) for s in splits],
        rt_dense_values=hidden(values), batched_input=batched)


def unpacked(encoded, inner, outer, values=tf.int32, splits=tf.int64):
    made = raw.RaggedTensorFromVariant(
        encoded_ragged=hidden(encoded), input_ragged_rank=inner,
        output_ragged_rank=outer, Tvalues=values, Tsplits=splits)
    return list(made.output_nested_splits) + [made.output_dense_values]


RAGGED = {"rank 1": ([[0, 2, 2, 3]], V), "rank 2": ([[0, 2, 3], [0, 1, 3, 3]], V),
          "wide": ([[0, 2, 2, 3]], WIDE), "no rows": ([[0]], V[:0]),
          "strings": ([[0, 1, 3]], np.array(["a", "", "c" * 40])),
          "rank 3": ([[0, 1, 2], [0, 0, 2], [0, 1, 3]], V)}
WRONG = {"end": [[0, 2, 2, 9]], "start": [[1, 2, 2, 3]], "falling": [[0, 2, 1, 3]],
         "none": [[]], "outer": [[0, 5], [0, 1, 3]], "matrix": [[[0, 3]]],
         "negative": [[0, -1, 3]]}


@scenario("RaggedTensorToVariant RaggedTensorFromVariant")
@fresh_graph
def ragged_and_back(side):
    found = {}
    for name, (splits, values) in RAGGED.items():
        rank = len(splits)
        dtype = tf.string if name == "strings" else tf.int32
        for t in (np.int64, np.int32):
            more = dict(values=dtype, splits=tf.as_dtype(t))
            key = "%s %s" % (name, t.__name__)
            found[key + " whole"] = unpacked(
                packed(splits, values, dtype=t), rank, rank, **more)
            found[key + " rows"] = unpacked(
                packed(splits, values, True, t), rank - 1, rank, **more)
    for name, values in (("vector", V), ("matrix", WIDE)):
        found["dense " + name] = unpacked(packed([], values), 0, 0)
        found["dense rows of " + name] = unpacked(
            packed([], values, True), 0, 0)
    a, b = packed([[0, 2, 3]], V), packed([[0, 1]], V[:1])
    one, two = packed([], V), packed([], V[:2])
    grid = tf.reshape(tf.stack([a, b, a, b]), [2, 2])
    for name, encoded, inner, outer in (
            ("whole", a, -1, 1), ("stack", tf.stack([a, b]), 1, 2),
            ("inferred", tf.stack([a, b]), -1, 2),
            ("vectors", tf.stack([one, two]), 0, 1),
            ("vectors inferred", tf.stack([one, two]), -1, 1),
            ("grid", grid, 1, 3), ("grid inferred", grid, -1, 3),
            ("none", tf.stack([a, b])[:0], 1, 2)):
        found[name] = unpacked(encoded, inner, outer)
    return answers(side, found)


@scenario("RaggedTensorToVariant RaggedTensorFromVariant")
@fresh_graph
def bad_ragged(side):
    found = {}
    for name, splits in WRONG.items():
        for batched in (False, True):
            found["%s %s" % (name, batched)] = unpacked(
                packed(splits, V, batched), -1, len(splits))
    a, b, dense = packed([[0, 2, 3]], V), packed([[0, 1]], V[:1]), packed([], V)
    grid = tf.reshape(tf.stack([a, b, a, b]), [2, 2])
    found["rank"] = unpacked(tf.stack([a, dense]), 1, 2)
    found["inner"] = unpacked(tf.stack([a, b]), 0, 1)
    found["outer"] = unpacked(tf.stack([a, b]), 1, 1)
    found["outer 3"] = unpacked(tf.stack([a, b]), 1, 3)
    found["type"] = unpacked(tf.stack([a, b]), 1, 2, tf.float32)
    found["low"] = unpacked(grid, -1, 1)
    return answers(side, found)


@scenario("RaggedTensorToVariant RaggedTensorFromVariant MapDataset "
          "BatchDatasetV2")
@fresh_graph
def data_ragged(side):
    def parts(x):
        return x.values, x.row_splits

    def row(x):
        return tf.RaggedTensor.from_row_splits(
            tf.range(x), [0, x // 2, x], validate=False)
    return elements(side, {
        "rows": lambda: numbers(4).map(row).map(parts),
        "batch": lambda: numbers(5).map(row).batch(2).map(
            lambda x: (x.flat_values, x.row_splits)),
        "ragged batch": lambda: numbers(5).map(
            lambda x: tf.range(x)).apply(
                tf.data.experimental.dense_to_ragged_batch(2)).map(parts),
        "slices": lambda: data.from_tensor_slices(
            tf.ragged.constant([[1, 2], [], [3]]))})
