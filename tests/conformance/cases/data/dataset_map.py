"""Cases of kernels/data/dataset_map.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    elements, failing, hidden,
                                                    numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def nested(x):
    return {"a": x, "b": (x * 2, tf.as_string(x))}


@tf.function(autograph=False)
def called(x):
    return x * x + 1


def looping(x):
    return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i),
                         [tf.constant(0, tf.int64), tf.constant(0, tf.int64)])


@scenario("MapDataset")
@fresh_graph
def data_maps(side):
    three = hidden(tf.constant(3, tf.int64))
    table = tf.constant(["a", "bb", "ccc"])
    return elements(side, {
        "squares": lambda: numbers().map(lambda x: x * x),
        "nested": lambda: numbers().map(nested),
        "of nested": lambda: numbers().map(nested).map(
            lambda e: e["a"] + e["b"][0]),
        "captures": lambda: numbers().map(lambda x: x * three),
        "captures strings": lambda: numbers(3).map(
            lambda x: tf.gather(table, x)),
        "calls": lambda: numbers().map(lambda x: called(called(x))),
        "loops": lambda: numbers().map(looping),
        "branches": lambda: numbers().map(
            lambda x: tf.cond(x > 3, lambda: x * 2, lambda: x - 1)),
        "fails": lambda: numbers().map(failing(3)),
        "fails first": lambda: numbers().map(failing(0)),
        "fails last": lambda: numbers().map(failing(6)),
        "of none": lambda: numbers(0).map(lambda x: x + 1),
        "constant": lambda: numbers(3).map(lambda x: tf.constant([1, 2])),
        "same": lambda: numbers(3).map(lambda x: x),
        "twice": lambda: numbers(3).map(lambda x: (x, x)),
        "map of map": lambda: numbers().map(lambda x: x + 1).map(
            lambda x: tf.fill([x], x)),
        "reduces": lambda: numbers(4).map(
            lambda x: tf.reduce_sum(tf.range(x))),
    }, passes=2)


@scenario("FilterDataset")
@fresh_graph
def data_filters(side):
    wanted = hidden(tf.constant([True, False, True]))
    return elements(side, {
        "odd": lambda: numbers().filter(lambda x: x % 2 == 1),
        "all": lambda: numbers().filter(lambda x: x >= 0),
        "none": lambda: numbers().filter(lambda x: x < 0),
        "of none": lambda: numbers(0).filter(lambda x: x > 1),
        "captured": lambda: numbers(3).filter(lambda x: tf.gather(wanted, x)),
        "pairs": lambda: numbers().map(lambda x: (x, x * x)).filter(
            lambda x, y: y > 9),
        "fails": lambda: numbers().filter(lambda x: failing(2)(x) > 10),
        "vector": lambda: numbers().filter(
            lambda x: tf.reshape(hidden([True, True]), [])),
    }, passes=2)


@scenario("TakeWhileDataset")
@fresh_graph
def data_take_while(side):
    def take(dataset, function):
        return dataset.apply(tf.data.experimental.take_while(function))

    return elements(side, {
        "to 4": lambda: take(numbers(), lambda x: x < 4),
        "all": lambda: take(numbers(), lambda x: x < 40),
        "none": lambda: take(numbers(), lambda x: x < 0),
        "of none": lambda: take(numbers(0), lambda x: x < 4),
        "fails": lambda: take(numbers(), lambda x: failing(2)(x) < 100),
    }, passes=2)


@scenario("MapDataset FilterDataset TakeWhileDataset DatasetCardinality")
@fresh_graph
def data_map_cardinalities(side):
    return cardinalities(side, {
        "map": lambda: numbers().map(lambda x: x + 1),
        "map of for ever": lambda: numbers().repeat().map(lambda x: x + 1),
        "filter": lambda: numbers().filter(lambda x: x > 1),
        "take_while": lambda: numbers().apply(
            tf.data.experimental.take_while(lambda x: x < 4))})


@scenario("ParallelFilterDataset ExperimentalTakeWhileDataset")
@fresh_graph
def data_filters_in_parallel(side):
    """TensorFlow's own kernel yields nothing in a session, and hangs without
    calls: what it rewrites into this op, a filter, says what is right."""
    def parallel_filter(source, predicate, calls=2):
        made = source.filter(predicate)
        if not side.target:
            return made
        return aliased(made, "ParallelFilterDataset",
                       hidden(tf.constant(calls, tf.int64)))
    out = elements(side, {
        "odd": lambda: parallel_filter(numbers(9), lambda x: x % 2 == 1),
        "none left": lambda: parallel_filter(numbers(5), lambda x: x > 9, -1),
        "none": lambda: parallel_filter(numbers(0), lambda x: x > 9),
        "input fails": lambda: parallel_filter(
            numbers(5).map(failing(1)), lambda x: x > 2),
        "function fails": lambda: parallel_filter(
            numbers(5), lambda x: failing(3)(x) > 2),
        "many": lambda: parallel_filter(
            numbers(30), lambda x: x % 3 == 0, 5),
        "far more": lambda: parallel_filter(
            numbers(9), lambda x: x % 3 == 0, 100),
        "one at a time": lambda: parallel_filter(
            numbers(9), lambda x: x % 3 == 0, 1),
        "pairs": lambda: parallel_filter(
            numbers(9).map(lambda x: (x, tf.as_string(x))),
            lambda x, s: x % 2 == 0, 3),
        "take": lambda: aliased(numbers(5).take_while(lambda x: x < 3),
                                "ExperimentalTakeWhileDataset")}, passes=2)
    return {name: value.replace("ParallelFilter", "Filter")
            if isinstance(value, str) else value
            for name, value in out.items()}
