"""Cases of kernels/data_order/dataset_select.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

TWO = ("DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset")


def chosen(*order):
    return data.from_tensor_slices(hidden(np.array(order, np.int64)))


def directed(selector, inputs, op=TWO[0], **attrs):
    return made(op, variant(selector), [variant(i) for i in inputs], **attrs)


def from_other(n):
    return numbers(n).map(lambda x: x + 10)


def choices():
    order = 0, 1, 0, 1, 1, 1, 0, 0, 1
    return {
        "two": lambda: directed(chosen(*order), [numbers(2), from_other(3)]),
        "stop": lambda: directed(chosen(*order), [numbers(2), from_other(3)],
                                 stop_on_empty_dataset=True),
        "one": lambda: directed(chosen(0, 0, 0), [numbers(2)]),
        "empty": lambda: directed(chosen(), [numbers(2), numbers(2)]),
        "of nothing": lambda: directed(chosen(1, 0, 1),
                                       [numbers(0), numbers(2)]),
        "for ever": lambda: directed(chosen(0, 1).repeat(),
                                     [numbers(2), from_other(3).repeat()]),
        "all for ever": lambda: directed(chosen(0, 1), [
            numbers(2).repeat(), from_other(3).repeat()]),
        "sample": lambda: data.sample_from_datasets(
            [numbers(5), from_other(5)], weights=[0.3, 0.7], seed=5),
        "choose": lambda: data.choose_from_datasets(
            [numbers(5), from_other(5)], chosen(1, 0, 1)),
    }


@scenario("DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset "
          "RewriteDataset")
@fresh_graph
def data_directed(side):
    found = choices()
    found["another"] = lambda: directed(chosen(0, 1, 1), [
        numbers(2), from_other(3)], TWO[1])
    found["outside"] = lambda: directed(chosen(0, 5, 1, -1, 0),
                                        [numbers(2), from_other(3)])
    found["what fails"] = lambda: directed(
        chosen(0, 1, 0, 1, 0), [numbers(5).map(failing(1)), from_other(3)])
    found["numbers fail"] = lambda: directed(
        chosen(0, 1, 0, 1).map(failing(1)).map(lambda x: x // 10),
        [numbers(5), from_other(3)])
    found["numbers of floats"] = lambda: directed(
        data.from_tensors(hidden(1.0)), [numbers(2), numbers(3)])
    found["vectors"] = lambda: directed(
        data.from_tensors(np.int64([0])), [numbers(2), numbers(3)])
    found["two types"] = lambda: directed(
        chosen(0, 1), [numbers(2), data.from_tensors(hidden(1.0))])
    return elements(side, found, passes=2)


def sampled(n, rate, seeds=(3, 7)):
    return made("SamplingDataset", variant(n), hidden(np.float32(rate)),
                hidden(np.int64(seeds[0])), hidden(np.int64(seeds[1])))


@scenario("SamplingDataset")
@fresh_graph
def data_sampling(side):
    found = {"rate %s" % rate: lambda r=rate: sampled(numbers(20), r)
             for rate in (0.5, 0, 1, -1, 2, 0.05)}
    found["another seed"] = lambda: sampled(numbers(20), 0.5, (0, 1))
    found["what fails"] = lambda: sampled(numbers(9).map(failing(2)), 1)
    found["none"] = lambda: sampled(numbers(0), 0.5)
    found["vector"] = lambda: sampled(numbers(3), [0.5])
    return elements(side, found, passes=2)


def fastest(*inputs, op="ChooseFastestDataset"):
    return made(op, [variant(i) for i in inputs], num_experiments=2)


@scenario("ChooseFastestDataset ExperimentalChooseFastestDataset")
@fresh_graph
def data_fastest(side):
    return elements(side, {
        "equal": lambda: fastest(numbers(4), numbers(4)),
        "three": lambda: fastest(numbers(4), numbers(4), numbers(4),
                                 op="ExperimentalChooseFastestDataset"),
        "none": lambda: fastest(numbers(0), numbers(0)),
        "lengths": lambda: fastest(numbers(4), numbers(5)),
        "types": lambda: fastest(numbers(4), data.from_tensors(hidden(1.0))),
        "what fails": lambda: fastest(numbers(4).map(failing(1)),
                                      numbers(4).map(failing(1)))})


@scenario("DirectedInterleaveDataset SamplingDataset ChooseFastestDataset "
          "DatasetCardinality")
@fresh_graph
def data_select_cardinalities(side):
    found = choices()
    found["sampling"] = lambda: sampled(numbers(3), 1)
    found["fastest"] = lambda: fastest(numbers(3), numbers(3))
    found["fastest of unknown"] = lambda: fastest(
        numbers(3).filter(lambda x: x > 0), numbers(3))
    return cardinalities(side, found)
