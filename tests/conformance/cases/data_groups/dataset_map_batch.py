"""Cases of kernels/data_groups/dataset_map_batch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    elements, failing, hidden,
                                                    numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def mapped(n, function, size, drop=False, calls=None):
    return n.apply(tf.data.experimental.map_and_batch(
        function, hidden(np.int64(size)), num_parallel_calls=calls,
        drop_remainder=drop))


def ten(x):
    return x * 10


def looping(x):
    """The later an element, the longer its call."""
    return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i),
                         [tf.constant(0, tf.int64), tf.constant(0, tf.int64)])


def maps():
    return {
        "of three": lambda: mapped(numbers(7), ten, 3),
        "dropping": lambda: mapped(numbers(7), ten, 3, True),
        "even": lambda: mapped(numbers(6), ten, 3),
        "none": lambda: mapped(numbers(0), ten, 3),
        "pairs": lambda: mapped(
            numbers(5), lambda x: (x, {"s": tf.as_string(x)}), 2),
        "many": lambda: mapped(numbers(5), ten, 100, calls=2),
        "for ever": lambda: mapped(numbers(5).repeat(), ten, 4),
    }


@scenario("MapAndBatchDataset ExperimentalMapAndBatchDataset")
@fresh_graph
def data_map_and_batch(side):
    found = maps()
    found["another"] = lambda: aliased(
        mapped(numbers(5), ten, 2), "ExperimentalMapAndBatchDataset")
    found["size 0"] = lambda: mapped(numbers(5), ten, 0)
    found["calls 0"] = lambda: mapped(numbers(5), ten, 2, calls=hidden(
        np.int64(0)))
    for calls in (1, 2, 5, 100):
        found["%d calls" % calls] = lambda c=calls: mapped(
            numbers(20), looping, 3, calls=c)
        found["%d calls fail" % calls] = lambda c=calls: mapped(
            numbers(9), failing(4), 2, calls=c)
    found["function fails"] = lambda: mapped(numbers(7), failing(2), 2)
    found["input fails"] = lambda: mapped(
        numbers(7).map(failing(2)), ten, 2)
    return elements(side, found, limit=10, passes=2)


@scenario("MapAndBatchDataset DatasetCardinality")
@fresh_graph
def data_map_and_batch_cardinalities(side):
    return cardinalities(side, maps())
