"""numpy arrays as TensorProtos and back, without TensorFlow."""
import ml_dtypes
import numpy as np


# DataType of types.proto -> (numpy's type of a fetched value, the field of
# single values).
TYPES = {
    1: (np.dtype(np.float32), "float_val"),
    2: (np.dtype(np.float64), "double_val"),
    3: (np.dtype(np.int32), "int_val"),
    4: (np.dtype(np.uint8), "int_val"),
    5: (np.dtype(np.int16), "int_val"),
    6: (np.dtype(np.int8), "int_val"),
    7: (np.dtype(object), "string_val"),
    8: (np.dtype(np.complex64), "scomplex_val"),
    9: (np.dtype(np.int64), "int64_val"),
    10: (np.dtype(bool), "bool_val"),
    14: (np.dtype(ml_dtypes.bfloat16), "half_val"),
    17: (np.dtype(np.uint16), "int_val"),
    18: (np.dtype(np.complex128), "dcomplex_val"),
    19: (np.dtype(np.float16), "half_val"),
    22: (np.dtype(np.uint32), "uint32_val"),
    23: (np.dtype(np.uint64), "uint64_val"),
}
STRING = 7
# TensorFlow's types of what is fed; fetched, they are of the numbers' type.
QUANTISED = {"qint8": (11, 6), "quint8": (12, 4), "qint32": (13, 3),
             "qint16": (15, 5), "quint16": (16, 17)}
NUMBERS = {dtype: number for number, (dtype, _) in TYPES.items()}
for _name, (_number, _stored) in QUANTISED.items():
    NUMBERS[np.dtype([(_name, TYPES[_stored][0])])] = _number
    TYPES[_number] = TYPES[_stored]


def numpy_type(name):
    """numpy's type of what is fed as TensorFlow's type of this name."""
    if name in QUANTISED:
        return np.dtype([(name, TYPES[QUANTISED[name][1]][0])])
    if name == "string":
        return np.dtype(object)
    return np.dtype(name)


def encode(value, tensor_proto):
    """A value of a feed or a fetch; None, which a target has, as no type.

    tensor_proto: the class."""
    if value is None:
        return tensor_proto()
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        array = np.asarray(value, object)
    proto = tensor_proto(dtype=NUMBERS[array.dtype])
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if proto.dtype == STRING:
        proto.string_val.extend(_bytes(text) for text in array.ravel())
    else:
        proto.tensor_content = array.tobytes()
    return proto


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


def decode(proto):
    """The array of a TensorProto, or None; ValueError if it is none."""
    if not proto.dtype:
        return None
    if proto.dtype not in TYPES:
        raise ValueError("a tensor of type %d" % proto.dtype)
    dtype, field = TYPES[proto.dtype]
    dims = [dim.size for dim in proto.tensor_shape.dim]
    count = int(np.prod(dims, dtype=np.int64))
    if not proto.tensor_content:
        flat = _single(getattr(proto, field), field, dtype, count)
    elif proto.dtype == STRING:
        flat = _strings(proto.tensor_content, count)
    else:
        flat = np.frombuffer(proto.tensor_content, dtype)
    return flat.reshape(dims)


def _single(values, field, dtype, count):
    """The last of the values stands for all that follow."""
    if field == "string_val":
        flat = np.empty(len(values), object)
        flat[:] = list(values)
    elif field == "half_val":
        flat = np.array(values, np.uint16).view(dtype)
    elif field.endswith("complex_val"):
        flat = np.array(values, dtype.type(0).real.dtype).view(dtype)
    else:
        flat = np.array(values).astype(dtype)
    missing = count - len(flat)
    if missing > 0 and len(flat):
        flat = np.concatenate([flat, np.repeat(flat[-1:], missing)])
    return flat


def _strings(content, count):
    """All lengths as varints, then all bytes."""
    lengths, place = [], 0
    for _ in range(count):
        length = shift = 0
        while content[place] & 0x80:
            length |= (content[place] & 0x7f) << shift
            shift, place = shift + 7, place + 1
        lengths.append(length | content[place] << shift)
        place += 1
    flat = np.empty(count, object)
    for index, length in enumerate(lengths):
        flat[index] = content[place:place + length]
        place += length
    if place != len(content):
        raise ValueError("strings of %d bytes, not %d" % (len(content), place))
    return flat
