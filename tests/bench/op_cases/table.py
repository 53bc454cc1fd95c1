"""The words that the rows of tests/bench/ops are written in.

A row is a family of kernels/core/families.def, ops of it, the forms of their inputs,
the types they are measured in (the first is the one that a short run takes),
and what bounds them.  A form is a function of the size n, which is about the
number of elements that the op works on; it gives the op's inputs in the order
of its OpDef.  An op in small letters is made of several, by a function of
that name in the row's module."""
import dataclasses
import math

ROWS = []

FLOATS = ("float32", "float64", "float16", "bfloat16")
REALS = ("float32", "float64")
INTS = ("int32", "int64")
NUMBERS = FLOATS + INTS
ITEMS = NUMBERS + ("bool",)  # what is moved only
FLOAT = ("float32",)
STRING = ("string",)

SIZE = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int32": 4,
        "int64": 8, "bool": 1, "string": 24, "complex64": 8,
        "complex128": 16, "uint8": 1, "int8": 1, "resource": 0}


@dataclasses.dataclass(frozen=True)
class Input:
    """What lies in a variable; dtype "": the row's type."""

    dims: tuple
    low: float = -1
    high: float = 1
    dtype: str = ""
    kind: str = "drawn"  # or sorted, handle, ref, const
    draw: object = None  # makes the value, where no range says it

    def size(self, dtype):
        return math.prod(self.dims) * SIZE[self.dtype or dtype]


def x(*dims, low=-1, high=1):
    """Drawn numbers of the row's type; strings of digits; bools."""
    return Input(dims, low, high)


def of(dtype, *dims, low=-1, high=1):
    return Input(dims, low, high, dtype)


def ids(*dims, top, dtype="int32"):
    """Drawn indices below top."""
    return Input(dims, 0, max(top, 1), dtype)


def ordered(count, top, dtype="int32"):
    """Ascending indices below top, about equally many of each."""
    return Input((count,), 0, max(top, 1), dtype, "sorted")


def handle(*dims, low=-1, high=1, dtype=""):
    """A resource variable itself, of the row's type."""
    return Input(dims, low, high, dtype, "handle")


def ref(*dims, low=-1, high=1):
    """A reference variable itself."""
    return Input(dims, low, high, "", "ref")


def const(value):
    """A scalar constant of the row's type."""
    return Input((), value, value, "", "const")


def stored(dtype, dims, draw):
    """What draw() makes; it lies in a variable."""
    return Input(dims, dtype=dtype, draw=draw)


@dataclasses.dataclass(frozen=True)
class Given:
    """What make(dtype) adds to the graph once, before the op: a queue..."""

    make: object


@dataclasses.dataclass(frozen=True)
class Row:
    """work: instructions of vectors an element, that a good program of the
    function needs; flops(n): of a product; product(n): its (m, n, k), whose
    rate is the bound; bytes(n, size of an item): where they are not all inputs
    and outputs once."""

    family: str
    op: str
    form: str
    inputs: object
    types: tuple
    attrs: dict
    make: object = None
    work: float = 0
    flops: object = None
    product: object = None
    bytes: object = None
    limit: bool = True
    heavy: int = 1  # times an elementwise op's time an element
    most: int = 1000  # times that a step has it

    @property
    def name(self):
        return self.op + (" " + self.form if self.form else "")


def row(family, ops, forms, types, attrs=None, **bounds):
    """A row for each op and form; forms: {label: function of n}, or one."""
    for op in ops.split():
        add(family, op, forms, types, attrs or {}, **bounds)


def made(family, name, forms, types, make, **bounds):
    """Rows of what make(inputs, dtype) builds; inputs are tensors."""
    add(family, name, forms, types, {}, make=make, **bounds)


def add(family, op, forms, types, attrs, **bounds):
    if callable(forms):
        forms = {"": forms}
    for label, inputs in forms.items():
        ROWS.append(Row(family, op, label, inputs, types, attrs, **bounds))


def side(n, power=2):
    """Of a square (a cube) of about n elements."""
    return max(1, round(n ** (1 / power)))
