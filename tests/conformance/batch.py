"""Runs the cases of one op in process and on a server, many in one step.

The cases of an op share a graph, a session on each side, and a step: what is
compared is each fetch, and the variables after the step.  A failing step is
taken apart, first by type, then case by case, to find whose fault it was.
Cases that must fail run alone.
"""
import dataclasses
import itertools
import os

from tensorflow.python.framework import dtypes
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import op_def_registry

from tests.cluster.client import plain_config, tf
from tests.cluster.cluster import listening
from tests.conformance import inputs
from tests.conformance.compare import difference
from tests.conformance.table import Many, Variable

BATCH_MS = 20000
ALONE_MS = 8000
# No two variables of a run share a name: they outlive their sessions.
VARIABLES = itertools.count()


class ServerGone(Exception):
    """The server does not listen any more: whatever ran last killed it."""


@dataclasses.dataclass
class Item:
    """A case with its types; the rest is filled in when its graph is built."""

    row: object
    case: object
    index: int
    types: dict
    main: str
    gpu: object = None  # the case's, where a GPU is tested
    feeds: dict = None
    init: list = None
    fetches: list = None
    reads: list = None

    def label(self):
        types = ",".join("%s=%s" % (k, v.name) for k, v in self.types.items())
        attrs = "".join(" %s=%s" % kv for kv in self.case.attrs.items())
        return "case %d (%s)%s %s" % (self.index, types, attrs, " ".join(
            describe(spec) for spec in self.case.inputs))


def describe(spec):
    if isinstance(spec, Many):
        return "many(%s)" % " ".join(map(describe, spec.parts))
    if isinstance(spec, Variable):
        return "var(%s)" % describe(spec.initial)
    if isinstance(spec, inputs.Shape):
        return "x%s" % (list(spec.dims),)
    return "%.60r" % (spec,)


def plain_text(error):
    """The server's words, without the stack traces that Python adds."""
    return " ".join(error.message.split("\nNode: ")[-1].split())[:300]


def items_of(row, on_gpu=False):
    """Every case of a row with every combination of types it is for."""
    combinations = inputs.type_combinations(row.op)
    main = inputs.main_attr(combinations) if combinations[0] else None
    if row.dtypes:
        combinations = [types for types in combinations
                        if types[main].name in row.dtypes]
    if row.without:
        combinations = [types for types in combinations
                        if types[row.without[0]].name != row.without[1]]
    items = []
    for index, case in enumerate(row.cases):
        if case.cpu and inputs.ON_GPU:
            continue
        seen = set()
        for types in combinations:
            kind = types[main] if main else None
            if case.dtypes and kind.name not in case.dtypes:
                continue
            first = index == 0 or case.types == "every"
            if not first and (kind in seen or case.types == "once" and seen):
                continue
            seen.add(kind)
            items.append(Item(row, case, index, types, main,
                              case.gpu if on_gpu else None))
    return items


