"""Element types and forms of the inputs of conformance cases."""
import dataclasses
import itertools

import numpy as np
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

from tests.conformance.draw import Data  # noqa: F401  for those with x()

# The types that a client can feed and fetch.  TensorFlow also registers some
# kernels for float8, 4 and 2 bit types, which nothing but quantised inference
# uses: tfd has no such types (common/base/tensor.h).
FED = [dtypes.as_dtype(name) for name in (
    "float32", "float64", "float16", "bfloat16", "int32", "int64", "int16",
    "int8", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    "bool", "string", "qint8", "quint8", "qint16", "quint16", "qint32")]
PLACE = {dtype: place for place, dtype in enumerate(FED)}
FLOATS = FED[:4]

# Whether the server has a GPU, to which ops go.
ON_GPU = False


@dataclasses.dataclass(frozen=True)
class Shape:
    """Stands for generated data of this shape."""

    dims: tuple


def x(*dims):
    return Shape(dims)


def type_combinations(op_name):
    """The values of the op's type attributes that its CPU kernels take.

    A list of dicts; the types that come with the same main attribute (the one
    with the most types) stand next to each other, the commonest type first."""
    op_def = op_def_registry.get(op_name)
    attrs = {a.name: [dtypes.as_dtype(t) for t in a.allowed_values.list.type]
             for a in op_def.attr if a.type == "type"}
    if not attrs:
        return [{}]
    found = []
    for kernel in kernels.get_registered_kernels_for_op(op_name).kernel:
        if kernel.device_type not in ("CPU", "DEFAULT") or kernel.label:
            continue
        allowed = {c.name: [dtypes.as_dtype(t)
                            for t in c.allowed_values.list.type]
                   for c in kernel.constraint}
        choices = [[t for t in allowed.get(name, declared or FED)
                    if t in PLACE and t in (declared or FED)]
                   for name, declared in attrs.items()]
        for combination in itertools.product(*choices):
            types = dict(zip(attrs, combination))
            if types not in found:
                found.append(types)
    main = main_attr(found)
    return sorted(found, key=lambda types: [PLACE[types[main]]] + [
        PLACE[t] for t in types.values()])


def types_of(op_name):
    """Names of the types of an op's main attribute."""
    combinations = type_combinations(op_name)
    main = main_attr(combinations)
    return tuple(dict.fromkeys(types[main].name for types in combinations))


def main_attr(combinations):
    """The attribute with the most values; the first of several."""
    return max(combinations[0], key=lambda name: len(
        {types[name] for types in combinations}))


def literal(value, dtype):
    """A Python value as an array of the type."""
    if dtype == dtypes.string:
        array = np.array(value)
        return array.astype(object if array.dtype.kind in "SO" else bytes)
    if isinstance(value, np.ndarray) and value.dtype.kind == "V":
        return value  # of a quantised type already
    return np.asarray(value).astype(dtype.as_numpy_dtype)
