"""Cases of kernels/data/dataset_reduce.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, answers,
                                                    cardinalities, elements,
                                                    failing, hidden, numbers,
                                                    plain, raw, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

ZERO = np.int64(0)


@scenario("ReduceDataset")
@fresh_graph
def data_reduces(side):
    three = hidden(np.int64(3))
    return answers(side, {
        "sum": numbers().reduce(ZERO, lambda s, x: s + x),
        "of none": numbers(0).reduce(np.int64(5), lambda s, x: s + x),
        "pair": numbers().reduce((ZERO, np.int64(1)), lambda s, x: (
            s[0] + x, s[1] * 2)),
        "captures": numbers().reduce(ZERO, lambda s, x: s + x * three),
        "of pairs": numbers().map(lambda x: (x, x)).reduce(
            ZERO, lambda s, e: s + e[0] * e[1]),
        "strings": numbers(4).reduce("", lambda s, x: s + tf.as_string(x)),
        "fails": numbers().reduce(ZERO, lambda s, x: s + failing(3)(x)),
        "of what fails": plain(numbers().map(failing(3))).reduce(
            ZERO, lambda s, x: s + x),
    })


@scenario("DatasetToSingleElement")
@fresh_graph
def data_single_elements(side):
    return answers(side, {
        "one": numbers(1).get_single_element(),
        "batch": numbers().map(lambda x: (x, tf.as_string(x))).batch(
            10).get_single_element(),
        "none": numbers(0).get_single_element(),
        "two": numbers(2).get_single_element(),
        "fails": plain(numbers(3).map(failing(0))).get_single_element(),
    })


@scenario("ReduceDataset DatasetToSingleElement MapDataset")
@fresh_graph
def data_reduces_within_functions(side):
    return elements(side, {
        "reduce": lambda: numbers(4).map(lambda x: tf.data.Dataset.range(
            x).reduce(ZERO, lambda s, y: s + y)),
        "single": lambda: numbers(4).map(lambda x: tf.data.Dataset.range(
            x, x + 1).get_single_element()),
    })


@scenario("ScanDataset")
@fresh_graph
def data_scans(side):
    return elements(side, {
        "sums": lambda: numbers().scan(ZERO, lambda s, x: (s + x, s)),
        "pairs": lambda: numbers().scan(
            (ZERO, np.int64(1)),
            lambda s, x: ((s[1], s[0] + s[1]), (x, s[0]))),
        "of none": lambda: numbers(0).scan(ZERO, lambda s, x: (s, x)),
        "fails": lambda: numbers().scan(
            ZERO, lambda s, x: (s + x, failing(3)(x))),
        "of what fails": lambda: numbers().map(failing(3)).scan(
            ZERO, lambda s, x: (s + x, s)),
    }, passes=2)


@scenario("ScanDataset DatasetCardinality")
@fresh_graph
def data_scan_cardinalities(side):
    return cardinalities(side, {
        "scan": lambda: numbers().scan(ZERO, lambda s, x: (s + x, s))})


@scenario("ExperimentalScanDataset")
@fresh_graph
def data_scans_by_another_name(side):
    return elements(side, {"sums": lambda: aliased(
        numbers(5).scan(ZERO, lambda state, x: (state + x, state * x)),
        "ExperimentalScanDataset")}, passes=2)


@scenario("GetElementAtIndex")
@fresh_graph
def data_elements_by_number(side):
    def at(source, index):
        return raw.GetElementAtIndex(
            dataset=variant(source), index=hidden(np.int64(index)),
            output_types=[tf.int64], output_shapes=[[]])
    return answers(side, {
        "first": at(numbers(5), 0), "last": at(numbers(5), 4),
        "behind": at(numbers(5), 5), "before": at(numbers(5), -1),
        "of none": at(numbers(0), 0)})
