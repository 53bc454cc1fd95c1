"""Turns the cases of one op into trials, with TensorFlow's own answers.

The cases of an op share a graph, and what works a session and a step.
"""
import dataclasses
import itertools
import os

from tensorflow.python.framework import dtypes
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import op_def_registry

from tests.cluster.client import plain_config, tf
from tests.conformance import inputs, judge, onednn_graph
from tests.conformance.table import Many, Variable
from tests.conformance.words import OWN_WORDS

# No two variables of a run share a name: they outlive their sessions.
VARIABLES = itertools.count()


@dataclasses.dataclass
class Item:
    """A case with its types."""

    row: object
    case: object
    index: int
    types: dict
    main: str
    gpu: object = None  # the case's, where a GPU is tested
    on: str = ""  # the one kind of device that it is for, there

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
                              case.gpu if on_gpu else None,
                              "cpu" if case.cpu and on_gpu else ""))
    return items


class Builder:
    """Puts one item into the current graph, and makes a trial of it."""

    def __init__(self, item, place):
        self.item, self.place = item, place
        self.op_def = op_def_registry.get(item.row.op)
        self.told = {name for arg in self.op_def.input_arg for name in (
            arg.type_attr, arg.type_list_attr, arg.number_attr)}
        self.scope = "%s_%d" % (item.row.op.strip("_"), place)
        self.drawn = 0
        self.trial = judge.Trial(
            label=item.label(), runs=item.row.runs, tol=item.row.tol,
            kind=item.types[item.main].name if item.main else "",
            check=item.row.check, end=item.row.defined(item.case),
            on=item.on)

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
            self.trial.fetches = list(op.outputs) or [op]
            self.trial.pinned.insert(0, op)
        if item.row.terms and not item.case.bad:
            self.trial.sizes = item.row.terms(*self.trial.feeds.values(),
                                              **item.case.attrs)
        return self.trial

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
        if arg.name in self.item.row.constants:
            dtype = self._dtype(arg)
            return tf.constant(self._array(spec, dtype), dtype)
        return self._placeholder(spec, self._dtype(arg))

    def _array(self, spec, dtype):
        if isinstance(spec, inputs.Shape):
            self.drawn += 1
            seed = "%s %d %d" % (self.item.row.op, self.item.index, self.drawn)
            value = self.item.row.data.draw(dtype, spec.dims, seed)
            self.trial.draws.append((value, {
                "type": dtype.name, "dims": spec.dims, "seed": seed,
                **dataclasses.asdict(self.item.row.data)}))
            return value
        return inputs.literal(spec, dtype)

    def _placeholder(self, spec, dtype):
        value = self._array(spec, dtype)
        # In turn: nothing known of the shape, the rank, everything.
        known = 0 if self.item.case.bad else self.place % 3
        if self.item.row.known:
            known = max(known, 1)
        shape = [None, [None] * value.ndim, value.shape][known]
        placeholder = tf.placeholder(dtype, shape)
        self.trial.feeds[placeholder] = value
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
        self.trial.pinned.append(ref.op)
        if value is not None:
            feed = self._placeholder(value, dtype)
            self.trial.init.append(tf.raw_ops.Assign(
                ref=ref, value=feed, validate_shape=shape.rank is not None).op)
            self._read(tf.raw_ops.Identity, input=ref)
        return ref

    def _resource(self, dtype, shape, name, value):
        handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape,
                                        shared_name=name)
        self.trial.pinned.append(handle.op)
        if value is not None:
            feed = self._placeholder(value, dtype)
            self.trial.init.append(tf.raw_ops.AssignVariableOp(
                resource=handle, value=feed))
            self._read(tf.raw_ops.ReadVariableOp, resource=handle,
                       dtype=dtype)
        return handle

    def _read(self, make, **arguments):
        if self.item.row.reads:
            self.trial.reads.append(make(**arguments))

    def _variable_type(self, arg, spec):
        if spec.dtype:
            return dtypes.as_dtype(spec.dtype)
        name = arg.type_attr or ("T" if "T" in self.item.types else "dtype")
        return self.item.types[name]


