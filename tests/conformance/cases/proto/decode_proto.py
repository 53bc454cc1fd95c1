"""Cases of kernels/proto/decode_proto.c, and of how descriptors are read."""
import numpy as np

from google.protobuf import descriptor_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.proto_messages import (P, T, enum, fill, oneof,
                                                    source, three, two)
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

SAME = dict(
    i32=tf.int32, i64=tf.int64, u32=tf.uint32, u64=tf.uint64, s32=tf.int32,
    s64=tf.int64, f32=tf.uint32, f64=tf.uint64, sf32=tf.int32, sf64=tf.int64,
    fl=tf.float32, db=tf.float64, b=tf.bool, s=tf.string, by=tf.string,
    e=tf.int32, e2=tf.int32, sub=tf.string, grp=tf.string, nan=tf.float64)
LISTS = dict(
    ri32=tf.int32, pi32=tf.int32, rs=tf.string, rsub=tf.string, rgrp=tf.string,
    ps32=tf.int32, pfl=tf.float32, pb=tf.bool, pe=tf.int32, m=tf.string,
    pu32=tf.uint32, pi64=tf.int64, psf32=tf.int32, pf64=tf.uint64, re=tf.int32,
    pdb=tf.float64)
WIDE = dict(
    i32=tf.int64, u32=tf.uint64, s32=tf.int64, f32=tf.uint64, sf32=tf.int64,
    fl=tf.float64, ri32=tf.int64, pi32=tf.int64, ps32=tf.int64, pfl=tf.float64,
    pu32=tf.uint64, psf32=tf.int64)
LONG = b"\xff" * 9


def decoded(messages, fields, message="t.M", place=T, types=None, **more):
    names = list(fields)
    made = raw.DecodeProtoV2(
        bytes=hidden(np.array(messages, object)), message_type=message,
        field_names=names,
        output_types=types or [fields[name] for name in names],
        descriptor_source=place, **more)
    return [made.sizes] + list(made.values)


def some(messages, *names, **more):
    fields = dict(SAME, **LISTS)
    fields.update({"t.ext": tf.int32, "t.rext": tf.string})
    return decoded(messages, {name: fields[name] for name in names}, **more)


def nested(count, begin, end):
    return begin * count + end * count


