"""Descriptions of the messages that cases of kernels/proto read and write."""
from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
KINDS = {name[5:].lower(): number for name, number in FIELD.Type.items()}
# name, number, type, default; types begin with * for a list, + for a packed
# one; a message's or an enum's follows its type.
BASIC = [
    ("i32", 1, "int32", "-5"), ("i64", 2, "int64", "-6000000000"),
    ("u32", 3, "uint32", "4000000000"),
    ("u64", 4, "uint64", "18000000000000000000"), ("s32", 5, "sint32", "-7"),
    ("s64", 6, "sint64", None), ("f32", 7, "fixed32", "300"),
    ("f64", 8, "fixed64", "0x12c"), ("sf32", 9, "sfixed32", None),
    ("sf64", 10, "sfixed64", None), ("fl", 11, "float", "1.5"),
    ("db", 12, "double", "inf"), ("b", 13, "bool", "true"),
    ("s", 14, "string", "a\"b\001c"), ("by", 15, "bytes", "x\\000y\\n\\xff"),
    ("e", 16, "enum .t.Color", "GREEN"), ("e2", 17, "enum .t.Color", None),
    ("sub", 18, "message .t.Sub", None), ("grp", 19, "group .t.M.Grp", None),
    ("nan", 20, "double", "nan"), ("ri32", 21, "*int32", None),
    ("pi32", 22, "+int32", None), ("rs", 23, "*string", None),
    ("rsub", 24, "*message Sub", None), ("rgrp", 25, "*group .t.M.Rgrp", None),
    ("ps32", 26, "+sint32", None), ("pfl", 27, "+float", None),
    ("pb", 28, "+bool", None), ("pe", 29, "+enum .t.Color", None),
    ("m", 30, "*message .t.M.MEntry", None), ("o1", 31, "int32", None),
    ("o2", 32, "message .t.Sub", None), ("o3", 33, "string", None),
    ("pu32", 34, "+uint32", None), ("pi64", 35, "+int64", None),
    ("psf32", 36, "+sfixed32", None), ("pf64", 37, "+fixed64", None),
    ("re", 38, "*enum .t.Color", None), ("pdb", 39, "+double", None)]
SUB = [("a", 1, "int32", None), ("s", 2, "*string", None),
       ("sub", 3, "message .t.Sub", None)]
THREE = [
    ("i", 1, "int32", None), ("s", 2, "string", None),
    ("ri", 3, "*int32", None), ("e", 4, "enum .p.E", None),
    ("sub", 5, "message .p.M", None), ("oi", 6, "int32", None),
    ("m", 7, "*message .p.M.MEntry", None), ("o1", 8, "int32", None),
    ("o2", 9, "message .p.M", None), ("re", 10, "*enum .p.E", None),
    ("f", 11, "float", None), ("d", 12, "double", None),
    ("b", 13, "bool", None), ("by", 14, "bytes", None),
    ("rs", 15, "*string", None), ("mi", 16, "*message .p.M.MiEntry", None)]


def fill(message, fields):
    for name, number, kind, default in fields:
        field = message.field.add(name=name, number=number)
        field.label = 3 if kind[0] in "*+" else 1
        if kind[0] == "+":
            field.options.packed = True
        words = kind.lstrip("*+").split()
        field.type = KINDS[words[0]]
        if len(words) > 1:
            field.type_name = words[1]
        if default is not None:
            field.default_value = default
    return message


def entry(message, name, key, value):
    made = message.nested_type.add(name=name)
    made.options.map_entry = True
    fill(made, [("key", 1, key, None), ("value", 2, value, None)])


def oneof(message, name, *fields, alone=False):
    message.oneof_decl.add(name=name)
    for field in message.field:
        if field.name in fields:
            field.oneof_index = len(message.oneof_decl) - 1
            field.proto3_optional = alone


def enum(file, name, **values):
    made = file.enum_type.add(name=name)
    for key, value in values.items():
        made.value.add(name=key, number=value)


def two():
    """Of proto2."""
    file = descriptor_pb2.FileDescriptorProto(name="two", package="t")
    enum(file, "Color", RED=1, GREEN=2, BLUE=-3)
    fill(file.message_type.add(name="Sub"), SUB)
    m = fill(file.message_type.add(name="M"), BASIC)
    for name in ("Grp", "Rgrp"):
        fill(m.nested_type.add(name=name), [("g", 1, "int32", None)])
    entry(m, "MEntry", "string", "int32")
    oneof(m, "o", "o1", "o2", "o3")
    m.extension_range.add(start=100, end=201)
    fill_extensions(file, [("ext", 100, "int32", None),
                           ("rext", 101, "*string", None)])
    r = fill(file.message_type.add(name="R"), [("x", 1, "int32", None),
                                               ("y", 2, "int32", None)])
    r.field[0].label = 2
    return file


def fill_extensions(file, fields):
    made = fill(descriptor_pb2.DescriptorProto(), fields)
    for field in made.field:
        field.extendee = ".t.M"
        file.extension.add().CopyFrom(field)


def three(syntax="proto3"):
    file = descriptor_pb2.FileDescriptorProto(name="three", package="p",
                                              syntax=syntax)
    enum(file, "E", ZERO=0, ONE=1)
    m = fill(file.message_type.add(name="M"), THREE)
    entry(m, "MEntry", "string", "message .p.M")
    entry(m, "MiEntry", "int32", "string")
    oneof(m, "o", "o1", "o2")
    oneof(m, "_oi", "oi", alone=True)
    return file


def source(*files):
    return b"bytes://" + descriptor_pb2.FileDescriptorSet(
        file=files).SerializeToString()


T = source(two())
P = source(three())
