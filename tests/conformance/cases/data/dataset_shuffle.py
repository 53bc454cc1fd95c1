"""Cases of kernels/data/dataset_shuffle.c: TensorFlow's order for a seed."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, raw,
                                                    variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def n(value):
    return hidden(np.int64(value))


class Shuffled(tf.data.Dataset):
    """A shuffled dataset of raw ops."""

    def __init__(self, source, op, **inputs):
        self._source = source
        self._made = op(input_dataset=variant(source), output_types=[tf.int64],
                        output_shapes=[[]], **inputs)
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return [self._source]

    @property
    def element_spec(self):
        return tf.TensorSpec([], tf.int64)


def third(source, size, seed, seed2=0, again=True):
    return Shuffled(source, raw.ShuffleDatasetV3, buffer_size=n(size),
                    seed=n(seed), seed2=n(seed2),
                    seed_generator=raw.DummySeedGenerator(),
                    reshuffle_each_iteration=again)


@scenario("ShuffleDataset ShuffleDatasetV3 DummySeedGenerator")
@fresh_graph
def data_shuffles(side):
    makers = {}
    for size in (1, 2, 5, 20, 100, -2):
        for seed in (1, 7, -5):
            for again in (True, False):
                makers["%d %d %s" % (size, seed, again)] = (
                    lambda s=size, e=seed, a=again: numbers(20).shuffle(
                        n(s), seed=e, reshuffle_each_iteration=a))
                makers["third %d %d %s" % (size, seed, again)] = (
                    lambda s=size, e=seed, a=again: third(
                        numbers(20), s, e, e * 3, a))
    makers["size 0"] = lambda: numbers().shuffle(n(0), seed=1)
    makers["size -1"] = lambda: numbers().shuffle(n(-1), seed=1)
    makers["of none"] = lambda: numbers(0).shuffle(n(5), seed=1)
    makers["of what fails"] = lambda: numbers(9).map(failing(4)).shuffle(
        n(3), seed=4)
    return elements(side, makers, limit=24)


@scenario("ShuffleDataset RepeatDataset ShuffleDatasetV3")
@fresh_graph
def data_shuffles_again(side):
    """Each pass of a repeated dataset has another order, or the same."""
    makers = {}
    for again in (True, False):
        makers["first %s" % again] = lambda a=again: numbers(6).shuffle(
            n(4), seed=3, reshuffle_each_iteration=a).repeat(4)
        makers["third %s" % again] = lambda a=again: third(
            numbers(6), 4, 3, 9, a).repeat(4)
        makers["of two %s" % again] = lambda a=again: numbers(6).shuffle(
            n(4), seed=3, reshuffle_each_iteration=a).shuffle(
                n(6), seed=5).repeat(3)
    return elements(side, makers, limit=26)


@scenario("ShuffleDatasetV2 AnonymousSeedGenerator")
@fresh_graph
def data_shuffles_with_generators(side):
    def second(made):
        return Shuffled(numbers(9), raw.ShuffleDatasetV2, buffer_size=n(5),
                        seed_generator=made.handle).repeat(2)

    return elements(side, {
        "again": lambda: second(raw.AnonymousSeedGenerator(
            seed=n(3), seed2=n(4), reshuffle=True)),
        "same": lambda: second(raw.AnonymousSeedGenerator(
            seed=n(3), seed2=n(4), reshuffle=False)),
    })


@scenario("ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2")
@fresh_graph
def data_shuffle_and_repeat(side):
    makers = {}
    for size in (1, 4, 7, 30):
        for count in (1, 3, -1, 0, -2):
            makers["first %d %d" % (size, count)] = (
                lambda s=size, c=count: Shuffled(
                    numbers(7), raw.ShuffleAndRepeatDataset, buffer_size=n(s),
                    seed=n(5), seed2=n(6), count=n(c)))
            makers["second %d %d" % (size, count)] = (
                lambda s=size, c=count: Shuffled(
                    numbers(7), raw.ShuffleAndRepeatDatasetV2,
                    buffer_size=n(s), seed=n(5), seed2=n(6), count=n(c),
                    seed_generator=raw.DummySeedGenerator(),
                    reshuffle_each_iteration=size != 4))
    makers["of none"] = lambda: Shuffled(
        numbers(0), raw.ShuffleAndRepeatDataset, buffer_size=n(4), seed=n(5),
        seed2=n(6), count=n(-1))
    return elements(side, makers, limit=26)


@scenario("RandomDataset RandomDatasetV2")
@fresh_graph
def data_random_numbers(side):
    return elements(side, {
        "first": lambda: data.random(seed=4).take(9),
        "again": lambda: data.random(
            seed=4, rerandomize_each_iteration=True).take(3).repeat(3),
        "same": lambda: data.random(seed=4).take(3).repeat(3),
    })


@scenario("ShuffleDataset RandomDataset DatasetCardinality "
          "ShuffleAndRepeatDataset")
@fresh_graph
def data_shuffle_cardinalities(side):
    return cardinalities(side, {
        "shuffle": lambda: numbers().shuffle(3),
        "random": lambda: data.random(seed=4),
        "twice": lambda: Shuffled(
            numbers(7), raw.ShuffleAndRepeatDataset, buffer_size=n(3),
            seed=n(5), seed2=n(6), count=n(2)),
        "for ever": lambda: Shuffled(
            numbers(7), raw.ShuffleAndRepeatDataset, buffer_size=n(3),
            seed=n(5), seed2=n(6), count=n(-1))})


@scenario("ExperimentalRandomDataset")
@fresh_graph
def data_random_by_another_name(side):
    return elements(side, {"seeds": lambda: made(
        "ExperimentalRandomDataset", n(3), n(4))}, limit=5, passes=2)