@scenario("DecodeProtoV2")
@fresh_graph
def proto_values(side):
    every = b"".join([
        b"\x08\x85" + LONG[:8] + b"\x01", b"\x10\x07\x18\xff\xff\xff\xff\x0f",
        b"\x20\x09\x28\x03\x30\x05", b"\x3d\xff\xff\xff\xff", b"\x41abcdefgh",
        b"\x4d\xfd\xff\xff\xff\x51\xfe\xff\xff\xff\xff\xff\xff\xff",
        b"\x5d\xcd\xcc\xcc\x3d\x61abcdefgh", b"\x68\x00\x72\x03abc",
        b"\x7a\x02\x00\xff\x80\x01\x07\x92\x01\x02\x08\x05",
        b"\x9b\x01\x08\x85\x80\x00\x12\x81\x00a\x9c\x01"])
    lists = b"".join([
        b"\xa8\x01\x05\xaa\x01\x02\x06\x07\xa8\x01\x08",
        b"\xb2\x01\x0b\xff" + LONG + b"\x01\x05"[:1] + b"\x05"[:0],
        b"\xba\x01\x01a\xba\x01\x00\xc2\x01\x02\x08\x01\xc2\x01\x00",
        b"\xcb\x01\x08\x01\xcc\x01\xcb\x01\xcc\x01\xd2\x01\x02\x03\x04",
        b"\xda\x01\x08abcdefgh\xe2\x01\x03\x00\x01\x05",
        b"\xea\x01\x0b\xfd" + LONG[:8] + b"\x01\x02",
        b"\xf2\x01\x05\x0a\x01a\x10\x05\x92\x02\x05\xff\xff\xff\xff\x0f",
        b"\x9a\x02\x0a" + LONG + b"\x01\xa2\x02\x04\xfd\xff\xff\xff",
        b"\xaa\x02\x08abcdefgh\xb0\x02\x01\xb2\x02\x02\x02\x07",
        b"\xba\x02\x10abcdefghijklmnop"])
    wide = (b"\x08" + LONG + b"\x01\x18\xff\xff\xff\xff\x0f\x28\x03"
            b"\x3d\xff\xff\xff\xff\x4d\xfd\xff\xff\xff\x5d\xcd\xcc\xcc\x3d"
            b"\xa8\x01" + LONG + b"\x01\xaa\x01\x0b" + LONG + b"\x01\x05"
            b"\xb2\x01\x0b" + LONG + b"\x01\x05\xd2\x01\x01\x03"
            b"\xda\x01\x04\xcd\xcc\xcc\x3d\x92\x02\x05\xff\xff\xff\xff\x0f"
            b"\xa2\x02\x04\xfd\xff\xff\xff")
    found = {
        "none": decoded([b""], SAME), "no lists": decoded([b""], LISTS),
        "all": decoded([every, b""], SAME),
        "wide": decoded([wide, b""], WIDE),
        "scalar": some(b"\x08\x05", "i32"),
        "matrix": some([[b"\x08\x05", b""], [b"\xa8\x01\x01\xa8\x01\x02", b""]],
                       "i32", "ri32"),
        "order": some([b"\x10\x06\x72\x02ab\x08\x07\x10\x08\x72\x01c"],
                      "s", "i64", "i32"),
        "twice": some([b"\x08\x05\x08\x06"], "i32"),
        "oneof": some([b"\xf8\x01\x05\x8a\x02\x01a"], "s"),
        "extensions": some([b"\xa0\x06\x05\xaa\x06\x01a\xaa\x06\x01b"],
                           "t.ext", "t.rext"),
        "same name": decoded([b"\x08\x03\x08\x04", b"\x10\x06\x08\x07"], [
            "i32", "i32", "i64"], types=[tf.int32, tf.int64, tf.int64]),
        "no fields": decoded([b"\x08\x05"], {}),
        "other message": decoded([b"\x08\x05"], dict(g=tf.int32), "t.M.Grp"),
        "entry": decoded([b"\x0a\x01a"], dict(key=tf.string, value=tf.int32),
                         "t.M.MEntry"),
        "proto3": decoded([b"\x08\x05\x1a\x02\x01\x02\x18\x03", b""], dict(
            i=tf.int32, ri=tf.int64, s=tf.string, e=tf.int32, m=tf.string),
            "p.M", P)}
    for name in LISTS:
        found["lists " + name] = some([lists, b""], name)
    return answers(side, found)


@scenario("DecodeProtoV2")
@fresh_graph
def proto_bytes(side):
    """Hostile ones, each with what is asked of it."""
    found = {}
    for name, message, field in (
            ("cut", b"\x08", "i32"), ("long", b"\x08" + LONG + b"\x7f", "i32"),
            ("too long", b"\x08" + LONG + b"\xff\x01", "i32"),
            ("past end", b"\x72\x05abc", "s"),
            ("huge", b"\x72\xff\xff\xff\xff\x0f", "s"),
            ("end of group", b"\x08\x05\x0c\x08\x06", "i32"),
            ("tag 0", b"\x08\x05\x00\x08\x06", "i32"),
            ("number 0", b"\x08\x05\x02\x01a", "i32"),
            ("wire 6", b"\x0e", "i32"), ("wire 7", b"\x17", "i32"),
            ("wrong wire", b"\x0d\x05\x05\x05\x05", "i32"),
            ("wrong wire, cut", b"\x0d\x05\x05", "i32"),
            ("number as string", b"\x70\x05", "s"),
            ("unknown, cut", b"\x15\x05\x05\x05", "i32"),
            ("long tag", b"\x88\x80\x80\x80\x80\x01\x07", "i32"),
            ("longest tag", b"\x88" + b"\x80" * 8 + b"\x01\x07", "i32"),
            ("too long tag", b"\x88" + b"\x80" * 9 + b"\x01\x07", "i32"),
            ("group, open", b"\x9b\x01\x08\x05", "grp"),
            ("group, other end", b"\x9b\x01\x08\x05\x0c", "grp"),
            ("group, packed", b"\x9a\x01\x01a", "grp"),
            ("group, empty and packed", b"\x9a\x01\x00", "grp"),
            ("packed, no list", b"\x0a\x02\x05\x06", "i32"),
            ("packed, then not", b"\x08\x07\x0a\x02\x05\x06", "i32"),
            ("packed, empty", b"\xaa\x01\x00", "ri32"),
            ("packed, empty at end", b"\xa8\x01\x05\xaa\x01\x00", "ri32"),
            ("packed, cut", b"\xaa\x01\x02\x80\x80", "ri32"),
            ("packed, long", b"\xaa\x01\x0c" + b"\x80" * 11 + b"\x01", "ri32"),
            ("packed, past end", b"\xaa\x01\x0c\x80", "ri32"),
            ("packed, huge", b"\xaa\x01\xff\xff\xff\xff\xff\x01", "ri32"),
            ("packed, fixed", b"\xda\x01\x03abc", "pfl"),
            ("packed bool", b"\xe2\x01\x02\x80\x01", "pb")):
        found[name] = some([b"", message], field)
    for depth in (98, 99, 100, 101, 5000):
        inner = nested(depth, b"\x0b", b"\x0c")
        found["in group, %d" % depth] = some([b"\x9b\x01" + inner +
                                              b"\x9c\x01"], "grp")
        found["unknown group, %d" % depth] = some([inner], "s")
    return answers(side, found)


