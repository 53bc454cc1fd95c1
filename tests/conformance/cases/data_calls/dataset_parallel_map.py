"""Cases of kernels/data_calls/dataset_parallel_map.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, elements,
                                                    failing, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def looping(x):
    return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i),
                         [tf.constant(0, tf.int64), tf.constant(0, tf.int64)])


def makers(calls):
    return {
        "squares %d" % calls: lambda: numbers(20).map(
            lambda x: x * x, num_parallel_calls=calls),
        "pairs %d" % calls: lambda: numbers().map(
            lambda x: (x, tf.as_string(x)), num_parallel_calls=calls),
        "loops %d" % calls: lambda: numbers().map(
            looping, num_parallel_calls=calls),
        "fails %d" % calls: lambda: numbers().map(
            failing(3), num_parallel_calls=calls),
        "of what fails %d" % calls: lambda: numbers().map(failing(3)).map(
            lambda x: x + 1, num_parallel_calls=calls),
        "of none %d" % calls: lambda: numbers(0).map(
            lambda x: x, num_parallel_calls=calls),
    }


@scenario("ParallelMapDatasetV2 ParallelMapDataset")
@fresh_graph
def data_parallel_maps(side):
    found = {}
    for calls in (1, 2, 5, 100, -1, 0):
        found.update(makers(calls))
    return elements(side, found)


@scenario("ParallelMapDatasetV2 DatasetCardinality")
@fresh_graph
def data_parallel_map_cardinalities(side):
    return cardinalities(side, makers(2))
