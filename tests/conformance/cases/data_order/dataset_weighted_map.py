"""Cases of kernels/data_order/dataset_weighted_map.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.cases.data_order.dataset_global_shuffle import shuffled
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def weighted(sources, weights):
    return made("WeightedFlatMapDataset", [variant(d) for d in sources],
                [hidden(tf.constant(w, tf.float64)) for w in weights])


def makers():
    return {
        "alike": lambda: weighted([numbers(4), data.range(10, 14)], [1., 1.]),
        "one is short": lambda: weighted(
            [numbers(10), data.range(100, 110), data.range(200, 210)],
            [.2, .3, .5]),
        "half": lambda: weighted([numbers(9), data.range(10, 20)], [1., .5]),
        "tenths": lambda: weighted([numbers(7), numbers(7)], [.1, .7]),
        "none": lambda: weighted([numbers(0), numbers(7)], [1., 1.]),
        "repeated": lambda: weighted([numbers(2), numbers(3)],
                                     [1., 1.]).repeat(2),
        "of others": lambda: weighted(
            [numbers(10).map(lambda x: x * 2).batch(1).unbatch().apply(
                tf.data.experimental.assert_cardinality(10)),
             numbers(10).shard(2, 1)], [1., 1.]),
    }


@scenario("WeightedFlatMapDataset")
@fresh_graph
def data_weighted_maps(side):
    found = makers()
    found.update({
        "too few": lambda: weighted(
            [numbers(10), numbers(10), numbers(5)], [.25, .25, .5]),
        "three weights": lambda: weighted([numbers(3), numbers(3)],
                                          [1., 1., 1.]),
        "zero": lambda: weighted([numbers(3), numbers(3)], [0., 1.]),
        "negative": lambda: weighted([numbers(3), numbers(3)], [1., -.5]),
        "for ever": lambda: weighted([numbers(3).repeat(), numbers(3)],
                                     [1., 1.]),
        "unknown": lambda: weighted(
            [numbers(3), numbers(3).filter(lambda x: x > 0)], [1., 1.]),
        "other types": lambda: weighted(
            [numbers(3), data.from_tensors(1.)], [1., 1.]),
        "fails": lambda: weighted([numbers(4).map(failing(1)), numbers(4)],
                                  [1., 1.]),
        "shuffled": lambda: shuffled(weighted([numbers(4), numbers(4)],
                                              [1., 1.])),
    })
    return elements(side, found, passes=2)


@scenario("WeightedFlatMapDataset DatasetCardinality")
@fresh_graph
def data_weighted_map_cardinalities(side):
    return cardinalities(side, makers())
