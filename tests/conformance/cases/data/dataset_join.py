"""Cases of kernels/data/dataset_join.c."""
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def makers():
    return {
        "zip": lambda: data.zip((numbers(3), numbers(5))),
        "zip of three": lambda: data.zip(
            (numbers(4), {"a": numbers(3), "b": numbers(9)})),
        "zip with none": lambda: data.zip((numbers(3), numbers(0))),
        "zip with for ever": lambda: data.zip(
            (numbers(2).repeat(), numbers(5))),
        "zip with filter": lambda: data.zip(
            (numbers(), numbers().filter(lambda x: x > 2))),
        "concatenate": lambda: numbers(3).concatenate(numbers(2)),
        "concatenate three": lambda: numbers(2).concatenate(
            numbers(0)).concatenate(numbers(1)),
        "concatenate none": lambda: numbers(0).concatenate(numbers(0)),
        "concatenate filter": lambda: numbers(3).concatenate(
            numbers().filter(lambda x: x > 4)),
    }


@scenario("ZipDataset ConcatenateDataset")
@fresh_graph
def data_joins(side):
    found = makers()
    found["zip of what fails"] = lambda: data.zip(
        (numbers(4).map(failing(1)), numbers(4).map(failing(2))))
    found["concatenate what fails"] = lambda: numbers(3).map(
        failing(1)).concatenate(numbers(3).map(failing(0)))
    return elements(side, found, passes=2)


@scenario("ZipDataset ConcatenateDataset DatasetCardinality")
@fresh_graph
def data_join_cardinalities(side):
    found = makers()
    found["zip for ever"] = lambda: data.zip(
        (numbers(2).repeat(), numbers(5).repeat()))
    found["concatenate for ever"] = lambda: numbers(2).concatenate(
        numbers(5).repeat())
    return cardinalities(side, found)