@scenario("DecodeProtoV2")
@fresh_graph
def proto_attributes(side):
    found = {"no messages": some(np.zeros([0], object), "i32"),
             "format": some([b""], "i32", message_format="json"),
             "fewer types": decoded([b""], ["i32", "i64"], types=[tf.int32]),
             "more types": decoded([b""], ["i32"], types=[tf.int32] * 2)}
    for name, kind in (
            ("nope", tf.int32), ("ext", tf.int32), ("M", tf.string),
            ("t.M.i32", tf.int32), ("Grp", tf.string), ("i32", tf.string),
            ("i32", tf.float32), ("sub", tf.int32), ("fl", tf.float16),
            ("s", tf.int32), ("e", tf.int64), ("b", tf.int32),
            ("grp", tf.int32), ("s32", tf.uint32), ("f64", tf.int64),
            ("by", tf.float32), ("t.ext", tf.string), ("", tf.int32)):
        found["%s %s" % (name, kind.name)] = decoded([b""], {name: kind})
    for name in ("t.Nope", ".t.M", "t.Color", "", "M", "t.M.i32", "t"):
        found["message " + name] = some([b""], "i32", message=name)
    for place in ("local://x", b"bytes://abc", b"bytes://", "BYTES://"):
        found[place] = some([b""], "i32", place=place)
    return answers(side, found)


@scenario("DecodeProtoV2")
@fresh_graph
def proto_local(side):
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([1, -2])
    bytes_ = example.SerializeToString()
    entry_ = example.features.SerializeToString()
    shape = tf.TensorShape([2, 3]).as_proto().SerializeToString()
    found = {"example": decoded([bytes_], dict(features=tf.string),
                                "tensorflow.Example", "local://"),
             "features": decoded([entry_], dict(feature=tf.string),
                                 "tensorflow.Features", ""),
             "shape": decoded([shape], dict(dim=tf.string, unknown_rank=tf.bool),
                              "tensorflow.TensorShapeProto", "local://"),
             "none": decoded([b""], dict(a=tf.string), "tensorflow.Nope",
                             "local://")}
    for name, kind in (("BytesList", tf.string), ("FloatList", tf.float32),
                       ("Int64List", tf.int64)):
        found[name] = decoded([b"\x0a\x04abcd"], dict(value=kind),
                              "tensorflow." + name, "local://")
    return answers(side, found)


@scenario("DecodeProtoV2")
@fresh_graph
def proto_file(side):
    with open(side.path("set"), "wb") as file:
        file.write(T[len(b"bytes://"):])
    with open(side.path("no set"), "wb") as file:
        file.write(b"abc")
    with side.session() as session:
        found = {}
        for name in ("set", "no set", "nothing"):
            value = told(session, some([b"\x08\x05"], "i32",
                                       place=side.path(name)))
            if isinstance(value, str):
                found[name] = value.replace(side.path(name), "FILE")
            else:
                found[name], found[name + " i32"] = value
        return found


