"""Cases of kernels/data/dataset_count.c."""
import numpy as np

from tests.conformance.cases.data.pipelines import (cardinalities, elements,
                                                    failing, hidden, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def n(value):
    return hidden(np.int64(value))


def makers():
    found = {}
    for count in (-2, -1, 0, 1, 3, 7, 9):
        found["take %d" % count] = lambda c=count: numbers().take(n(c))
        found["skip %d" % count] = lambda c=count: numbers().skip(n(c))
        found["repeat %d" % count] = lambda c=count: numbers(3).repeat(n(c))
        found["none %d" % count] = lambda c=count: numbers(0).repeat(n(c))
    return found


@scenario("TakeDataset SkipDataset RepeatDataset")
@fresh_graph
def data_counts(side):
    found = makers()
    found["take of repeat"] = lambda: numbers(2).repeat().take(5)
    found["skip of take"] = lambda: numbers().take(5).skip(3).repeat(2)
    return elements(side, found, passes=2)


@scenario("TakeDataset SkipDataset RepeatDataset DatasetCardinality")
@fresh_graph
def data_count_cardinalities(side):
    found = makers()
    found["repeat of filter"] = lambda: numbers().filter(
        lambda x: x > 3).repeat(2)
    found["take of for ever"] = lambda: numbers().repeat().take(5)
    found["skip of for ever"] = lambda: numbers().repeat().skip(5)
    found["take none of filter"] = lambda: numbers().filter(
        lambda x: x > 3).take(n(0))
    return cardinalities(side, found)


@scenario("TakeDataset SkipDataset RepeatDataset")
@fresh_graph
def data_counts_of_what_fails(side):
    return elements(side, {
        "take": lambda: numbers().map(failing(2)).take(4),
        "skip": lambda: numbers().map(failing(2)).skip(3),
        "repeat": lambda: numbers(4).map(failing(2)).repeat(2),
    })


SHARDS = [(3, 0), (3, 1), (3, 2), (1, 0), (10, 8), (10, 2), (0, 0), (-1, 0),
          (3, 3), (3, -1)]


@scenario("ShardDataset")
@fresh_graph
def data_shards(side):
    return elements(side, {
        "%d of %d" % (i, count): lambda c=count, i=i: numbers().shard(n(c),
                                                                      n(i))
        for count, i in SHARDS})


@scenario("ShardDataset DatasetCardinality")
@fresh_graph
def data_shard_cardinalities(side):
    return cardinalities(side, {
        "%d of %d" % (i, count): lambda c=count, i=i: numbers().shard(n(c),
                                                                      n(i))
        for count, i in SHARDS})
