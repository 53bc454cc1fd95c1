"""Cases of kernels/data_groups/dataset_group_reduce.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, elements,
                                                    failing, hidden, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def reduced(n, key=lambda x: x % 3, init=lambda key: np.int64(0),
            reduce=lambda state, x: state + x, finalize=lambda state: state):
    return n.apply(tf.data.experimental.group_by_reducer(
        key, tf.data.experimental.Reducer(init, reduce, finalize)))


@scenario("GroupByReducerDataset ExperimentalGroupByReducerDataset")
@fresh_graph
def data_group_reducers(side):
    ten = hidden(np.int64(10))
    return elements(side, {
        "another": lambda: aliased(reduced(numbers(5)),
                                   "ExperimentalGroupByReducerDataset"),
        "sums": lambda: reduced(numbers(10)),
        "none": lambda: reduced(numbers(0)),
        "by key": lambda: reduced(numbers(7), init=lambda key: key * ten),
        "negative": lambda: reduced(numbers(5), lambda x: 2 - x),
        "two states": lambda: reduced(
            numbers(9), init=lambda key: (key, 0.5),
            reduce=lambda state, x: (state[0] + x, state[1] * 2),
            finalize=lambda a, b: {"a": a, "b": tf.as_string(b)}),
        "key fails": lambda: reduced(numbers(5),
                                     lambda x: failing(3)(x) % 3),
        "init fails": lambda: reduced(numbers(5), init=failing(2)),
        "reduce fails": lambda: reduced(
            numbers(6), reduce=lambda state, x: state + failing(4)(x)),
        "finalize fails": lambda: reduced(numbers(5), finalize=failing(5)),
        "input fails": lambda: reduced(numbers(5).map(failing(2))),
    }, passes=2)
