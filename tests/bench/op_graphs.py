"""A row of tests/bench/ops as a graph: its inputs in variables, its op many
times, each time after the one before it by a control dependency, so that every
one runs and none beside another; and a step that has all but the op."""
import dataclasses
import itertools

import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from tests.bench.op_cases.table import SIZE, Given, Input

tf1 = tf.compat.v1
STEP_ELEMENTS = 5000000  # about as many in a step, where sizes are small:
COUNTER = itertools.count()
TIMES_MAX = 500  # the step itself is to be the lesser part of its time
NODES_MAX = 1000  # building a graph takes long, too


def drawn(spec, dtype, seed):
    """Numbers that lie in a variable; alike on every server."""
    kind, dims = tf.as_dtype(dtype), list(spec.dims)
    low, high = spec.low, spec.high
    if spec.draw:
        return spec.draw()
    if spec.kind == "sorted":
        count = spec.dims[0]
        steps = tf.range(count, dtype=tf.int64) * int(high) // max(count, 1)
        return tf.cast(steps, kind)
    if kind == tf.string:
        return tf.strings.as_string(tf.random.uniform(
            dims, 0, 10 ** 6, tf.int32, seed=seed))
    if kind == tf.bool:
        return tf.random.uniform(dims, seed=seed) > 0.5
    if kind.is_integer:
        if (low, high) == (-1, 1):
            low, high = (-100, 100) if kind.min < 0 else (0, 100)
        return tf.cast(tf.random.uniform(
            dims, int(low), max(int(high), int(low) + 1), tf.int64, seed=seed),
            kind)
    if kind.is_complex:
        part = [tf.random.uniform(dims, low, high, kind.real_dtype,
                                  seed=seed + i) for i in (0, 1)]
        return tf.complex(*part)
    base = kind if kind in (tf.float32, tf.float64) else tf.float32
    return tf.cast(tf.random.uniform(dims, low, high, base, seed=seed), kind)


def placed(spec, dtype, seed):
    """(the op's input, the variable's initialiser or None).  Names are new in
    every graph, since a server keeps the variables of the one before."""
    dtype = spec.dtype or dtype
    if spec.kind == "const":
        return tf.constant(spec.low, dtype), None
    variable = tf1.get_variable(
        "row%d_in%d" % (next(COUNTER), seed), use_resource=spec.kind != "ref",
        initializer=drawn(spec, dtype, seed))
    if spec.kind == "handle":
        return variable.handle, variable.initializer
    if spec.kind == "ref":
        return variable._ref(), variable.initializer
    return variable.read_value(), variable.initializer


class Inputs:
    """Replaces what is an Input, in lists too, by what it is in a graph."""

    def __init__(self, dtype):
        self.dtype, self.initialisers, self.specs = dtype, [], []

    def of(self, value):
        if isinstance(value, list):
            return [self.of(part) for part in value]
        if isinstance(value, Given):
            return value.make(tf.as_dtype(self.dtype))
        if not isinstance(value, Input):
            return value
        tensor, initialiser = placed(value, self.dtype, len(self.specs) + 1)
        self.specs.append(value)
        if initialiser is not None:
            self.initialisers.append(initialiser)
        return tensor


def applied(row, arguments, dtype):
    """The row's op on these inputs: (operation, outputs)."""
    if row.make:
        outputs = row.make(arguments, tf.as_dtype(dtype))
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        op = outputs[0] if isinstance(outputs[0], tf.Operation) else tf.group(
            *outputs)
        return op, [y for y in outputs if isinstance(y, tf.Tensor)]
    op_def = op_def_registry.get(row.op)
    if op_def is None:
        raise TypeError("TensorFlow has no op " + row.op)
    told = {name for arg in op_def.input_arg for name in (
        arg.type_attr, arg.number_attr, arg.type_list_attr)}
    given = {attr.name: None for attr in op_def.attr
             if attr.HasField("default_value") and attr.name not in told}
    given.update({arg.name: value for arg, value in zip(
        op_def.input_arg, arguments)})
    for name, value in row.attrs.items():
        given[name] = getattr(tf, dtype) if value == "T" else value
    op_def_library.apply_op(row.op, name="it", **given)
    op = tf1.get_default_graph().get_operations()[-1]
    return op, op.outputs


@dataclasses.dataclass
class Built:
    graph: object
    start: list  # names of the operations to run first
    base: str  # the step without the op
    step: str
    times: int
    bytes: int  # that the op moves, if each input and output is touched once


def bytes_of(row, n, dtype, specs, outputs):
    if row.bytes:
        return row.bytes(n, SIZE[dtype])
    moved = sum(spec.size(dtype) for spec in specs)
    for output in outputs:
        if output.shape.is_fully_defined():
            moved += output.shape.num_elements() * SIZE.get(
                output.dtype.base_dtype.name, 0)
    return moved


def repeated(graph, base, names, last, times):
    """(a graph with more copies of the nodes of these names, the last one's
    name): a copy follows the one before it, as the first follows base."""
    graph_def, before = graph.as_graph_def(), last
    nodes = [node for node in graph_def.node if node.name in names]
    for turn in range(1, times):
        mark = "_copy%d" % turn
        for node in nodes:
            copy = graph_def.node.add()
            copy.CopyFrom(node)
            copy.name += mark
            if "frame_name" in copy.attr:  # a loop of its own
                copy.attr["frame_name"].s += mark.encode()
            inner = [name.lstrip("^").partition(":")[0] in names
                     for name in copy.input]
            for place, name in enumerate(copy.input):
                bare, colon, port = name.lstrip("^").partition(":")
                if inner[place]:
                    copy.input[place] = "^" * name.startswith("^") + (
                        bare + mark + colon + port)
                elif name == "^" + base:
                    copy.input[place] = "^" + before
            # TensorFlow leaves out what follows from another input.
            if not any(inner) and "^" + before not in copy.input:
                copy.input.append("^" + before)
        before = last + mark
    with tf.Graph().as_default() as whole:
        tf.import_graph_def(graph_def, name="")
    return whole, before


def build(row, n, dtype):
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(1)
        inputs = Inputs(dtype)
        arguments = [inputs.of(value) for value in row.inputs(n)]
        reads = [y for value in arguments for y in (
            value if isinstance(value, list) else [value])
            if isinstance(y, tf.Tensor) and not y.dtype._is_ref_dtype]
        with tf.control_dependencies(reads):
            base = tf.no_op().name
        before = {op.name for op in graph.get_operations()}
        with tf.control_dependencies([graph.get_operation_by_name(base)]):
            last, outputs = applied(row, arguments, dtype)
        names = {last.name}  # constants need no copies
        if row.make:
            names = {op.name for op in graph.get_operations()} - before
    times = max(1, min(TIMES_MAX, row.most, NODES_MAX // len(names),
                       STEP_ELEMENTS // (n * row.heavy)))
    whole, step = repeated(graph, base, names, last.name, times)
    return Built(whole, [op.name for op in inputs.initialisers], base, step,
                 times, bytes_of(row, n, dtype, inputs.specs, outputs))
