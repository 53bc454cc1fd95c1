"""Cases of kernels/data_order/dataset_branch.c."""
import numpy as np
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.data.ops import structured_function

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def wrapped(branch, spec):
    """A function of a dataset as a node's attribute needs it."""
    def call(d):
        return branch(d)
    return structured_function.StructuredFunctionWrapper(
        call, "branch", input_structure=dataset_ops.DatasetSpec(spec))


def choose(source, branches, ratio=(1, 1), tried=2, shape=(), dtype=tf.int64,
           lengths=None):
    found = [wrapped(b, source.element_spec) for b in branches]
    captured = [list(f.function.captured_inputs) for f in found]
    attrs = {"num_elements_per_branch": tried,
             "branches": [f.function for f in found],
             "other_arguments_lengths": [len(c) for c in captured]
             if lengths is None else lengths}
    return made("ChooseFastestBranchDataset", variant(source),
                hidden(np.int64(ratio[0])), hidden(np.int64(ratio[1])),
                sum(captured, []), shapes=(shape,), types=(dtype,), **attrs)


def ten(d):
    return d.map(lambda x: x * 10)


def ten_ahead(d):
    return d.map(lambda x: x * 10, 2)


def ten_by_sum(d):
    c = hidden(tf.constant(9, tf.int64))
    return d.map(lambda x: x + x * c)


def makers():
    return {
        "two": lambda: choose(numbers(9), [ten, ten_ahead]),
        "three": lambda: choose(numbers(20), [ten, ten_ahead, ten]),
        "one": lambda: choose(numbers(5), [ten]),
        "prefetch": lambda: choose(numbers(9), [
            ten, lambda d: ten(d).prefetch(1)]),
        "batches": lambda: choose(numbers(20), [
            lambda d: ten(d).batch(2), lambda d: d.batch(2).map(
                lambda x: x * 10)], (2, 1), 2, (None,)),
        "unbatched": lambda: choose(numbers(12).batch(2), [
            lambda d: d.unbatch(), lambda d: d.flat_map(
                data.from_tensor_slices)], (1, 2), 4),
        "captured": lambda: choose(numbers(9), [ten, ten_by_sum]),
        "few": lambda: choose(numbers(3), [ten, ten_ahead]),
        "none": lambda: choose(numbers(0), [ten, ten_ahead]),
        "one each": lambda: choose(numbers(6), [ten, ten_ahead], tried=1),
        "many each": lambda: choose(numbers(6), [ten, ten_ahead], tried=50),
        "repeated": lambda: choose(numbers(5), [ten, ten_ahead]).repeat(2),
    }


@scenario("ChooseFastestBranchDataset")
@fresh_graph
def data_branches(side):
    found = makers()
    found.update({
        "numerator 0": lambda: choose(numbers(5), [ten, ten], (0, 1)),
        "denominator 0": lambda: choose(numbers(5), [ten, ten], (1, 0)),
        "not a divisor": lambda: choose(numbers(5), [ten, ten], (1, 3)),
        "input repeats": lambda: choose(numbers(5), [
            lambda d: d.repeat(2), lambda d: d.repeat(2)]),
        "branch fails": lambda: choose(numbers(9), [
            lambda d: d.map(failing(1)), ten]),
        "input fails": lambda: choose(numbers(9).map(failing(2)), [ten, ten]),
        "lengths": lambda: choose(numbers(5), [ten, ten], lengths=[0]),
    })
    return elements(side, found, passes=2)


@scenario("ChooseFastestBranchDataset DatasetCardinality")
@fresh_graph
def data_branch_cardinalities(side):
    return cardinalities(side, makers())
