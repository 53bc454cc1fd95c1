"""Cases of kernels/data/dataset_window.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, numbers, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def n(value):
    return hidden(np.int64(value))


def windows(source, size, shift, stride, drop):
    return source.window(n(size), n(shift), n(stride), hidden(drop))


SHAPES = [(3, 3, 1), (3, 1, 1), (2, 4, 1), (3, 2, 2), (50, 1, 1), (1, 1, 1),
          (2, 2, 9), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 30, 1)]


def makers(number=7):
    return {"%d %d %d %s" % (*shape, drop): lambda s=shape, d=drop: windows(
        numbers(number), *s, d) for shape in SHAPES for drop in (False, True)}


@scenario("WindowDataset")
@fresh_graph
def data_windows(side):
    found = {name: lambda m=make: m().flat_map(lambda w: w.batch(10))
             for name, make in makers().items()}
    found["pairs"] = lambda: numbers().map(lambda x: (x, x * x)).window(
        3).flat_map(lambda a, b: data.zip((a.batch(3), b.batch(3))))
    found["of none"] = lambda: numbers(0).window(3).flat_map(lambda w: w)
    found["of what fails"] = lambda: numbers(9).map(failing(4)).window(
        3).flat_map(lambda w: w)
    return elements(side, found, limit=40)


@scenario("WindowDataset DatasetCardinality")
@fresh_graph
def data_window_cardinalities(side):
    return cardinalities(side, {
        name: make for name, make in makers().items() if " 0" not in name
        and not name.startswith("0")})


SLIDES = [(3, 1, 1), (2, 2, 1), (2, 1, 3), (2, 5, 1), (9, 1, 1), (1, 9, 1),
          (1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)]


def sliding(sizes, source=None, op="SlidingWindowDataset", **attrs):
    return made(op, variant(numbers(7) if source is None else source),
                *[n(size) for size in sizes], shapes=[None], **attrs)


@scenario("SlidingWindowDataset ExperimentalSlidingWindowDataset "
          "DatasetCardinality")
@fresh_graph
def data_sliding_windows(side):
    found = {}
    for sizes in SLIDES:
        found["%s" % (sizes,)] = lambda s=sizes: sliding(s)
        found["all of %s" % (sizes,)] = lambda s=sizes: sliding(
            s, drop_remainder=False)
    found["another"] = lambda: sliding(
        SLIDES[0], op="ExperimentalSlidingWindowDataset")
    out = cardinalities(side, {
        name: make for name, make in found.items() if "0" not in name})
    out = {name + " length": value for name, value in out.items()}
    found["input fails"] = lambda: sliding(
        SLIDES[1], numbers(7).map(failing(3)))
    found["none"] = lambda: sliding(SLIDES[0], numbers(0))
    out.update(elements(side, found, passes=2))
    return out


def given(inputs, types=(tf.int64,), shapes=((),)):
    return made("WindowOp", inputs, types=types, shapes=shapes)


@scenario("WindowOp DatasetCardinality")
@fresh_graph
def data_windows_of_inputs(side):
    a, b, c = (tf.constant(i, tf.int64) for i in range(3))
    s = hidden("text")
    found = {
        "one": lambda: given([a]),
        "three": lambda: given([a, b, c]),
        "pairs": lambda: given([a, s, b, s], (tf.int64, tf.string), ((), ())),
        "one too many": lambda: given([a, s, b], (tf.int64, tf.string),
                                      ((), ())),
        "too few": lambda: given([a], (tf.int64, tf.string), ((), ())),
        "twice": lambda: given([a, b]).repeat(2),
        "batched": lambda: given([a, b, c]).batch(2),
    }
    out = {name + " length": value
           for name, value in cardinalities(side, found).items()}
    out.update(elements(side, found))
    return out
