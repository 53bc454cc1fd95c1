"""Cases of kernels/data_order/dataset_limits.c."""
import numpy as np

from tests.conformance.cases.data.pipelines import (cardinalities, elements,
                                                    failing, hidden, made,
                                                    numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def limited(op, value, n=None):
    return made(op, variant(numbers(3) if n is None else n),
                hidden(np.int64(value)))


def asserted(value, n=None):
    return limited("AssertCardinalityDataset", value, n)


def ignoring(n, op="IgnoreErrorsDataset"):
    return made(op, variant(n))


@scenario("IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset")
@fresh_graph
def data_ignored_errors(side):
    return elements(side, {
        "one": lambda: ignoring(numbers(5).map(failing(2))),
        "last": lambda: ignoring(numbers(5).map(failing(4))),
        "two": lambda: ignoring(numbers(5).map(failing(0)).map(failing(30))),
        "none": lambda: ignoring(numbers(0)),
        "no failure": lambda: ignoring(numbers(3),
                                       "ExperimentalIgnoreErrorsDataset")},
                    passes=2)


@scenario("AssertCardinalityDataset")
@fresh_graph
def data_asserted(side):
    found = {str(n): lambda n=n: asserted(n) for n in (3, 4, 2, 1, -1)}
    found["none"] = lambda: asserted(0, numbers(0))
    found["one of none"] = lambda: asserted(1, numbers(0))
    found["what fails"] = lambda: asserted(3, numbers(3).map(failing(1)))
    found["vector"] = lambda: asserted([3])
    return elements(side, found, limit=5)


@scenario("SleepDataset MaxIntraOpParallelismDataset PrivateThreadPoolDataset "
          "ExperimentalSleepDataset ExperimentalMaxIntraOpParallelismDataset "
          "ExperimentalPrivateThreadPoolDataset")
@fresh_graph
def data_threads(side):
    found = {}
    for name in ("MaxIntraOpParallelismDataset", "PrivateThreadPoolDataset"):
        for op in (name, "Experimental" + name):
            for value in (-1, 0, 2):
                found["%s %d" % (op, value)] = (
                    lambda o=op, v=value: limited(o, v))
        found[name + " fails"] = lambda o=name: limited(
            o, 1, numbers(3).map(failing(1)))
    for op in ("SleepDataset", "ExperimentalSleepDataset"):
        found[op] = lambda o=op: limited(o, 10)
    return elements(side, found)


@scenario("IgnoreErrorsDataset AssertCardinalityDataset SleepDataset "
          "MaxIntraOpParallelismDataset DatasetCardinality")
@fresh_graph
def data_limits_cardinalities(side):
    return cardinalities(side, {
        "ignoring": lambda: ignoring(numbers(3)),
        "ignoring none": lambda: ignoring(numbers(0)),
        "ignoring for ever": lambda: ignoring(numbers(3).repeat()),
        "asserted": lambda: asserted(7), "asserted -1": lambda: asserted(-1),
        "sleep": lambda: limited("SleepDataset", 1),
        "threads": lambda: limited("MaxIntraOpParallelismDataset", 1)})
