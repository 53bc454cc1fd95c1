"""Cases of kernels/parse/parse_example.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

F, I, S = tf.float32, tf.int64, tf.string


def feature(value):
    if isinstance(value[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    if isinstance(value[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature={
        k: feature(v) for k, v in features.items()})).SerializeToString()


def field(tag, content):
    return bytes([tag << 3 | 2, len(content)]) + content


def entry(key, value):
    """An Example with one feature, byte by byte."""
    return field(1, field(1, field(1, key) + field(2, value)))


ONE = example(a=[1, -2, 3 << 40], b=[1.5], c=[b"x", b"y" * 30])
TWO = example(b=[2.5], c=[b"z"])
THREE = example(a=[7], d=[1.0, 2.0, 3.0, 4.0], unknown=[1])
UNPACKED = entry(b"a", field(3, b"\x08\x05\x08\x80\x01")) + entry(
    b"b", field(2, b"\x0d\x00\x00\x80\x3f"))
BATCH = [ONE, TWO, b"", THREE, ONE + THREE, UNPACKED]


def dense(key, dtype, shape, default=()):
    return key, dtype, shape, np.array(default, dtype.as_numpy_dtype)


def second(serialized, sparse=(), dense=(), ragged=(), names=(), **more):
    """ParseExampleV2, its outputs as one flat list."""
    def keys(found):
        return hidden(np.array([one[0] for one in found], np.str_))
    made = raw.ParseExampleV2(
        serialized=hidden(np.array(serialized, object)),
        names=hidden(np.array(names, np.str_)),
        sparse_keys=more.get("sparse_keys", keys(sparse)),
        dense_keys=more.get("dense_keys", keys(dense)),
        ragged_keys=more.get("ragged_keys", keys(ragged)),
        dense_defaults=[hidden(tf.constant(one[3], one[1])) for one in dense],
        num_sparse=len(sparse), sparse_types=[one[1] for one in sparse],
        ragged_value_types=[one[1] for one in ragged],
        ragged_split_types=[one[2] for one in ragged],
        dense_shapes=[one[2] for one in dense])
    return [part for parts in made for part in parts]


SPARSE = [("a", I), ("c", S), ("d", F), ("q", S)]
DENSE = [dense("b", F, [], 9.), dense("m", I, [2, 2], [[1, 2], [3, 4]]),
         dense("e", S, [1], [b"none"])]
PADDED = [dense("a", I, [None], [7]), dense("c", S, [None, 1], [b"pad"]),
          dense("d", F, [None, 2], [-1.]), dense("z", I, [None, 3], [5])]
RAGGED = [("a", I, tf.int32), ("c", S, I), ("zz", F, I)]


@scenario("ParseExampleV2")
@fresh_graph
def examples(side):
    found = {}
    for name, given in (("batch", BATCH), ("one", [ONE]), ("empty", [])):
        found[name + " sparse"] = second(given, SPARSE)
        found[name + " dense"] = second(given, dense=DENSE)
        found[name + " padded"] = second(given, dense=PADDED)
        found[name + " ragged"] = second(given, ragged=RAGGED)
        found[name + " all"] = second(
            given, SPARSE[1:], [DENSE[0], PADDED[3]], RAGGED[:1],
            names=["n%d" % i for i in range(len(given))])
    for name, given in (("full", ONE), ("nothing", b""), ("odd", THREE),
                        ("unpacked", UNPACKED)):
        found["single sparse " + name] = second(given, SPARSE)
        found["single dense " + name] = second(given, dense=DENSE)
        found["single padded " + name] = second(given, dense=PADDED)
        found["single ragged " + name] = second(given, ragged=RAGGED)
    return answers(side, found)


WRONG = {
    "type dense": dict(dense=[dense("a", F, [3])]),
    "type padded": dict(dense=[dense("a", F, [None], [1.])]),
    "type sparse": dict(sparse=[("a", S)]),
    "type ragged": dict(ragged=[("c", I, I)]),
    "few": dict(dense=[dense("a", I, [4])]),
    "many": dict(dense=[dense("a", I, [2])]),
    "few strings": dict(dense=[dense("c", S, [3])]),
    "few floats": dict(dense=[dense("b", F, [2])]),
    "stride": dict(dense=[dense("a", I, [None, 2], [0])]),
    "stride strings": dict(dense=[dense("c", S, [None, 3], [b""])]),
    "required": dict(dense=[dense("m", F, [2])]),
    "default's shape": dict(dense=[dense("a", I, [3], [1, 2])]),
    "no padding": dict(dense=[dense("a", I, [None])]),
}
BROKEN = {"cut": example(c=[b"x", b"y"])[:-1], "text": b"abc", "cut features": b"\x0a\x05abc",
          "datatype": entry(b"a", b"\x22\x00"), "wire": b"\x08\x01" + b"\x0b",
          "empty list": entry(b"a", b"\x1a\x00")}


@scenario("ParseExampleV2")
@fresh_graph
def bad_examples(side):
    found = {}
    for name, wanted in WRONG.items():
        found[name] = second([ONE], **wanted)
        found[name + ", named"] = second([ONE], names=["n"], **wanted)
        found[name + ", single"] = second(ONE, **wanted)
    for name, broken in BROKEN.items():
        found[name] = second([ONE, broken], [("a", I)])
        found[name + ", single"] = second(broken, [("a", I)])
    found["matrix"] = second([[ONE]], [("a", I)])
    found["names"] = second([ONE], [("a", I)], names=["a", "b"])
    found["name of one"] = second(ONE, [("a", I)], names=["a"])
    return answers(side, found)


def first(serialized, sparse=(), dense=(), names=()):
    made = raw.ParseExample(
        serialized=hidden(np.array(serialized, object)),
        names=hidden(np.array(names, np.str_)),
        sparse_keys=[hidden(one[0]) for one in sparse],
        dense_keys=[hidden(one[0]) for one in dense],
        dense_defaults=[hidden(tf.constant(one[3], one[1])) for one in dense],
        sparse_types=[one[1] for one in sparse],
        dense_shapes=[one[2] for one in dense])
    return [part for parts in made for part in parts]


def single(serialized, sparse=(), dense=()):
    made = raw.ParseSingleExample(
        serialized=hidden(np.array(serialized, object)),
        dense_defaults=[hidden(tf.constant(one[3], one[1])) for one in dense],
        num_sparse=len(sparse), sparse_keys=[one[0] for one in sparse],
        dense_keys=[one[0] for one in dense],
        sparse_types=[one[1] for one in sparse],
        dense_shapes=[one[2] for one in dense])
    return [part for parts in made for part in parts]


@scenario("ParseExample ParseSingleExample")
@fresh_graph
def older_examples(side):
    found = {"first": first(BATCH, SPARSE, DENSE),
             "first padded": first(BATCH, SPARSE[:1], PADDED[1:]),
             "first none": first([], SPARSE, DENSE),
             "first scalar": first(ONE, SPARSE)}
    for name, given in (("full", ONE), ("nothing", b""), ("odd", THREE)):
        found["single " + name] = single(given, SPARSE, DENSE)
        found["single padded " + name] = single(given, [], PADDED)
    found["single vector"] = single([ONE], SPARSE)
    for name, wanted in WRONG.items():
        if "ragged" not in wanted:
            found["first " + name] = first([TWO, ONE], **wanted)
            found["single " + name] = single(ONE, **wanted)
    for name, broken in BROKEN.items():
        found["first " + name] = first([ONE, broken], [("a", I)])
        found["single " + name] = single(broken, [("a", I)])
    return answers(side, found)
