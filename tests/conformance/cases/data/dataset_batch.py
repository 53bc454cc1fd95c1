"""Cases of kernels/data/dataset_batch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    numbers, raw, variant)
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario


def n(value):
    return hidden(np.int64(value))


def ragged():
    return numbers(4).map(lambda x: tf.ones([x % 3, 2]))


@scenario("BatchDatasetV2")
@fresh_graph
def data_batches(side):
    makers = {}
    for size in (1, 2, 3, 7, 50, 0, -1):
        for drop in (False, True):
            makers["%d %s" % (size, drop)] = lambda s=size, d=drop: (
                numbers().batch(n(s), drop_remainder=hidden(d)))
    makers["of batches"] = lambda: numbers(10).batch(2).batch(3)
    makers["pairs"] = lambda: numbers().map(
        lambda x: (x, tf.as_string(x))).batch(3)
    makers["different shapes"] = lambda: ragged().batch(2)
    makers["of none"] = lambda: numbers(0).batch(2)
    makers["of what fails"] = lambda: numbers().map(failing(3)).batch(2)
    makers["of empty"] = lambda: data.from_tensors(
        np.zeros((0, 2))).repeat(3).batch(2)
    return elements(side, makers)


@scenario("BatchDatasetV2")
@fresh_graph
def data_batches_of_all_types(side):
    return elements(side, {
        t.name: lambda t=t: data.from_tensor_slices(
            sample(t, (5, 2, 3))).batch(2)
        for t in (tf.float32, tf.string, tf.bool, tf.bfloat16, tf.complex128)})


@scenario("BatchDatasetV2 DatasetCardinality")
@fresh_graph
def data_batch_cardinalities(side):
    return cardinalities(side, {
        "%d %s %d" % (size, drop, count): lambda s=size, d=drop, c=count: (
            numbers(c).batch(n(s), drop_remainder=d))
        for size in (1, 3, 9) for drop in (False, True) for count in (0, 6, 7)})


class Old(tf.data.Dataset):
    """BatchDataset, which Python does not make any more."""

    def __init__(self, source, size):
        self._spec = tf.TensorSpec([None], tf.int64)
        self._source = source
        self._made = raw.BatchDataset(
            input_dataset=variant(source), batch_size=n(size),
            output_types=[tf.int64], output_shapes=[[None]])
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return [self._source]

    @property
    def element_spec(self):
        return self._spec


@scenario("BatchDataset")
@fresh_graph
def data_old_batches(side):
    return elements(side, {str(size): lambda s=size: Old(numbers(), s)
                           for size in (1, 3, 9, 0)})


@scenario("ParallelBatchDataset")
@fresh_graph
def data_parallel_batches(side):
    makers = {"%d %s" % (size, drop): lambda s=size, d=drop: numbers().batch(
        n(s), drop_remainder=d, num_parallel_calls=3)
              for size in (1, 3, 9, 0) for drop in (False, True)}
    makers["different shapes"] = lambda: ragged().batch(
        2, num_parallel_calls=2)
    makers["of what fails"] = lambda: numbers().map(failing(3)).batch(
        2, num_parallel_calls=1)
    return elements(side, makers)