class Side(judge.Side):
    """A session on the graph: in process (target ""), or on a server."""

    def __init__(self, target, devices=None):
        """devices: of operations; no older session may be open then."""
        super().__init__(target)
        for op, device in (devices or {}).items():
            op._set_device(device)
        self.session = tf.Session(target, config=config(target))

    def run(self, fetches, feeds, alone):
        options = None
        if alone:
            options = tf.RunOptions(timeout_in_ms=judge.ALONE_MS)
        try:
            return self.session.run(fetches, feeds, options)
        except tf.errors.OpError as error:
            raise judge.Failure(type(error).__name__, error.message) from None

    def close(self):
        self.session.close()


def config(target):
    """Of the session that a batch runs in."""
    return plain_config(
        operation_timeout_in_ms=judge.BATCH_MS if target else 0)


class Batch:
    """The trials of the items of one op, in the current graph."""

    def __init__(self, items):
        self.items = items
        self.trials = []  # all that TensorFlow has an answer to
        self.failures = []  # what is wrong with the table

    def ask(self):
        """Builds the items and fills in what TensorFlow says of them."""
        built = []
        for place, item in enumerate(self.items):
            trial = self._build(item, place)
            if trial:
                built.append((item, trial))
        with self._tensorflow() as side:
            self._ask_good(side, [
                pair for pair in built
                if not pair[0].case.bad and not pair[0].gpu])
            for item, trial in built:
                if item.gpu:
                    self._ask_other(side, item, trial)
                elif item.case.bad:
                    self._ask_bad(side, trial)
                    trial.same_words = item.case.words and (
                        item.row.op not in OWN_WORDS) and not inputs.ON_GPU
        return self

    def _tensorflow(self):
        if self.items[0].row.renamed:
            return onednn_graph.Side(tf.get_default_graph(), config(""))
        return Side("")

    def _build(self, item, place):
        try:
            return Builder(item, place).build()
        except (TypeError, ValueError) as error:
            self._fail(item.label(), "cannot be built", error)
            return None

    def _ask_good(self, side, pairs):
        trials = [trial for _, trial in pairs]
        try:
            found = side.step(trials) if trials else []
        except judge.Failure:
            for item, trial in pairs:
                self._ask_alone(side, item, trial)
            return
        for trial, trial.want in zip(trials, found):
            self.trials.append(trial)

    def _ask_alone(self, side, item, trial):
        kind, value = side.error(trial)
        if kind is None:
            trial.want = value
        elif item.row.may_fail:
            expect_error(trial, kind, value)
            trial.may_work = kind == "UnimplementedError"
        else:
            return self._fail(trial.label, "TensorFlow says " + kind, value)
        self.trials.append(trial)

    def _ask_bad(self, side, trial):
        kind, value = side.error(trial)
        if kind is None:
            return self._fail(trial.label, "", "TensorFlow does not fail")
        expect_error(trial, kind, value)
        self.trials.append(trial)

    def _ask_other(self, side, item, trial):
        """What the case says of GPUs: an error, or the answer to a twin;
        and what TensorFlow says of CPUs."""
        here = dataclasses.replace(trial, on="cpu")
        if item.case.bad:
            self._ask_bad(side, here)
        else:
            self._ask_alone(side, item, here)
        trial.together, trial.on = False, "gpu"
        if isinstance(item.gpu, str):
            trial.error = item.gpu
        else:
            twin = self._build(dataclasses.replace(
                item, case=item.gpu, gpu=None), 0)
            if not twin:
                return
            kind, value = side.error(twin)
            if kind is None:
                trial.want = value
            else:
                expect_error(trial, kind, value)
        self.trials.append(trial)

    def _fail(self, label, what, detail):
        self.failures.append("%s: TABLE: %s: %s" % (label, what, detail))


def expect_error(trial, kind, text):
    trial.together, trial.error, trial.text = False, kind, text
