"""What makes lists and asks them, for stories about them."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, hidden, sample

raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.string,
         tf.float16, tf.bfloat16, tf.complex64, tf.uint8]


def spread(out, name, values):
    """Several values are several cases."""
    if not isinstance(values, (list, tuple)):
        out[name] = values
        return
    for i, value in enumerate(values):
        spread(out, "%s %d" % (name, i), value)


def attempts(side, fetches, run=attempt):
    out = {}
    with side.session() as session:
        for name, tensor in fetches.items():
            spread(out, name, run(session, tensor))
    return out


# What a list holds is hidden, or the client would find the mistakes itself.
def filled(dtype, count=3, shape=(2,)):
    """A list of this many elements."""
    rows = sample(dtype, (count,) + tuple(shape))
    return hidden(raw.TensorListFromTensor(
        tensor=rows, element_shape=np.array(shape, np.int32)))


def stacked(handle, dtype, shape=-1, **more):
    return raw.TensorListStack(input_handle=handle, element_shape=hidden(shape),
                               element_dtype=dtype, **more)


def empty(shape=-1, most=-1, dtype=tf.float32):
    return hidden(raw.EmptyTensorList(
        element_shape=shape, max_num_elements=most, element_dtype=dtype))


def reserved(shape, count, dtype=tf.float32):
    return hidden(raw.TensorListReserve(
        element_shape=hidden(shape), num_elements=hidden(count),
        element_dtype=dtype))


def push(handle, value):
    return raw.TensorListPushBack(input_handle=handle, tensor=hidden(value))


def get(handle, index, dtype=tf.float32, shape=-1):
    return raw.TensorListGetItem(input_handle=handle, index=hidden(index),
                                 element_shape=hidden(shape),
                                 element_dtype=dtype)