def cut(found):
    """Why a file is refused each says in its own words."""
    return {name: value.split("FileDescriptorProto:")[0]
            if isinstance(value, str) else value
            for name, value in found.items()}


def asked(place, message="q.M", field="a"):
    return decoded([b""], {field: tf.int32}, message, place)


def changed(**fields):
    """A file with one message of one field, whose description has these."""
    file = descriptor_pb2.FileDescriptorProto(name="f", package="q")
    fill(file.message_type.add(name="M"), [("a", 1, "int32", None)])
    for name, value in fields.items():
        if value is None:
            file.message_type[0].field[0].ClearField(name)
        else:
            setattr(file.message_type[0].field[0], name, value)
    return file


@scenario("DecodeProtoV2")
@fresh_graph
def proto_descriptors(side):
    found = {name: asked(source(changed(**fields))) for name, fields in (
        ("good", {}), ("number 0", dict(number=0)), ("no number", dict(
            number=None)), ("large number", dict(number=1 << 29)),
        ("no label", dict(label=None)), ("no type", dict(type=None)),
        ("no name", dict(name="")), ("bad name", dict(name="a-b")),
        ("unknown type", dict(type=11, type_name=".q.N")),
        ("its own", dict(type=11, type_name="M")),
        ("no name of type", dict(type=11)),
        ("name alone", dict(type=None, type_name="q.M")),
        ("number with name", dict(type_name=".q.M")),
        ("no enum", dict(type=14, type_name=".q.M")),
        ("default", dict(default_value="-12")),
        ("hex default", dict(default_value="0x10")),
        ("bad default", dict(default_value="x")),
        ("large default", dict(default_value="99999999999")),
        ("no oneof", dict(oneof_index=3)),
        ("extendee", dict(extendee=".q.M")))}
    for name, change in (
            ("twice a name", lambda f: fill(f.message_type[0], [
                ("a", 2, "int32", None)])),
            ("twice a number", lambda f: fill(f.message_type[0], [
                ("b", 1, "int32", None)])),
            ("twice a message", lambda f: f.message_type.add(name="M")),
            ("empty oneof", lambda f: oneof(f.message_type[0], "o")),
            ("empty enum", lambda f: enum(f, "E")),
            ("packed string", lambda f: fill(f.message_type[0], [
                ("b", 2, "+string", None)])),
            ("package", lambda f: setattr(f, "package", "q..r")),
            ("import", lambda f: f.dependency.append("g")),
            ("syntax", lambda f: setattr(f, "syntax", "proto4")),
            ("proto3", lambda f: setattr(f, "syntax", "proto3")),
            ("no file name", lambda f: f.ClearField("name")),
            ("entry", lambda f: setattr(f.message_type[0].options, "map_entry",
                                        True)),
            ("extension", lambda f: f.extension.add(
                name="x", number=100, label=1, type=5, extendee=".q.M"))):
        file = changed()
        change(file)
        found[name] = asked(source(file))
    for name, fields in (("default", dict(default_value="1")),
                         ("required", dict(label=2)),
                         ("group", dict(type=10, type_name="M"))):
        file = changed(**fields)
        file.syntax = "proto3"
        found["proto3 " + name] = asked(source(file))
    first, second = changed(), changed(type=11, type_name=".q.M")
    second.name, second.message_type[0].name = "g", "N"
    fill(second.message_type[0], [("b", 2, "int32", None)])
    found["no import"] = asked(source(first, second), "q.N", "b")
    second.dependency.append("f")
    found["imported"] = asked(source(first, second), "q.N", "b")
    found["too late"] = asked(source(second, first), "q.N", "b")
    found["same file"] = asked(source(first, first))
    third = changed(type=11, type_name=".q.M")
    third.name, third.message_type[0].name = "h", "O"
    fill(third.message_type[0], [("b", 2, "int32", None)])
    third.dependency.append("g")
    found["not passed on"] = asked(source(first, second, third), "q.O", "b")
    second.public_dependency.append(0)
    found["passed on"] = asked(source(first, second, third), "q.O", "b")
    return cut(answers(side, found))


