"""Shapes that libtfd infers while a graph is built, against TensorFlow's.

  python -m tests.conformance.shapes [--only Op,Op] LIBTFD

Of cases of the table: with inputs of which nothing is known, the rank, the
shape; and with what is no drawn data as constants.
"""
import argparse
import collections

from tests.cluster.client import tf
from tests.conformance import capi
from tests.conformance import cases  # noqa: F401  fills the table
from tests.conformance import inputs
from tests.conformance.batch import Builder, items_of
from tests.conformance.table import ROWS

CONSTANT = 3  # the fourth way
ITEMS = 60  # of an op, about
# Parts of the names of the ops that conformance looks at.
AGREE = ("Quantize", "Requant", "Dequant", "Reshape")


class Maker(Builder):
    """Without a trial, in one of four ways."""

    def __init__(self, item, place, way):
        super().__init__(item, place)
        self.way = way

    def _placeholder(self, spec, dtype):
        value = self._array(spec, dtype)
        if self.way == CONSTANT and not isinstance(spec, inputs.Shape):
            return tf.constant(value, dtype)
        shape = [None, [None] * value.ndim, value.shape][min(self.way, 2)]
        return tf.placeholder(dtype, shape)


def made(item, place, way):
    """The operation in the current graph; None where TensorFlow refuses it."""
    try:
        maker = Maker(item, place, way)
        maker.build()
        return maker.trial.pinned[0]
    except (ValueError, TypeError, NotImplementedError, AttributeError,
            RuntimeError, tf.errors.OpError):
        return None


def dims_of(shape):
    return None if shape.rank is None else [
        -1 if d is None else d for d in shape.as_list()]


def built(name):
    """A graph of all cases of an op, and its operations with their labels."""
    with tf.Graph().as_default() as graph:
        found = []
        items = items_of(ROWS[name])
        for place, item in enumerate(items[::1 + len(items) // ITEMS]):
            for way in range(CONSTANT + 1):
                op = None if item.case.bad else made(
                    item, place * (CONSTANT + 1) + way, way)
                if op is not None and op.outputs:
                    found.append(("way %d of %s" % (way, item.label()), op))
        return graph.as_graph_def().SerializeToString(), found


def differences(found, ours):
    if isinstance(ours, capi.Failure):
        yield "error %d: %s" % (ours.code, ours.message)
        return
    for (label, op), shapes in zip(found, ours):
        for i, (output, got) in enumerate(zip(op.outputs, shapes)):
            want = dims_of(output.shape)
            if got != want:
                yield "%s: output %d is %s, not %s" % (label, i, got, want)


def check(library, names):
    """Op -> what differs."""
    graphs = {name: built(name) for name in names}
    answers = capi.ask(library, [
        capi.Shapes(data, [op.name for _, op in found])
        for data, found in graphs.values()])
    return collections.OrderedDict(
        (name, list(differences(found, ours)))
        for (name, (_, found)), ours in zip(graphs.items(), answers))


def named(parts):
    return [name for name in ROWS if any(part in name for part in parts)]


def run(library):
    """(passed, failures) of the ops whose shapes are TensorFlow's."""
    found = check(library, named(AGREE))
    failures = ["%s: %s" % (name, lines[0]) for name, lines in found.items()
                if lines]
    return len(found) - len(failures), failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("library")
    asked = parser.parse_args()
    names = named(asked.only.split(","))
    wrong = {name: lines for name, lines in check(
        asked.library, names).items() if lines}
    for name, lines in wrong.items():
        print("%s: %d\n    %s" % (name, len(lines), lines[0]))
    print("%d of %d ops have TensorFlow's shapes" % (
        len(names) - len(wrong), len(names)))


if __name__ == "__main__":
    main()
