"""Cases of kernels/data/dataset_cache.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("CacheDataset CacheDatasetV2 DummyMemoryCache "
          "DummyIterationCounter")
@fresh_graph
def data_caches(side):
    return elements(side, {
        "twice": lambda: numbers(4).cache().repeat(2),
        "of random": lambda: numbers(5).shuffle(5, seed=2).cache().repeat(3),
        "random of": lambda: numbers(5).cache().shuffle(5, seed=2).repeat(3),
        "pairs": lambda: numbers(3).map(lambda x: (x, x * 2)).cache().repeat(2),
        "of none": lambda: numbers(0).cache().repeat(2),
        "part of": lambda: numbers(9).cache().take(3).repeat(2),
        "of what fails": lambda: numbers(4).map(failing(2)).cache().repeat(2),
    }, passes=2)


@scenario("CacheDataset DatasetCardinality")
@fresh_graph
def data_cache_cardinalities(side):
    return cardinalities(side, {"cache": lambda: numbers(4).cache()})