def held(message):
    """As the field `sub` of p.M, whose bytes show what is written."""
    size = len(message)
    return b"\x2a" + (bytes([size]) if size < 128 else
                      bytes([size & 127 | 128, size >> 7])) + message


@scenario("DecodeProtoV2")
@fresh_graph
def proto_sanitized(side):
    found = {}

    def add(name, message):
        found[name] = decoded([message], dict(sub=tf.string), "p.M", P,
                              sanitize=True)

    for message in (
            b"", b"\x12\x01a\x08\x05", b"\x08\x05\x08\x06", b"\x08\x00",
            b"\x5d\x00\x00\x00\x80", b"\x5d\x00\x00\x00\x00",
            b"\x18\x05\x18\x06\x1a\x01\x07", b"\x20\x07",
            b"\x50\x07\x52\x01\x09", b"\x1a\x00",
            b"\xf0\x07\x05\x08\x01\xf2\x07\x01a\xf3\x07\x08\x05\xf4\x07",
            b"\xf0\x07\x85\x80\x00\x08\x81\x00",
            b"\x3a\x05\x0a\x01b\x12\x00\x3a\x07\x0a\x01b\x12\x02\x08\x05",
            b"\x3a\x03\x0a\x01b", b"\x3a\x00", b"\x3a\x02\x12\x00",
            b"\x82\x01\x05\x08\x05\x12\x01a\x82\x01\x03\x12\x01c",
            b"\x82\x01\x07\x08\x05\x12\x01a\x18\x05",
            b"\x40\x05\x4a\x02\x08\x01", b"\x4a\x02\x08\x01\x40\x05",
            b"\x4a\x02\x08\x01\x40\x05\x4a\x02\x18\x02",
            b"\x4a\x02\x08\x01\x4a\x02\x18\x02", b"\x40\x00",
            b"\x12\x01\xff", b"\x72\x01\xff", b"\x7a\x01\xff",
            b"\x3a\x03\x0a\x01\xff", b"\x12\x03\xed\xa0\x80",
            b"\x12\x02\xc0\x80", b"\x12\x04\xf4\x90\x80\x80",
            b"\x12\x04\xf0\x9f\x98\x80", b"\x0d\x01\x02\x03\x04\x08\x03",
            b"\x10\x05", b"\x0a\x02\x05\x06", b"\x30\x00", b"\x68\x00",
            b"\x68\x07", b"\x08", b"\x0c", b"\x00", b"\x0b\x0c", b"\x0b",
            b"\x08\xff\xff\xff\xff\x0f", b"\x08\x85\x80\x80\x80\x80\x80\x01",
            b"\x72\x05abc", b"\x1a\x02\x80\x80", b"\x02\x00", b"\x0f"):
        add(repr(message), held(message))
    add("merged", held(b"\x08\x01\x18\x01") + held(b"\x18\x02\x08\x02"))
    message = b""
    for depth in range(103):
        if depth > 97:
            add("depth %d" % depth, message)
        message = held(message)
    for name, message in (("e", b"\x80\x01\x07"), ("e", b"\x80\x01\x02"),
                          ("sub", b"\x92\x01\x04\x12\x01\xff\x12"),
                          ("sub", b"\x92\x01\x03\x12\x01\xff"),
                          ("grp", b"\x9b\x01\x10\x05\x08\x85\x00\x9c\x01"),
                          ("t.ext", b"\xa0\x06\x05"), ("i32", b"\x08\x00"),
                          ("rgrp", b"\xcb\x01\x0b\x0c\xcc\x01")):
        found["%s %r" % (name, message)] = some([message], name, sanitize=True)
    for message in (b"\x10\x05", b"\x08\x05", b"\x08\x05\x08\x06\x10\x01"):
        found["required %r" % message] = decoded(
            [message], dict(x=tf.int32, y=tf.int32), "t.R", sanitize=True)
    return answers(side, found)


