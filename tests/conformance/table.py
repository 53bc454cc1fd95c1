"""The words that the table of cases is written in."""
import dataclasses

from tests.conformance.inputs import Data

ROWS = {}  # op name -> Row
SCENARIOS = []  # Scenario


@dataclasses.dataclass(frozen=True)
class Case:
    """One way to call an op.

    inputs, in the order of the OpDef: x(2, 3) is drawn data of that shape, a
    Python value is itself in the input's type, many(...) the parts of a list
    input, var(...) a variable.  attrs: what does not follow from inputs."""

    inputs: tuple
    attrs: dict
    bad: bool = False  # must fail, with the same error class and text
    words: bool = True  # False: TensorFlow's text has what nobody can know
    types: str = ""  # "once": first types only; "every": all combinations
    dtypes: tuple = ()  # only where the main type is one of these
    cpu: bool = False  # kernels of GPUs do not refuse it
    # What a GPU, which never looks at some inputs, does instead: the class of
    # the error, or another case, which has the same answer everywhere.  Of one
    # type that the GPU has, so: once or bad.
    gpu: object = None


@dataclasses.dataclass(frozen=True)
class Many:
    parts: tuple


@dataclasses.dataclass(frozen=True)
class Variable:
    """An op's variable input; initial None: never assigned."""

    initial: object = None
    dtype: str = ""  # only for ops that have no type attribute to tell it
    declared: object = None  # dims, where they differ from the value's


@dataclasses.dataclass(frozen=True)
class Row:
    op: str
    cases: list
    data: Data
    tol: float  # times the type's usual tolerance; 0: to the bit
    # The feeds, the attributes -> how large the terms of each element of each
    # output are, summed: it is held to a few rounding errors of that, too.
    terms: object
    dtypes: tuple  # () for all that TensorFlow has
    runs: int  # how often the step runs before variables are compared
    check: str  # "value", or "shape" for what cannot be reproduced
    may_fail: bool  # TensorFlow itself decides which types work
    without: tuple  # (type attribute, name): what TensorFlow gets wrong
    reads: bool  # whether variables are compared after the step
    defined: object  # case -> how many outputs TensorFlow fills, or None
    known: bool  # TensorFlow builds the op only where ranks are known
    onednn: bool  # TensorFlow has only oneDNN's kernel (onednn.py)
    renamed: bool  # the same, asked by its own name (onednn_graph.py)
    constants: tuple  # the inputs that TensorFlow wants as constants


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A function(session, args) run here and there; see scenarios.py."""

    name: str
    function: object
    ops: tuple
    tol: float
    on: str = ""


def c(*inputs, dtypes=(), **attrs):
    return Case(inputs, attrs, dtypes=tuple(dtypes))


def every(*inputs, **attrs):
    """A case for all combinations of types; the first of a row always is."""
    return Case(inputs, attrs, types="every")


def once(*inputs, gpu=None, **attrs):
    """A case for the first type alone: large inputs, what no type changes."""
    return Case(inputs, attrs, types="once", gpu=gpu)


def bad(*inputs, dtypes=(), gpu=None, cpu=False, words=True, **attrs):
    return Case(inputs, attrs, bad=True, types="once", dtypes=tuple(dtypes),
                gpu=gpu, cpu=cpu, words=words)


def with_inputs(case, change):
    """The case, and what a GPU does instead, with change(inputs)."""
    gpu = case.gpu
    if isinstance(gpu, Case):
        gpu = with_inputs(gpu, change)
    return dataclasses.replace(case, inputs=tuple(change(case.inputs)),
                               gpu=gpu)


def many(*parts):
    return Many(parts)


def var(initial=None, dtype="", declared=None):
    return Variable(initial, dtype, declared)


def row(ops, cases, data=Data(), tol=1, terms=None, dtypes=(), runs=1, check="value",
        may_fail=False, without=(), reads=True, defined=lambda case: None,
        known=False, onednn=False, renamed=False, constants=()):
    """Adds a row per op; several names in one string share their cases."""
    for op in ops.split():
        assert op not in ROWS, op
        ROWS[op] = Row(op, cases, data, tol, terms, tuple(dtypes), runs,
                       check, may_fail, without, reads, defined, known,
                       onednn, renamed, tuple(constants))


def scenario(ops, tol=1, on=""):
    """Decorates a function(session, args) -> dict of values or errors; on:
    "gpu" where no CPU has all of it."""
    def register(function):
        SCENARIOS.append(Scenario(function.__name__, function,
                                  tuple(ops.split()), tol, on))
        return function
    return register
