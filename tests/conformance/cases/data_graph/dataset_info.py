"""Cases of kernels/data_graph/dataset_info.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, hidden, numbers,
                                                    raw, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("DatasetCardinality ExperimentalDatasetCardinality GetOptions")
@fresh_graph
def data_questions(side):
    d = variant(numbers())
    none = raw.OptionalNone()
    two = hidden(tf.stack([d, d]))
    return answers(side, {
        "cardinality": raw.DatasetCardinality(input_dataset=d),
        "older": raw.ExperimentalDatasetCardinality(input_dataset=d),
        "of none": raw.DatasetCardinality(input_dataset=none),
        "of two": raw.DatasetCardinality(input_dataset=two),
        "options of none": raw.GetOptions(input_dataset=none)})
