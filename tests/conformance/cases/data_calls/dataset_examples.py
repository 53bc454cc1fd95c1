"""Cases of kernels/data_calls/dataset_examples.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    data, elements, hidden)
from tests.conformance.cases.parse.parse_example import (BROKEN, ONE, THREE,
                                                         TWO, example)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

FIXED, ANY = tf.io.FixedLenFeature, tf.io.VarLenFeature
DENSE = {"b": FIXED([], tf.float32, 9.0), "a": FIXED([3], tf.int64, [1, 2, 3])}


def parsed(examples, features, batch=2, **more):
    found = data.from_tensor_slices(hidden(np.array(examples, object)))
    return found.batch(batch).apply(tf.data.experimental.parse_example_dataset(
        features, **more))


def parts(made):
    """Sparse tensors as dense ones, which a session can fetch."""
    return made.map(lambda found: {
        key: (value.indices, value.values, value.dense_shape)
        if isinstance(value, tf.SparseTensor) else value
        for key, value in found.items()})


def parses():
    return {
        "dense": lambda: parsed([ONE, TWO, b""], DENSE),
        "padded": lambda: parsed(
            [ONE, TWO, THREE], {"d": tf.io.FixedLenSequenceFeature(
                [], tf.float32, allow_missing=True)}),
        "sparse": lambda: parts(parsed(
            [ONE, TWO, THREE], {"c": ANY(tf.string), "a": ANY(tf.int64)})),
        "both": lambda: parts(parsed(
            [ONE, TWO], dict(DENSE, c=ANY(tf.string)), num_parallel_calls=2)),
        "none": lambda: parsed([], DENSE),
    }


@scenario("ParseExampleDatasetV2 ParseExampleDataset "
          "ExperimentalParseExampleDataset")
@fresh_graph
def data_examples(side):
    found = parses()
    for op in ("ParseExampleDataset", "ExperimentalParseExampleDataset"):
        found[op] = lambda o=op: aliased(parsed([ONE, TWO, b""], DENSE), o)
    found["required"] = lambda: parsed(
        [ONE, TWO], {"a": FIXED([3], tf.int64)}, 1)
    found["type"] = lambda: parsed([TWO, ONE], {"a": FIXED(
        [3], tf.float32, [1.0] * 3)}, 1)
    found["count"] = lambda: parsed([TWO, ONE, TWO], {"a": FIXED(
        [2], tf.int64, [1, 2])}, 1)
    for name, broken in BROKEN.items():
        found[name] = lambda b=broken: parsed([TWO, b, ONE], DENSE, 1)
    return elements(side, found, passes=2)


def numbered(count, broken=(), **more):
    """Vectors of one example each, with their number in it."""
    examples = [example(a=[i, i + 1, 2 * i], b=[float(i)])
                for i in range(count)]
    for i in broken:
        examples[i] = b"abc"
    return parsed(examples, DENSE, 1, **more)


def failing(count, at):
    """Whose input has a failure at this place."""
    checked = data.range(count).map(lambda i: tf.debugging.check_numerics(
        tf.where(tf.equal(i, at), float("nan"), 1.0), "no number"))
    made = checked.map(lambda x: tf.fill([2], tf.where(x > 0, ONE, b"")))
    return made.apply(tf.data.experimental.parse_example_dataset(
        DENSE, num_parallel_calls=4))


def sorted_floats(found):
    return tf.sort(tf.reshape(found, [-1]))


@scenario("ParseExampleDatasetV2")
@fresh_graph
def data_examples_ahead(side):
    """Several vectors at once: what they give is in their order."""
    auto = tf.data.AUTOTUNE
    return elements(side, {
        "many": lambda: numbered(100, num_parallel_calls=7),
        "auto": lambda: numbered(40, num_parallel_calls=auto),
        "more than there are": lambda: numbered(3, num_parallel_calls=5000),
        "broken": lambda: numbered(20, (0, 7, 8, 19), num_parallel_calls=4),
        "broken alone": lambda: numbered(6, (2,)),
        "input": lambda: failing(9, 4),
        "part": lambda: numbered(50, num_parallel_calls=8).take(3),
        "deterministic": lambda: numbered(
            30, num_parallel_calls=8, deterministic=True),
        "not": lambda: numbered(30, num_parallel_calls=8, deterministic=False)
        .map(lambda found: found["b"]).batch(30).map(sorted_floats),
        "no calls": lambda: numbered(3, num_parallel_calls=0),
        "negative": lambda: numbered(3, num_parallel_calls=-2),
    }, passes=2)


@scenario("ParseExampleDatasetV2 DatasetCardinality")
@fresh_graph
def data_examples_cardinalities(side):
    return cardinalities(side, parses())
