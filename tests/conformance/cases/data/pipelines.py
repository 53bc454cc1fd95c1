"""What goes through datasets, for stories about them."""
import re

from tensorflow.python.framework import op_def_registry

from tests.cluster.client import tf
from tests.conformance.scenarios import hidden, told

data = tf.data.Dataset
raw = tf.raw_ops
LIMIT = 24


def note(out, name, value):
    """Several values are several cases."""
    if isinstance(value, str):  # datasets are counted in each process
        value = re.sub(r"(passed to \w+):\d+", r"\1:N",
                       value.replace(": Graph execution error: ", ": "))
    if not isinstance(value, (list, tuple, dict)):
        out[name] = value
        return
    parts = value.values() if isinstance(value, dict) else value
    for i, part in enumerate(parts):
        note(out, "%s.%d" % (name, i), part)


def walk(session, out, name, fetch, limit):
    """Elements to the end; what fails in between is an element, too."""
    for i in range(limit):
        value = told(session, fetch)
        note(out, "%s %d" % (name, i), value)
        if isinstance(value, str) and not value.startswith("InvalidArg"):
            return


def plain(dataset):
    """As it is written: TensorFlow does not rewrite it."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return dataset.with_options(options)


def elements(side, makers, limit=LIMIT, passes=1):
    """The elements of each dataset that a function of makers makes; or what
    its iterator's initializer fails with."""
    out, iterators = {}, {}
    for name, make in makers.items():
        iterator = tf.data.make_initializable_iterator(plain(make()))
        iterators[name] = (iterator.initializer, iterator.get_next())
    with side.session() as session:
        for name, (initializer, fetch) in iterators.items():
            for number in range(passes):
                key = name if number == 0 else "%s, pass %d" % (name, number)
                value = told(session, initializer)
                if isinstance(value, str):
                    out[key] = value
                else:
                    walk(session, out, key, fetch, limit)
    return out


class Made(data):
    """A dataset that Python has no class for."""

    def __init__(self, made, spec):
        self._made, self._spec = made, spec
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return self._spec


def made(op, *args, types=(tf.int64,), shapes=((),), **attrs):
    """The dataset of an op of raw_ops, with elements of these types."""
    specs = [tf.TensorSpec(s, t) for s, t in zip(shapes, types)]
    names = [arg.name for arg in op_def_registry.get(op).input_arg]
    return Made(getattr(raw, op)(
        **dict(zip(names, args)), output_types=list(types),
        output_shapes=list(shapes), **attrs),
                specs[0] if len(specs) == 1 else tuple(specs))


def aliased(dataset, op, *more):
    """The same node with another op, which has the same inputs, and more."""
    old = variant(dataset).op
    attrs = {a.name: old.node_def.attr[a.name]
             for a in op_def_registry.get(op).attr
             if a.name in old.node_def.attr}
    return Made(tf.get_default_graph().create_op(
        op, list(old.inputs) + list(more), [tf.variant], attrs=attrs).outputs[0],
                dataset.element_spec)


def answers(side, fetches):
    out = {}
    with side.session() as session:
        for name, fetch in fetches.items():
            note(out, name, told(session, fetch))
    return out


def variant(dataset):
    return dataset._variant_tensor


def cardinalities(side, makers):
    return answers(side, {
        name: raw.DatasetCardinality(input_dataset=variant(make()))
        for name, make in makers.items()})


def failing(at):
    """A function of a dataset that fails for this element."""
    def function(x):
        with tf.control_dependencies([
                tf.debugging.Assert(tf.not_equal(x, at), ["bad", x])]):
            return x * 10
    return function


def numbers(n=7):
    return data.range(hidden(tf.constant(n, tf.int64)))
