"""Cases of kernels/data_groups/dataset_group_window.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    data, elements, failing,
                                                    hidden, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def batches(key, group):
    return group.batch(9)


def mod(n):
    return lambda x: x % n


def windows():
    big = hidden(np.int64(3))
    return {
        "even and odd": lambda: numbers(9).group_by_window(
            mod(2), batches, window_size=2),
        "one group": lambda: numbers(5).group_by_window(
            lambda x: hidden(np.int64(7)), batches, window_size=big),
        "three": lambda: numbers(10).group_by_window(
            mod(3), batches, window_size=4),
        "negative keys": lambda: numbers(6).group_by_window(
            lambda x: 2 - x, batches, window_size=2),
        "size by key": lambda: numbers(12).group_by_window(
            mod(3), batches, window_size_func=lambda key: key + 1),
        "none": lambda: numbers(0).group_by_window(
            mod(3), batches, window_size=4),
        "key": lambda: numbers(7).group_by_window(
            mod(2), lambda key, g: g.map(lambda x: x * 100 + key),
            window_size=3),
        "nothing of a group": lambda: numbers(7).group_by_window(
            mod(2), lambda key, g: g.filter(lambda x: key > 0),
            window_size=2),
        "pairs": lambda: data.zip((numbers(6), numbers(6).map(
            lambda x: tf.as_string(x)))).group_by_window(
                lambda x, s: x % 2, lambda key, g: g.batch(2), window_size=2),
        "captured": lambda: numbers(7).group_by_window(
            lambda x: x % big, batches, window_size=2),
    }


@scenario("GroupByWindowDataset ExperimentalGroupByWindowDataset")
@fresh_graph
def data_group_windows(side):
    found = windows()
    found["another"] = lambda: aliased(
        numbers(7).group_by_window(mod(2), batches, window_size=2),
        "ExperimentalGroupByWindowDataset")
    found["size 0"] = lambda: numbers(4).group_by_window(
        mod(2), batches, window_size_func=lambda key: key)
    found["key fails"] = lambda: numbers(6).group_by_window(
        lambda x: failing(3)(x) % 2, batches, window_size=2)
    found["size fails"] = lambda: numbers(6).group_by_window(
        mod(2), batches, window_size_func=lambda k: failing(1)(k) + 1)
    found["elements fail"] = lambda: numbers(6).group_by_window(
        mod(2), lambda key, g: g.map(failing(3)), window_size=2)
    found["input fails"] = lambda: numbers(6).map(failing(2)).group_by_window(
        mod(2), batches, window_size=2)
    return elements(side, found, passes=2)


@scenario("GroupByWindowDataset DatasetCardinality")
@fresh_graph
def data_group_window_cardinalities(side):
    return cardinalities(side, windows())
