"""Cases of kernels/data/dataset_nested.c."""
from tensorflow.python.data.ops import dataset_ops, structured_function

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, cardinalities,
                                                    data, elements, failing,
                                                    numbers)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def inner(x):
    return data.range(x * 10, x * 10 + x)


def pairs(x):
    return data.range(3).map(lambda y: (x, y))


def bad_inner(x):
    return data.range(3).map(lambda y: failing(2)(y) + x)


def bad_outer(x):
    return data.range(failing(2)(x))


@scenario("FlatMapDataset")
@fresh_graph
def data_flat_maps(side):
    return elements(side, {
        "ranges": lambda: numbers(5).flat_map(inner),
        "pairs": lambda: numbers(3).flat_map(pairs),
        "of none": lambda: numbers(0).flat_map(inner),
        "nested": lambda: numbers(3).flat_map(
            lambda x: data.range(x).flat_map(inner)),
        "fails inside": lambda: numbers(3).flat_map(bad_inner),
        "fails": lambda: numbers(4).flat_map(bad_outer),
        "batches": lambda: numbers(4).flat_map(
            lambda x: data.from_tensors(x).repeat(3).batch(2)),
    }, passes=2)


@scenario("InterleaveDataset")
@fresh_graph
def data_interleaves(side):
    makers = {}
    for cycle in (1, 2, 3, 9, 0, -2):
        for block in (1, 2, 5, 0):
            makers["%d %d" % (cycle, block)] = lambda c=cycle, b=block: (
                numbers(6).interleave(inner, cycle_length=c, block_length=b))
    makers["fails inside"] = lambda: numbers(3).interleave(bad_inner, 2)
    makers["fails"] = lambda: numbers(4).interleave(bad_outer, 2)
    makers["of none"] = lambda: numbers(0).interleave(inner, 2)
    return elements(side, makers)


@scenario("ParallelInterleaveDatasetV4")
@fresh_graph
def data_parallel_interleaves(side):
    makers = {}
    for cycle in (1, 2, 3, 9):
        for block in (1, 2, 5):
            makers["%d %d" % (cycle, block)] = lambda c=cycle, b=block: (
                numbers(6).interleave(inner, cycle_length=c, block_length=b,
                                      num_parallel_calls=2))
    makers["of none"] = lambda: numbers(0).interleave(
        inner, 2, num_parallel_calls=2)
    return elements(side, makers)


class Older(dataset_ops.UnaryDataset):
    """An interleave of one of the op's older forms, which programs that were
    saved earlier name."""

    def __init__(self, source, op, cycle, block, function=inner, **attributes):
        wrapped = structured_function.StructuredFunctionWrapper(
            function, "older", dataset=source)
        self.spec = wrapped.output_structure._element_spec
        super().__init__(source, op(
            input_dataset=source._variant_tensor,
            other_arguments=wrapped.function.captured_inputs,
            cycle_length=tf.constant(cycle, tf.int64),
            block_length=tf.constant(block, tf.int64),
            num_parallel_calls=tf.constant(2, tf.int64), f=wrapped.function,
            output_types=[self.spec.dtype], output_shapes=[self.spec.shape],
            **attributes))

    @property
    def element_spec(self):
        return self.spec


def older(side, op, attributes):
    makers = {"%s %d %d" % (of, cycle, block): lambda a=a, c=cycle, b=block: (
        Older(numbers(6), op, c, b, **a))
              for of, a in attributes.items()
              for cycle in (1, 3, 9) for block in (1, 2)}
    for cycle, block in ((0, 1), (1, 0), (-3, 1), (1, -1)):
        makers["bad %d %d" % (cycle, block)] = lambda c=cycle, b=block: (
            Older(numbers(6), op, c, b))
    makers["of none"] = lambda: Older(numbers(0), op, 2, 1)
    makers["fails inside"] = lambda: Older(numbers(3), op, 1, 1, bad_inner)
    makers["fails"] = lambda: Older(numbers(4), op, 1, 1, bad_outer)
    return elements(side, makers)


@scenario("ParallelInterleaveDatasetV2")
@fresh_graph
def data_parallel_interleaves_v2(side):
    return older(side, tf.raw_ops.ParallelInterleaveDatasetV2,
                 {"default": {}, "ordered": {"sloppy": False}})


@scenario("ParallelInterleaveDatasetV3")
@fresh_graph
def data_parallel_interleaves_v3(side):
    return older(side, tf.raw_ops.ParallelInterleaveDatasetV3,
                 {"default": {}, "ordered": {"deterministic": "true"}})


@scenario("FlatMapDataset InterleaveDataset DatasetCardinality")
@fresh_graph
def data_nested_cardinalities(side):
    return cardinalities(side, {
        "flat_map": lambda: numbers(5).flat_map(inner),
        "interleave": lambda: numbers(5).interleave(inner, 2)})


LEGACY = ("ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset",
          "LegacyParallelInterleaveDatasetV2")


def legacy(source, function, cycle, block=1, buffer=2, prefetch=1,
           op=LEGACY[0]):
    more = [tf.constant(size, tf.int64) for size in (buffer, prefetch)]
    if "V2" not in op:
        more.insert(0, tf.constant(False))
    return aliased(source.interleave(function, cycle_length=cycle,
                                     block_length=block), op, *more)


@scenario(" ".join(LEGACY))
@fresh_graph
def data_legacy_interleaves(side):
    found = {}
    for op in LEGACY:
        # Where a place of the cycle is over and others are not, TensorFlow's
        # order is that of its threads.
        for cycle, block in ((1, 1), (1, 2)):
            found["%s %d %d" % (op, cycle, block)] = (
                lambda o=op, c=cycle, b=block: legacy(
                    numbers(5), inner, c, b, op=o))
        for cycle, block in ((2, 1), (4, 2), (2, 4)):
            found["%s even %d %d" % (op, cycle, block)] = (
                lambda o=op, c=cycle, b=block: legacy(
                    numbers(4), lambda x: data.range(x * 10, x * 10 + 4), c,
                    b, op=o))
    found["none"] = lambda: legacy(numbers(0), inner, 2)
    found["cycle 0"] = lambda: legacy(numbers(2), inner, 0)
    found["block 0"] = lambda: legacy(numbers(2), inner, 2, 0)
    found["buffer 0"] = lambda: legacy(numbers(2), inner, 2, 1, 0)
    found["prefetch -2"] = lambda: legacy(numbers(2), inner, 2, 1, 1, -2)
    return elements(side, found, limit=20)
