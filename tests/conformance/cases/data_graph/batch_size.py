"""Cases of kernels/data_graph/batch_size.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, data, numbers,
                                                    plain, raw, variant)
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario


def batched(n=3, of=9):
    return data.range(of).batch(n)


MAKERS = {
    "none": lambda: data.range(4),
    "batch": batched,
    "dropping": lambda: data.range(9).batch(4, drop_remainder=True),
    "hidden": lambda: numbers(9).batch(hidden(tf.constant(5, tf.int64))),
    "parallel": lambda: data.range(9).batch(4, num_parallel_calls=2),
    "padded": lambda: data.range(5).map(lambda x: tf.fill([x], x))
    .padded_batch(2, [None]),
    "map and batch": lambda: data.range(9).apply(
        tf.data.experimental.map_and_batch(lambda x: x, 6)),
    "map": lambda: batched().map(lambda x: x),
    "filter": lambda: batched().filter(lambda x: True),
    "take skip repeat": lambda: batched().take(2).skip(1).repeat(2),
    "shard shuffle": lambda: batched().shard(2, 0).shuffle(3),
    "shuffle and repeat": lambda: batched().apply(
        tf.data.experimental.shuffle_and_repeat(3, 2)),
    "prefetch": lambda: batched().prefetch(2),
    "cache": lambda: batched().cache(),
    "options": lambda: plain(batched()),
    "length": lambda: batched().apply(
        tf.data.experimental.assert_cardinality(3)),
    "zip": lambda: data.zip((batched(), batched())),
    "zip of others": lambda: data.zip((batched(), batched(2))),
    "concatenate": lambda: batched().concatenate(batched(3, 5)),
    "of batches": lambda: batched().batch(2),
    "unbatch": lambda: batched().unbatch(),
    "window": lambda: batched().window(2),
    "flat map": lambda: batched().flat_map(data.from_tensors),
    "parsed": lambda: data.from_tensors([b""]).repeat(4).unbatch().batch(2)
    .apply(tf.data.experimental.parse_example_dataset(
        {"a": tf.io.VarLenFeature(tf.int64)})),
}


@scenario("ComputeBatchSize")
@fresh_graph
def data_batch_sizes(side):
    found = {name: raw.ComputeBatchSize(input_dataset=variant(make()))
             for name, make in MAKERS.items()}
    found["no dataset"] = raw.ComputeBatchSize(
        input_dataset=raw.OptionalNone())
    found["two"] = raw.ComputeBatchSize(
        input_dataset=tf.stack([variant(data.range(3))] * 2))
    return answers(side, found)