class Builder:
    """Puts one item into the current graph."""

    def __init__(self, item, place):
        self.item, self.place = item, place
        self.op_def = op_def_registry.get(item.row.op)
        self.told = {name for arg in self.op_def.input_arg for name in (
            arg.type_attr, arg.type_list_attr, arg.number_attr)}
        self.scope = "%s_%d" % (item.row.op.strip("_"), place)
        self.drawn = 0
        item.feeds, item.init, item.reads = {}, [], []

    def build(self):
        item = self.item
        # None asks for the default.
        arguments = {attr.name: None for attr in self.op_def.attr
                     if attr.HasField("default_value")
                     and attr.name not in self.told}
        arguments.update(item.case.attrs)
        with tf.name_scope(self.scope):
            for arg, spec in zip(self.op_def.input_arg, item.case.inputs):
                arguments[arg.name] = self._input(arg, spec)
            arguments.update(self._open_types())
            op_def_library.apply_op(item.row.op, **arguments)
            op = tf.get_default_graph().get_operations()[-1]
            item.fetches = list(op.outputs) or [op]

    def _open_types(self):
        """The type attributes that no input tells."""
        return {name: dtype for name, dtype in self.item.types.items()
                if name not in self.told and name not in self.item.case.attrs}

    def _dtype(self, arg):
        if arg.type_attr:
            return self.item.types[arg.type_attr]
        if arg.type_list_attr and "T" in self.item.types:
            return self.item.types["T"]
        return dtypes.as_dtype(arg.type or "float32")

    def _input(self, arg, spec):
        if isinstance(spec, Variable):
            return self._variable(arg, spec)
        if isinstance(spec, Many):
            return [self._input(arg, part) for part in spec.parts]
        return self._placeholder(spec, self._dtype(arg))

    def _array(self, spec, dtype):
        if isinstance(spec, inputs.Shape):
            self.drawn += 1
            seed = "%s %d %d" % (self.item.row.op, self.item.index, self.drawn)
            return self.item.row.data.draw(dtype, spec.dims, seed)
        return inputs.literal(spec, dtype)

    def _placeholder(self, spec, dtype):
        value = self._array(spec, dtype)
        # In turn: nothing known of the shape, the rank, everything.
        known = 0 if self.item.case.bad else self.place % 3
        shape = [None, [None] * value.ndim, value.shape][known]
        placeholder = tf.placeholder(dtype, shape)
        self.item.feeds[placeholder] = value
        return placeholder

    def _variable(self, arg, spec):
        dtype = self._variable_type(arg, spec)
        value = None
        if spec.initial is not None:
            value = self._array(spec.initial, dtype)
        shape = spec.declared
        if shape is None and value is not None and not self.item.case.bad:
            shape = value.shape
        shape = tf.TensorShape(shape)
        name = "%s/%d/%d" % (self.scope, os.getpid(), next(VARIABLES))
        if arg.type == dtypes.resource.as_datatype_enum:
            return self._resource(dtype, shape, name, value)
        ref = tf.raw_ops.VariableV2(shape=shape, dtype=dtype,
                                    shared_name=name)
        if value is not None:
            feed = self._placeholder(value, dtype)
            self.item.init.append(tf.raw_ops.Assign(
                ref=ref, value=feed, validate_shape=shape.rank is not None).op)
            self._read(tf.raw_ops.Identity, input=ref)
        return ref

    def _resource(self, dtype, shape, name, value):
        handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape,
                                        shared_name=name)
        if value is not None:
            feed = self._placeholder(value, dtype)
            self.item.init.append(tf.raw_ops.AssignVariableOp(
                resource=handle, value=feed))
            self._read(tf.raw_ops.ReadVariableOp, resource=handle,
                       dtype=dtype)
        return handle

    def _read(self, make, **arguments):
        if self.item.row.reads:
            self.item.reads.append(make(**arguments))

    def _variable_type(self, arg, spec):
        if spec.dtype:
            return dtypes.as_dtype(spec.dtype)
        name = arg.type_attr or ("T" if "T" in self.item.types else "dtype")
        return self.item.types[name]


class Side:
    """One session on the graph: in process, or on the server."""

    def __init__(self, target):
        self.target = target
        timeout = BATCH_MS if target else 0
        self.session = tf.Session(target, config=plain_config(
            operation_timeout_in_ms=timeout))

    def step(self, items, alone=False):
        """Fetches of each run, then the variables, for each of the items."""
        options = tf.RunOptions(timeout_in_ms=ALONE_MS) if alone else None
        feeds = {k: v for item in items for k, v in item.feeds.items()}
        init = [op for item in items for op in item.init]
        if init:
            self.session.run(init, feeds, options)
        runs = [self.session.run([item.fetches for item in items], feeds,
                                 options) for _ in range(items[0].row.runs)]
        reads = [item.reads for item in items]
        if any(reads):
            runs.append(self.session.run(reads, {}, options))
        return [[value for run in runs for value in run[i]]
                for i in range(len(items))]

    def error(self, item):
        """The class of the error that the item ends in, or its values."""
        try:
            return None, self.step([item], alone=True)[0]
        except tf.errors.OpError as error:
            self.check_alive(item.label())
            return type(error).__name__, plain_text(error)


    def check_alive(self, doing):
        port = self.target.rpartition(":")[2]
        if port and not listening(int(port)):
            raise ServerGone(doing)


