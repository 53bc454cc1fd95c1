"""Cases of kernels/list/composite_variant.c."""
import numpy as np
from tensorflow.core.protobuf import composite_tensor_variant_pb2, struct_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario

TYPES = [tf.float32, tf.bfloat16, tf.int32, tf.int64, tf.bool, tf.complex128,
         tf.string]


def metadata(number):
    return composite_tensor_variant_pb2.CompositeTensorVariantMetadata(
        type_spec_proto=struct_pb2.TypeSpecProto(
            type_spec_class=number)).SerializeToString()


def packed(parts, number=3):
    return raw.CompositeTensorVariantFromComponents(
        components=[hidden(p) for p in parts], metadata=metadata(number))


def parts_of(encoded, types, number=3):
    return list(raw.CompositeTensorVariantToComponents(
        encoded=encoded, metadata=metadata(number), Tcomponents=types))


@scenario("CompositeTensorVariantFromComponents "
          "CompositeTensorVariantToComponents", tol=0)
@fresh_graph
def components_and_back(side):
    all_types = packed([sample(t) for t in TYPES])
    two = packed([np.int64([1, 2]), "a"])
    number = packed([1.5])
    found = {
        "types": parts_of(all_types, TYPES),
        "hidden": parts_of(hidden(two), [tf.int64, tf.string]),
        "shapes": parts_of(packed([np.zeros([0, 3]), 1.0, np.ones([1, 1, 2])]),
                           [tf.float64, tf.float32, tf.float64]),
        "vector": parts_of(tf.reshape(two, [1]), [tf.int64, tf.string]),
        "grid": parts_of(tf.tile(tf.reshape(two, [1, 1]), [2, 1]),
                         [tf.int64, tf.string]),
        "within": parts_of(parts_of(raw.CompositeTensorVariantFromComponents(
            components=[number], metadata=metadata(1)), [tf.variant], 1)[0],
            [tf.float32]),
        "class": parts_of(two, [tf.int64, tf.string], 4),
        "no class": parts_of(two, [tf.int64, tf.string], 0),
        "few": parts_of(two, [tf.int64]),
        "many": parts_of(two, [tf.int64, tf.string, tf.int32]),
        "type": parts_of(two, [tf.int64, tf.int32]),
        "none": parts_of(tf.reshape(two, [1])[:0], [tf.int64, tf.string]),
        "bytes": list(raw.CompositeTensorVariantToComponents(
            encoded=two, metadata=b"\xff", Tcomponents=[tf.int64, tf.string])),
        "bytes in": parts_of(raw.CompositeTensorVariantFromComponents(
            components=[number], metadata=b"\x0a\x03\x0a\x09a"), [tf.variant]),
    }
    for n in (1, 2, 5, 6, 7, 8, 9, 10, 12, 13):
        found["class %d" % n] = parts_of(packed([1.0], n), [tf.float32], n)
        found["other than %d" % n] = parts_of(packed([1.0], n), [tf.float32])
    return answers(side, found)


@scenario("CompositeTensorVariantFromComponents "
          "CompositeTensorVariantToComponents")
@fresh_graph
def gradients_of_components(side):
    a, b = (tf.constant(v) for v in ([1.0, 2.0, 3.0], [4.0]))
    parts = list(raw.CompositeTensorVariantToComponents(
        encoded=raw.CompositeTensorVariantFromComponents(
            components=[a, b], metadata=metadata(3)),
        metadata=metadata(3), Tcomponents=[tf.float32] * 2))
    return answers(side, {
        "both": tf.gradients([parts[0] * parts[0], parts[1]], [a, b]),
        "one": tf.gradients(parts[0] * 3.0, [a])})
