"""Cases of kernels/parse/serialized.c."""
import numpy as np

from tensorflow.core.framework import tensor_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import c, row, scenario

row("SerializeTensor", [c(x(2, 3)), c(x()), c(x(0, 3))], tol=0)


def proto(dtype=1, dims=(), **fields):
    made = tensor_pb2.TensorProto(dtype=dtype, **fields)
    made.tensor_shape.SetInParent()
    for size in dims:
        made.tensor_shape.dim.add().size = size
    return made.SerializeToString()


def parsed(serialized, dtype=tf.float32):
    return raw.ParseTensor(serialized=hidden(np.array(serialized, object)),
                           out_type=dtype)


@scenario("ParseTensor SerializeTensor")
@fresh_graph
def tensors_serialized(side):
    found = {}
    for value in ([[1, 2], [3, 4]], [1.5, -0.0, np.nan], [b"a", b"", b"c" * 99],
                  [True, False], 7, np.zeros([0, 3], np.float32), [1 + 2j],
                  np.arange(5, dtype=np.uint8), np.zeros([2] * 8, np.int64)):
        given = tf.constant(value)
        found[repr(value)[:20]] = raw.ParseTensor(
            serialized=raw.SerializeTensor(tensor=hidden(given)),
            out_type=given.dtype)
    found.update({
        "half": parsed(proto(19, [2], half_val=[15872, 0]), tf.float16),
        "repeated": parsed(proto(1, [5], float_val=[1.5])),
        "short": parsed(proto(1, [5], float_val=[1.5, 2.5])),
        "none": parsed(proto(1, [2])),
        "many": parsed(proto(1, [2], float_val=[1, 2, 3])),
        "content": parsed(proto(1, [2], tensor_content=b"\0\0\x80\x3f" * 2)),
        "strings": parsed(proto(7, [2], string_val=[b"x"]), tf.string),
        "scalar": parsed(proto(3, int_val=[9]), tf.int32),
    })
    return answers(side, found)


@scenario("ParseTensor")
@fresh_graph
def tensors_serialized_badly(side):
    good = proto(1, [2], float_val=[1, 2])
    return answers(side, {
        "cut": parsed(good[:-1]), "text": parsed(b"abc"),
        "vector": parsed([good]), "type": parsed(good, tf.int32),
        "type of strings": parsed(good, tf.string)})


@scenario("ParseTensor")
@fresh_graph
def tensors_serialized_as_none(side):
    """TensorFlow prints the message, whose head changes from run to run."""
    found = answers(side, {
        "nothing": parsed(b""),
        "content": parsed(proto(1, [3], tensor_content=b"1234")),
        "negative": parsed(proto(1, [-3])),
        "huge": parsed(proto(1, [1 << 40, 1 << 40])),
        "no type": parsed(proto(99)),
        "reference": parsed(proto(101, [1], float_val=[1])),
        "field": parsed(b"\x08\x01\x12\x02\x12\x09")})
    return {name: str(told)[:53] for name, told in found.items()}
