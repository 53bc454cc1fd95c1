"""Cases of kernels/data_order/dataset_global_shuffle.c, and of elements by
number, which datasets of other files have."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, plain, raw,
                                                    variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def shuffled(source, seed=42, again=True, seed2=7):
    spec = tf.nest.flatten(plain(source).element_spec)
    found = made("GlobalShuffleDataset", variant(plain(source)),
                 hidden(tf.constant(seed, tf.int64)),
                 hidden(tf.constant(seed2, tf.int64)),
                 raw.DummySeedGenerator(),
                 types=[getattr(s, "dtype", tf.variant) for s in spec],
                 shapes=[getattr(s, "shape", ()) for s in spec],
                 reshuffle_each_iteration=again)
    return found


def ten(x):
    return x * 10


def small(x):
    return data.range(x)


def length(d, n):
    return d.apply(tf.data.experimental.assert_cardinality(n))


MAKERS = {
    "range": lambda: numbers(10),
    "steps": lambda: data.range(10, 0, -3),
    "one": lambda: data.range(1),
    "two": lambda: data.range(2),
    "slices": lambda: data.from_tensor_slices(([1, 2, 3], list("abc"))),
    "tensors": lambda: data.from_tensors([1, 2]),
    "map": lambda: numbers(10).map(ten),
    "parallel map": lambda: numbers(10).map(ten, 2),
    "batch": lambda: numbers(10).batch(3, drop_remainder=True),
    "batch of batches": lambda: numbers(12).batch(2, True).batch(2, True),
    "take": lambda: numbers(10).take(5),
    "take all": lambda: numbers(4).take(-1),
    "skip": lambda: numbers(10).skip(4),
    "repeat": lambda: numbers(3).repeat(2),
    "shard": lambda: numbers(10).shard(3, 2),
    "zip": lambda: data.zip((numbers(4), numbers(9).map(ten))),
    "concatenate": lambda: numbers(3).concatenate(numbers(4)).concatenate(
        numbers(2).map(ten)),
    "prefetch": lambda: numbers(10).prefetch(2),
    "cache": lambda: numbers(5).cache(),
    "length": lambda: length(numbers(4), 4),
    "itself": lambda: shuffled(numbers(6), 3),
    "itself, map, prefetch": lambda: shuffled(
        shuffled(numbers(6), 3).map(ten).prefetch(1), 4),
    "all": lambda: numbers(20).map(ten).skip(2).batch(3, True).take(5).repeat(
        2).shard(2, 1).prefetch(1),
}


@scenario("GlobalShuffleDataset")
@fresh_graph
def data_global_shuffles(side):
    found = {name: lambda m=make: shuffled(m())
             for name, make in MAKERS.items()}
    found.update({
        "seeds 1 2": lambda: shuffled(numbers(9), 1, seed2=2),
        "large seeds": lambda: shuffled(numbers(9), 2 ** 40 + 3, seed2=-5),
        "same": lambda: shuffled(numbers(5), again=False).repeat(3),
        "other": lambda: shuffled(numbers(5)).repeat(3),
        "many": lambda: shuffled(data.range(70000)).take(9),
        "65537": lambda: shuffled(data.range(65537)).take(9),
        "very many": lambda: shuffled(data.range(10 ** 12)).take(9),
        "behind it": lambda: shuffled(numbers(9)).map(ten).batch(2),
        "function fails": lambda: shuffled(numbers(5).map(failing(2))),
        "no such length": lambda: shuffled(length(numbers(4), 6)).take(9),
        "with one without end": lambda: shuffled(
            numbers(3).enumerate().map(lambda n, x: x)),
    })
    return elements(side, found, passes=2)


REFUSED = {
    "batches": lambda: numbers(9).batch(2),
    "first batches": lambda: made("BatchDataset", variant(numbers(9)),
                                  hidden(tf.constant(2, tf.int64)),
                                  shapes=[[None]]),
    "parallel batches": lambda: numbers(9).batch(2, True, 2),
    "padded": lambda: numbers(9).padded_batch(2),
    "filter": lambda: numbers(9).filter(lambda x: x > 2),
    "shuffle": lambda: numbers(9).shuffle(3),
    "behind shuffle": lambda: data.zip((numbers(3), numbers(9).shuffle(
        2).map(ten).skip(1))),
    "flat map": lambda: numbers(3).flat_map(small),
    "interleave": lambda: numbers(3).interleave(small),
    "window": lambda: numbers(6).window(2),
    "unbatch": lambda: numbers(4).batch(2).unbatch(),
    "take while": lambda: numbers(4).take_while(lambda x: x < 3),
    "scan": lambda: numbers(4).scan(tf.constant(0, tf.int64),
                                    lambda s, x: (s, x)),
    "unique": lambda: numbers(4).unique(),
    "without errors": lambda: numbers(4).ignore_errors(),
    "random": lambda: tf.data.experimental.RandomDataset(seed=1),
    "for ever": lambda: numbers(4).repeat(),
    "never": lambda: numbers(4).repeat(0),
    "none": lambda: numbers(0),
    "all skipped": lambda: numbers(4).skip(5),
    "unknown length": lambda: length(numbers(4), -2),
    "choice": lambda: data.choose_from_datasets(
        [numbers(3), numbers(3)], data.range(2)),
    "groups": lambda: numbers(6).group_by_window(
        lambda x: x % 2, lambda k, d: d.batch(2), 2),
    "cache of a file": lambda: numbers(4).cache("/tmp/never"),
}


@scenario("GlobalShuffleDataset")
@fresh_graph
def data_global_shuffles_refused(side):
    return elements(side, {name: lambda m=make: shuffled(m())
                           for name, make in REFUSED.items()})


@scenario("GlobalShuffleDataset DatasetCardinality")
@fresh_graph
def data_global_shuffle_cardinalities(side):
    return cardinalities(side, {name: lambda m=make: shuffled(m())
                                for name, make in MAKERS.items()})
