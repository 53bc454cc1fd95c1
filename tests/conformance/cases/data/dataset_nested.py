"""Cases of kernels/data/dataset_nested.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def inner(x):
    return data.range(x * 10, x * 10 + x)


def pairs(x):
    return data.range(3).map(lambda y: (x, y))


def bad_inner(x):
    return data.range(3).map(lambda y: failing(2)(y) + x)


def bad_outer(x):
    return data.range(failing(2)(x))


@scenario("FlatMapDataset")
@fresh_graph
def data_flat_maps(side):
    return elements(side, {
        "ranges": lambda: numbers(5).flat_map(inner),
        "pairs": lambda: numbers(3).flat_map(pairs),
        "of none": lambda: numbers(0).flat_map(inner),
        "nested": lambda: numbers(3).flat_map(
            lambda x: data.range(x).flat_map(inner)),
        "fails inside": lambda: numbers(3).flat_map(bad_inner),
        "fails": lambda: numbers(4).flat_map(bad_outer),
        "batches": lambda: numbers(4).flat_map(
            lambda x: data.from_tensors(x).repeat(3).batch(2)),
    }, passes=2)


@scenario("InterleaveDataset")
@fresh_graph
def data_interleaves(side):
    makers = {}
    for cycle in (1, 2, 3, 9, 0, -2):
        for block in (1, 2, 5, 0):
            makers["%d %d" % (cycle, block)] = lambda c=cycle, b=block: (
                numbers(6).interleave(inner, cycle_length=c, block_length=b))
    makers["fails inside"] = lambda: numbers(3).interleave(bad_inner, 2)
    makers["fails"] = lambda: numbers(4).interleave(bad_outer, 2)
    makers["of none"] = lambda: numbers(0).interleave(inner, 2)
    return elements(side, makers)


@scenario("ParallelInterleaveDatasetV4")
@fresh_graph
def data_parallel_interleaves(side):
    makers = {}
    for cycle in (1, 2, 3, 9):
        for block in (1, 2, 5):
            makers["%d %d" % (cycle, block)] = lambda c=cycle, b=block: (
                numbers(6).interleave(inner, cycle_length=c, block_length=b,
                                      num_parallel_calls=2))
    makers["of none"] = lambda: numbers(0).interleave(
        inner, 2, num_parallel_calls=2)
    return elements(side, makers)


@scenario("FlatMapDataset InterleaveDataset DatasetCardinality")
@fresh_graph
def data_nested_cardinalities(side):
    return cardinalities(side, {
        "flat_map": lambda: numbers(5).flat_map(inner),
        "interleave": lambda: numbers(5).interleave(inner, 2)})
