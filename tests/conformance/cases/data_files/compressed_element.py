"""Cases of kernels/data_files/compressed_element.c."""
from tensorflow.core.framework import dataset_pb2, tensor_pb2
from tensorflow.core.framework import attr_value_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, data, elements,
                                                    hidden, raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

Element = dataset_pb2.CompressedElement


def spread(tensors):
    return raw.UncompressElement(
        compressed=raw.CompressElement(components=tensors),
        output_types=[t.dtype for t in tensors],
        output_shapes=[t.shape for t in tensors])


@scenario("CompressElement UncompressElement")
@fresh_graph
def elements_compressed(side):
    numbers = [tf.cast([[0, 1], [2, 3]], t) for t in (
        tf.float32, tf.float64, tf.int8, tf.uint8, tf.int16, tf.uint16,
        tf.int32, tf.int64, tf.uint32, tf.uint64, tf.bool, tf.half,
        tf.bfloat16, tf.complex64, tf.complex128)]
    many = tf.range(hidden(100000))
    made = {
        "numbers": numbers,
        "texts": [tf.constant(t) for t in ("", "a", ["b", "", "c" * 90])],
        "long": [tf.constant("x" * 70000), many],
        "none": [tf.zeros([0, 3]), tf.constant([], tf.string)],
        "mixed": [tf.constant(1), tf.constant("ab"), tf.constant([2.5])],
    }
    fetches = {name: spread(t) for name, t in made.items()}
    tensors = raw.EmptyTensorList(element_shape=-1, max_num_elements=3,
                                  element_dtype=tf.int32)
    tensors = raw.TensorListPushBack(input_handle=tensors, tensor=[4, 5])
    back = spread([tensors, tf.constant(6)])
    fetches["a list"] = raw.TensorListGetItem(
        input_handle=back[0], index=0, element_shape=[2], element_dtype=tf.int32)
    fetches["beside a list"] = back[1]
    return answers(side, fetches)


@scenario("CompressElement UncompressElement")
@fresh_graph
def elements_compressed_in_datasets(side):
    def packed(x):
        return raw.CompressElement(components=[x, tf.strings.as_string(x)])

    def unpacked(x):
        return tuple(raw.UncompressElement(
            compressed=x, output_types=[tf.int64, tf.string],
            output_shapes=[[], []]))
    return elements(side, {
        "through": lambda: data.range(5).map(packed).map(unpacked),
        "cached": lambda: data.range(5).map(packed).cache().repeat(2)
        .map(unpacked),
        "in a file": lambda: data.range(5).map(packed).cache(
            side.path("packed")).map(unpacked),
        "shuffled": lambda: data.range(5).map(packed).shuffle(5, seed=3)
        .map(unpacked),
    }, passes=2)


# What CompressElement gives for [1, 2, 3] and "abc".
PLAIN = b"\x0f\x38" + b"\1\0\0\0\2\0\0\0\3\0\0\0abc"


def message(change=None):
    e = Element(data=PLAIN)
    number, text = e.component_metadata.add(), e.component_metadata.add()
    number.dtype, text.dtype = 3, 7
    number.tensor_shape.dim.add().size = 3
    text.tensor_shape.SetInParent()
    number.uncompressed_bytes.append(12)
    text.uncompressed_bytes.append(3)
    if change:
        change(e)
    return e.SerializeToString()


def constant(metadata):
    """A variant as a graph has it."""
    proto = tensor_pb2.TensorProto(dtype=tf.variant.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    one = proto.variant_val.add()
    one.type_name = Element.DESCRIPTOR.full_name
    one.metadata = metadata
    return tf.get_default_graph().create_op(
        "Const", [], [tf.variant], attrs={
            "value": attr_value_pb2.AttrValue(tensor=proto),
            "dtype": attr_value_pb2.AttrValue(
                type=tf.variant.as_datatype_enum)}).outputs[0]


def uncompressed(compressed, types=(tf.int32, tf.string), shapes=((3,), ())):
    return raw.UncompressElement(compressed=compressed, output_types=types,
                                 output_shapes=shapes)


def setting(**fields):
    def change(e):
        for name, value in fields.items():
            setattr(e, name, value)
    return change


def sized(component, size):
    def change(e):
        e.component_metadata[component].uncompressed_bytes[0] = size
    return change


@scenario("UncompressElement")
@fresh_graph
def elements_uncompressed_damaged(side):
    good = constant(message())
    changes = {
        "empty": setting(data=b""),
        "cut": setting(data=PLAIN[:-2]),
        "no Snappy": setting(data=b"\x0f\xff\xff"),
        "endless": setting(data=b"\xff" * 9),
        "version": setting(version=1),
        "too long": sized(1, 5),
        "too short": sized(0, 11),
    }
    fetches = {name: uncompressed(constant(message(change)))
               for name, change in changes.items()}
    fetches.update({
        "good": uncompressed(good),
        "nothing": uncompressed(constant(b"")),
        "fewer": uncompressed(good, [tf.int32], [(3,)]),
        "more": uncompressed(good, [tf.int32] * 3, [(3,)] * 3),
        "other type": uncompressed(good, [tf.int64, tf.string]),
        "other shape": uncompressed(good, shapes=((5,), ())),
        "an optional": uncompressed(raw.OptionalNone()),
        "a list": uncompressed(raw.EmptyTensorList(
            element_shape=-1, max_num_elements=-1, element_dtype=tf.int32)),
        "two": uncompressed(hidden(tf.stack([good, good]))),
    })
    return answers(side, fetches)
