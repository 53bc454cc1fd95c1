"""Cases of kernels/data_order/dataset_index_map.c."""
from tensorflow.python.data.ops import structured_function

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.cases.data_order.dataset_global_shuffle import shuffled
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def mapped(source, function, where, length=-2, types=(tf.string,),
           shapes=((),)):
    f = structured_function.StructuredFunctionWrapper(
        function, "map", dataset=source)
    g = structured_function.StructuredFunctionWrapper(
        where, "where", input_structure=tf.TensorSpec([], tf.int64))
    return made("IndexFlatMapDataset", variant(source),
                list(f.function.captured_inputs),
                list(g.function.captured_inputs),
                hidden(tf.constant(length, tf.int64)), types=types,
                shapes=shapes, map_func=f.function, index_map_func=g.function)


def texts():
    return data.from_tensor_slices(["a", "bc", ""])


def split(x):
    return tf.stack([x + "1", x + "2"])


def halves(i):
    return i // 2, i % 2


def small(i):
    return tf.cast(i // 2, tf.int32), tf.cast(i % 2, tf.uint32)


def makers():
    return {
        "plain": lambda: mapped(texts(), split, halves, 6),
        "unknown": lambda: mapped(texts(), split, halves),
        "too short a length": lambda: mapped(texts(), split, halves, 3),
        "too long a length": lambda: mapped(texts(), split, halves, 9),
        "small numbers": lambda: mapped(texts(), split, small, 6),
        "firsts": lambda: mapped(
            texts(), split, lambda i: (i, tf.constant(0, tf.int64)), 3),
        "left out": lambda: mapped(
            texts(), split, lambda i: (2 * i, tf.constant(0, tf.int64)), 3),
        "scalars": lambda: mapped(
            numbers(4), tf.as_string, lambda i: (i, i), 4),
        "none": lambda: mapped(texts().take(0), split, halves, 0),
        "captured": lambda: mapped(
            texts(), lambda x, c=hidden(tf.constant("x")): split(x) + c,
            lambda i, c=hidden(tf.constant(2, tf.int64)): (i // c, i % c), 6),
    }


@scenario("IndexFlatMapDataset")
@fresh_graph
def data_index_maps(side):
    found = makers()
    found.update({
        "shuffled": lambda: shuffled(mapped(texts(), split, halves, 6)),
        "of shuffled": lambda: mapped(shuffled(texts()), split, halves, 6),
        "shuffled scalars": lambda: shuffled(mapped(
            numbers(4), tf.as_string, lambda i: (i, i), 4)),
        "map fails": lambda: mapped(
            numbers(4), lambda x: tf.as_string(tf.fill([2], failing(1)(x))),
            halves, 8),
        "where fails": lambda: mapped(
            numbers(4), lambda x: tf.as_string(tf.fill([2], x)),
            lambda i: halves(failing(2)(i) // 10), 8),
        "input fails": lambda: mapped(
            numbers(4).map(failing(1)),
            lambda x: tf.as_string(tf.fill([2], x)), halves, 8),
        "shuffled unknown": lambda: shuffled(mapped(texts(), split, halves)),
    })
    return elements(side, found, limit=12, passes=2)


@scenario("IndexFlatMapDataset")
@fresh_graph
def data_index_maps_of_no_places(side):
    """What there was instead each says in its own words."""
    found = elements(side, {
        "one": lambda: mapped(texts(), split, lambda i: i, 6),
        "three": lambda: mapped(texts(), split, lambda i: (i, i, i), 6),
        "floats": lambda: mapped(texts(), split, lambda i: (1., 2.), 6),
    }, limit=4)
    return {key: value.split(" Got: ")[0] if isinstance(value, str) else value
            for key, value in found.items()}


@scenario("IndexFlatMapDataset DatasetCardinality")
@fresh_graph
def data_index_map_cardinalities(side):
    return cardinalities(side, makers())