THREES = [
    "", "i: 5 s: 'a'", "s: 'a' i: 5", "i: 0", "i: 0x1F", "i: 017", "i: -017",
    "i: - 5", "i: +5", "i: 5 i: 6", "ri: 1 ri: 2", "ri: [1,2]", "ri: []",
    "ri: [1,]", "ri [1,2]", "i: [1]", "i: [1,2]", "i 5", "e: ONE", "e: 1",
    "e: 7", "e: -1", "e: TWO", "e: one", "f: 1", "f: 1.5f", "f: 1e50", "f: inf",
    "f: -inf", "f: nan", "f: -nan", "f: Infinity", "f: 0x10", "f: 010", "f: 1.",
    "f: .5", "f: -.5", "d: 1e400", "d: 1F", "b: true", "b: t", "b: True",
    "b: 1", "b: 0", "b: 2", "b: TRUE", "b: false", "b: f", "b: False",
    "by: '\\x00\\377\\n' 'b'", "by: '\\u00e9\\U0001F600'", "s: '\\xff'",
    "s: 'a\nb'", "s: \"a'b\"", "s: 'a'; i: 5, f: 1", "i: 5;;", "sub: { i: 1 }",
    "sub < i: 1 >", "sub < i: 1 }", "sub { i: 1 } sub { i: 2 }", "o1: 1 o2 {}",
    "o1: 0", "o2 {} o1: 1", "oi: 0", "oi: 3", "m { key: 'a' value { i: 1 } }",
    "m: [{key: 'a'},{key:'b'}]", "m { key: 'a' } m { key: 'a' value { i: 2} }",
    "m { }", "nope: 5", "1: 5", "i: 5 # c\n", "# c\ni: 5", "i: 2147483648",
    "i: -2147483648", "i: -2147483649", "i: 5.0", "i: '5'", "s: 5",
    "i: 99999999999999999999", "f: 99999999999999999999999", "re: [ONE, ZERO]",
    "re: ONE re: 5", "[p.x]: 5", "I: 5", "i : 5", "i:5s:'a'", "i:5f:1", "i: 5u",
    "s: 'abc", "s: '\\q'", "s: '\\8'", "by: '\\x'", "by: '\\?\\a\\v\\0012'",
    "i: 0x", "i: 08", "i: 1e3", "sub {}", "/* */ i: 5", "// x\ni: 5", "i: 5 }",
    "d: 1e-400", "d: 4.9e-324", "f: 3.4e39", "f: 1_0", "i: --5", "f: - 1",
    "f: - inf", "b: -1", "i: true", "rs: ['a','b' 'c']",
    "rs: 'a' 'b' rs: 'c'", "d: nanx", "s: u'a'", "d: -0.0", "d: -0", "f: -0x0"]
TWOS = [
    "e: GREEN", "e: 7", "e: BLUE", "e: -3", "Grp { g: 1 }", "grp { g: 1 }",
    "GRP { g: 1 }", "Rgrp { g: 1 } Rgrp { g: 2 }", "rgrp: [{g: 1}]",
    "[t.ext]: 5", "[t.rext]: ['a','b']", "[t.ext]: 5 [t.ext]: 6",
    "[t.nope]: 5", "s: '\\xff'", "re: [7]", "u32: -1", "u32: 4294967296",
    "u64: 18446744073709551615", "u64: 18446744073709551616",
    "i64: -9223372036854775808", "s32: -5", "m { key: 'a' value: 5 }",
    "o1: 1 o3: 'a'"]


@scenario("DecodeProtoV2")
@fresh_graph
def proto_text(side):
    found = {"deep": decoded(["sub {" * 60 + "}" * 60], dict(sub=tf.string),
                             "p.M", P, message_format="text")}
    for text in THREES:
        found[text] = decoded(["sub { %s\n}" % text], dict(sub=tf.string),
                              "p.M", P, message_format="text")
    for text in TWOS:
        found["2 " + text] = some([text], "e", "grp", "rgrp", "t.ext", "t.rext",
                                  "s", "u32", "u64", "i64", "s32", "m", "re",
                                  message_format="text")
    for text in ("y: 5", "x: 5"):
        found["required " + text] = decoded([text], dict(x=tf.int32), "t.R",
                                            message_format="text")
    return answers(side, found)