class Batch:
    """The items of one op, or of one type of it after a failure."""

    def __init__(self, target, items):
        self.target, self.items = target, items
        self.failures, self.passed = [], 0

    def run(self):
        with tf.Graph().as_default():
            self.items = [item for place, item in enumerate(self.items)
                          if self._build(item, place)]
            here, there = Side(""), Side(self.target)
            other = [item for item in self.items if item.gpu]
            good = [item for item in self.items
                    if not item.case.bad and not item.gpu]
            bad = [item for item in self.items
                   if item.case.bad and not item.gpu]
            want, unable = self._oracle(here, good)
            good = [item for item in good if id(item) in want]
            if good and not self._together(there, good, want):
                if self._split():
                    return self
                for item in good:
                    self._alone(there, item, want[id(item)])
            for item in bad:
                self._must_fail(here, there, item)
            for item in unable:
                self._must_fail(here, there, item, "UnimplementedError")
            for item in other:
                self._must_differ(here, there, item)
        return self

    def _build(self, item, place):
        try:
            Builder(item, place).build()
            return True
        except (TypeError, ValueError) as error:
            self._fail(item, "TABLE: cannot be built", error)
            return False

    def _oracle(self, here, good):
        """TensorFlow's values, and the items that it cannot compute."""
        try:
            values = here.step(good) if good else []
            return {id(i): v for i, v in zip(good, values)}, []
        except tf.errors.OpError:
            pass
        want, unable = {}, []
        for item in good:
            kind, value = here.error(item)
            if kind is None:
                want[id(item)] = value
            elif item.row.may_fail:
                unable.append(item)
            else:
                self._fail(item, "TABLE: TensorFlow says " + kind, value)
        return want, unable

    def _together(self, there, good, want):
        try:
            values = there.step(good)
        except tf.errors.OpError:
            there.check_alive("%d cases" % len(good))
            return False
        for item, value in zip(good, values):
            self._compare(item, value, want[id(item)])
        return True

    def _split(self):
        """Takes the batch apart by type; False when it has only one."""
        kinds = {}
        for item in self.items:
            kinds.setdefault(item.types.get(item.main), []).append(item)
        if len(kinds) < 2:
            return False
        self.failures, self.passed = [], 0
        for items in kinds.values():
            part = Batch(self.target, items).run()
            self.failures += part.failures
            self.passed += part.passed
        return True

    def _alone(self, there, item, want):
        kind, value = there.error(item)
        if kind is None:
            self._compare(item, value, want)
        else:
            self._fail(item, kind, value)

    def _compare(self, item, got, want):
        end = item.row.defined(item.case)
        for place, (a, b) in enumerate(zip(got[:end], want[:end])):
            text = difference(a, b, item.row.tol, item.row.check)
            if text:
                return self._fail(item, "value %d" % place, text)
        self.passed += 1

    def _must_fail(self, here, there, item, may_work=None):
        """The server's error class is TensorFlow's; or it has an answer
        where TensorFlow only says that it has none (may_work)."""
        want, text = here.error(item)
        if want is None:
            return self._fail(item, "TABLE", "TensorFlow does not fail")
        got, value = there.error(item)
        if got == want or (got is None and want == may_work):
            self.passed += 1
        else:
            self._fail(item, "%s, not %s (%s)" % (got or "no error", want,
                                                  text), value)

    def _must_differ(self, here, there, item):
        """The server ends as the case says of GPUs."""
        want_kind, want = item.gpu, None
        if not isinstance(item.gpu, str):
            twin = dataclasses.replace(item, case=item.gpu, gpu=None)
            if not self._build(twin, 0):
                return
            want_kind, want = here.error(twin)
        got, value = there.error(item)
        if got != want_kind:
            self._fail(item, "%s, not %s" % (got or "no error", want_kind or
                                             "the answer of a GPU"), value)
        elif got is None:
            self._compare(item, value, want)
        else:
            self.passed += 1

    def _fail(self, item, what, detail):
        self.failures.append("%s: %s: %s" % (item.label(), what, detail))
