"""Cases of kernels/data/dataset_padded_batch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, elements,
                                                    failing, hidden, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def n(value):
    return hidden(np.int64(value))


def rows(count=5):
    return numbers(count).map(lambda x: tf.fill([x], x))


def boxes():
    return numbers(5).map(lambda x: tf.fill([x, 3 - x % 3], tf.as_string(x)))


@scenario("PaddedBatchDatasetV2")
@fresh_graph
def data_padded_batches(side):
    makers = {}
    for size in (1, 2, 3, 9, 0):
        for drop in (False, True):
            makers["%d %s" % (size, drop)] = lambda s=size, d=drop: (
                rows().padded_batch(n(s), [None], drop_remainder=hidden(d)))
    makers["to 6"] = lambda: rows().padded_batch(2, [6])
    makers["to 2"] = lambda: rows().padded_batch(2, [2])
    makers["with -1"] = lambda: rows().padded_batch(
        2, [None], np.int64(-1))
    makers["boxes"] = lambda: boxes().padded_batch(3, [None, None], "none")
    makers["boxes to 4"] = lambda: boxes().padded_batch(3, [None, 4])
    makers["pairs"] = lambda: numbers(5).map(
        lambda x: (x, tf.fill([x], 1.5))).padded_batch(
            2, ([], [None]), (np.int64(0), 9.5))
    makers["of what fails"] = lambda: numbers(5).map(failing(2)).map(
        lambda x: tf.fill([x], x)).padded_batch(2, [None])
    makers["of none"] = lambda: rows(0).padded_batch(2, [None])
    makers["of scalars"] = lambda: numbers(5).padded_batch(2, [])
    return elements(side, makers)


@scenario("PaddedBatchDatasetV2 PaddedBatchDataset DatasetCardinality")
@fresh_graph
def data_padded_batch_cardinalities(side):
    raw = tf.raw_ops
    found = cardinalities(side, {
        "%d %s" % (size, drop): lambda s=size, d=drop: numbers(7).padded_batch(
            s, [], drop_remainder=d) for size in (1, 3, 9)
        for drop in (False, True)})
    old = raw.PaddedBatchDataset(
        input_dataset=numbers(7)._variant_tensor, batch_size=n(3),
        padded_shapes=[np.zeros(0, np.int64)], padding_values=[np.int64(0)],
        output_shapes=[[None]])
    with side.session() as session:
        found["old"] = session.run(raw.DatasetCardinality(input_dataset=old))
    return found
