"""Cases of kernels/data/dataset_prefetch.c."""
import numpy as np

from tests.conformance.cases.data.pipelines import (cardinalities, elements,
                                                    failing, hidden, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("PrefetchDataset")
@fresh_graph
def data_prefetches(side):
    makers = {}
    for size in (-2, -1, 0, 1, 3, 100):
        makers[str(size)] = lambda s=size: numbers().prefetch(
            hidden(np.int64(s)))
        makers["what fails %d" % size] = lambda s=size: numbers().map(
            failing(3)).prefetch(hidden(np.int64(s)))
    makers["of none"] = lambda: numbers(0).prefetch(2)
    makers["of prefetch"] = lambda: numbers().prefetch(2).batch(2).prefetch(1)
    makers["for ever"] = lambda: numbers(3).repeat().prefetch(2).take(10)
    return elements(side, makers, passes=2)


@scenario("PrefetchDataset DatasetCardinality")
@fresh_graph
def data_prefetch_cardinalities(side):
    return cardinalities(side, {"prefetch": lambda: numbers().prefetch(2)})
