"""Cases of kernels/proto/encode_proto.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.proto_messages import P, T
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

BIG = 4294967295


def encoded(sizes, values, names, message="t.M", place=T):
    """values: (elements, type) of each field."""
    return raw.EncodeProto(
        sizes=hidden(np.array(sizes, np.int32)),
        values=[hidden(tf.constant(value, kind)) for value, kind in values],
        field_names=names, message_type=message, descriptor_source=place)


def one(name, value, kind, **more):
    """Of one message, all values of one field."""
    return encoded([[len(value)]], [([value], kind)], [name], **more)


@scenario("EncodeProto")
@fresh_graph
def proto_written(side):
    found = {}
    for name, value, kind in (
            ("i32", [5, -5], tf.int32), ("i32", [-5, 1 << 32 | 7], tf.int64),
            ("i64", [1 << 62, -1], tf.int64), ("u32", [BIG], tf.uint32),
            ("u32", [BIG, 1 << 33 | 5], tf.uint64),
            ("u64", [1 << 63], tf.uint64), ("s32", [-3, 3], tf.int32),
            ("s32", [-3, 1 << 40], tf.int64), ("s64", [-3, 3], tf.int64),
            ("f32", [BIG], tf.uint32), ("f32", [1 << 33 | 3], tf.uint64),
            ("f64", [5], tf.uint64), ("sf32", [-1], tf.int32),
            ("sf32", [-1], tf.int64), ("sf64", [-1], tf.int64),
            ("fl", [.1, -0.0], tf.float32),
            ("fl", [.1, 1e300, np.nan], tf.float64), ("db", [.1], tf.float64),
            ("b", [True, False], tf.bool), ("s", [b"a", b"\xff"], tf.string),
            ("by", [b"", b"\0"], tf.string), ("e", [7, -3], tf.int32),
            ("sub", [b"\x08\x05", b"xx"], tf.string),
            ("grp", [b"\x08\x05", b""], tf.string), ("ri32", [1, 2], tf.int32),
            ("rs", [b"a", b"b" * 99], tf.string), ("m", [b"a"], tf.string),
            ("pi32", [-1, 5], tf.int64), ("pi32", [-1, 5], tf.int32),
            ("pfl", [.5, 1], tf.float64), ("pb", [True, False], tf.bool),
            ("pe", [-1, 2], tf.int32), ("ps32", [-1, 1 << 40], tf.int64),
            ("pu32", [BIG, 0], tf.uint32), ("pi64", [-1], tf.int64),
            ("psf32", [-1], tf.int64), ("pf64", [1], tf.uint64),
            ("pdb", [.1], tf.float64)):
        found["%s %s" % (name, kind.name)] = one(name, value, kind)
    found.update({
        "order": encoded([[1, 1, 2]], [([["a"]], tf.string), (
            [[5]], tf.int32), ([[1, 2, 3]], tf.int32)], ["s", "i32", "ri32"]),
        "batch": encoded([[[1, 0], [0, 2]]], [
            ([[[5], [6]]], tf.int32), ([[[1, 2], [3, 4]]], tf.int32)],
            ["i32", "pi32"]),
        "twice": encoded([[1, 1]], [([[5]], tf.int32), ([[6]], tf.int32)],
                         ["i32", "i32"]),
        "no messages": encoded(np.zeros([0, 1]), [
            (np.zeros([0, 3]), tf.int32)], ["i32"]),
        "no values": encoded([[0]], [(np.zeros([1, 0]), tf.int32)], ["i32"]),
        "proto3": one("ri", [0, -1], tf.int64, message="p.M", place=P),
        "proto3, zero": one("i", [0], tf.int32, message="p.M", place=P),
        "local": one("value", [1, 2], tf.int64, message="tensorflow.Int64List",
                     place="local://")})
    for name, kind in (("i32", tf.int32), ("pi32", tf.int32),
                       ("pfl", tf.float32), ("psf32", tf.int32),
                       ("ps32", tf.int32)):
        found["below 0 " + name] = encoded([[-2]], [([[5]], kind)], [name])
    return answers(side, found)


@scenario("EncodeProto")
@fresh_graph
def proto_not_written(side):
    five = ([[5]], tf.int32)
    found = {
        "too many": encoded([[2]], [five], ["i32"]),
        "vector": encoded([1], [([5], tf.int32)], ["i32"]),
        "scalar": encoded([[1]], [(5, tf.int32)], ["i32"]),
        "rank of sizes": encoded([[1]], [([[[5]]], tf.int32)], ["i32"]),
        "more sizes": encoded([[1, 1]], [five], ["i32"]),
        "batches": encoded([[1, 1]], [five, ([[5], [6]], tf.int64)],
                           ["i32", "i64"]),
        "no names": encoded([[1]], [five], []),
        "more names": encoded([[1]], [five], ["i32", "i64"]),
        "unknown": encoded([[1]], [five], ["nope"]),
        "extension": encoded([[1]], [five], ["t.ext"]),
        "message": encoded([[1]], [five], ["i32"], "t.Nope"),
        "source": encoded([[1]], [five], ["i32"], place="nowhere")}
    for name, kind in (("i32", tf.float32), ("u32", tf.int32),
                       ("s", tf.int32), ("e", tf.int64), ("sub", tf.int32),
                       ("grp", tf.int32), ("db", tf.float32),
                       ("fl", tf.float16)):
        found["%s as %s" % (name, kind.name)] = encoded(
            [[1]], [([[5]], kind)], [name])
    return answers(side, found)
