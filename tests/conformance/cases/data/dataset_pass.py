"""Cases of kernels/data/dataset_pass.c."""
from tensorflow.core.framework.dataset_options_pb2 import Options as Told

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, cardinalities,
                                                    data, elements, failing,
                                                    hidden, numbers, raw,
                                                    variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def with_options(**values):
    options = tf.data.Options()
    for name, value in values.items():
        setattr(options, name, value)
    return options


class Passed(tf.data.Dataset):
    """A dataset of raw ops with the elements of its input."""

    def __init__(self, source, op, **attrs):
        self._source = source
        self._made = op(input_dataset=variant(source),
                        output_types=[tf.int64], output_shapes=[[]], **attrs)
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return [self._source]

    @property
    def element_spec(self):
        return tf.TensorSpec([], tf.int64)


@scenario("OptionsDataset ModelDataset OptimizeDataset OptimizeDatasetV2 "
          "FinalizeDataset")
@fresh_graph
def data_passes(side):
    none = tf.constant([], tf.string)
    return elements(side, {
        "options": lambda: numbers().with_options(
            with_options(deterministic=False)),
        "finalize": lambda: Passed(numbers(), raw.FinalizeDataset),
        "model": lambda: Passed(numbers(), raw.ModelDataset),
        "model of what fails": lambda: Passed(
            numbers().map(failing(2)), raw.ModelDataset),
        "optimize": lambda: Passed(numbers(), raw.OptimizeDataset,
                                   optimizations=none),
        "optimize 2": lambda: Passed(
            numbers(), raw.OptimizeDatasetV2, optimizations_enabled=none,
            optimizations_disabled=none, optimizations_default=none),
    }, passes=2)


@scenario("GetOptions OptionsDataset")
@fresh_graph
def data_options(side):
    one = with_options(deterministic=False)
    asked = answers(side, {
        name: raw.GetOptions(input_dataset=variant(d)) for name, d in {
            "none": numbers(), "one": numbers().with_options(one),
            "behind": numbers().with_options(one).map(lambda x: x).take(3),
            "same twice": numbers().with_options(one).with_options(one),
        }.items()})
    return {name: Told.FromString(value).SerializeToString()
            for name, value in asked.items()}


@scenario("OptionsDataset ModelDataset DatasetCardinality")
@fresh_graph
def data_pass_cardinalities(side):
    return cardinalities(side, {
        "options": lambda: numbers().with_options(
            with_options(deterministic=False)),
        "model": lambda: Passed(numbers(), raw.ModelDataset)})
