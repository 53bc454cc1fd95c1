"""Cases of kernels/data_calls/dataset_examples.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    data, elements, hidden)
from tests.conformance.cases.parse.parse_example import (BROKEN, ONE, THREE,
                                                         TWO)
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


@scenario("ParseExampleDatasetV2 DatasetCardinality")
@fresh_graph
def data_examples_cardinalities(side):
    return cardinalities(side, parses())
