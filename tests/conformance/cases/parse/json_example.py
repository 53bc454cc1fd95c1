"""Cases of kernels/parse/json_example.c."""
import json
import random

import numpy as np

from tests.conformance.table import bad, c, row


def feature(text, name=b'"a"'):
    return b'{"features":{"feature":{%s:%s}}}' % (name, text)


def values(kind, text):
    return feature(b'{"%s":{"value":%s}}' % (kind, text))


def floats(text):
    return values(b"floatList", b"[%s]" % text)


def integers(text):
    return values(b"int64List", b"[%s]" % text)


def strings(text):
    return values(b"bytesList", b"[%s]" % text)


FLOATS = [floats(text) for text in (
    b"", b"1", b"-0", b"1.5,2", b"1,", b"1 , 2 , ", b"0e1", b"1E+5", b"1e-400",
    b"3.4028235677973362e38", b"16777217.0000001", b"1.0000000596046447753906251",
    b"null", b"1,null,2", b"[]", b"[[1],[[2],null]],3", b'"1"', b'" 1\\t"',
    b'"+1"', b'"NaN"', b'"nan"', b'"-nan"', b'"NAN(1)"', b'"nan(0x3fffffff)"',
    b'"Infinity"', b'"-Infinity"', b'"inf"', b'"1e400"', b'"0x1.8p3"', b'".5"',
    b'"5."', b'"\\u0031"', b'"7e-46"')]
NO_FLOATS = [floats(text) for text in (
    b"1e39", b"1e400", b"3.4028235677973366e+38", b'"1e39"', b"true", b"{}",
    b"1,,2", b",", b"1 2", b"01", b"-01", b"1.", b"-", b"--1", b"1e", b"1e+",
    b".5", b"+1", b"NaN", b"-Infinity", b"1.5.5", b"1e5.5", b"1x", b"1-2", b"0x1",
    b'""', b'"0x"', b'"1 2"', b'"--1"', b'"+-1"', b'"1,5"', b'"1e"', b'"nan(-)"',
    b'"1\\u0000"', b'"\\u00a01"', b"[1", b"1]", b"nul", b"1/**/", b'"1\n2"',
    b'"1",\n "2"\n\t3')]
INTEGERS = [integers(text) for text in (
    b"1", b"-1", b"-0", b"1e3", b"2.0", b"-0.0", b"9223372036854775807",
    b"-9223372036854775808", b"9007199254740993.0", b'"1"', b'"+7"', b'"-0"',
    b'"1.0"', b'"1e3"', b'"0x10"', b"null", b"[1,[null,[3]],4]", b"[" * 94 + b"7" +
    b"]" * 94)]
NO_INTEGERS = [integers(text) for text in (
    b"1.5", b"9223372036854775808", b"-9223372036854775809", b"9007199254740994.0",
    b"1e16", b"1e400", b'"9223372036854775808"', b'" 1"', b'"1\\n"', b'"nan"',
    b'"inf"', b'"abc"', b'""', b'"1.5"', b'"1_0"', b"true", b"false", b"{}", b"1 1",
    b'[[1],["x"]]', b"[" * 95 + b"7" + b"]" * 95)]
STRINGS = [strings(text) for text in (
    b'""', b'"YQ"', b'"YQ=="', b'"YR"', b'"YWI"', b'"YWI="', b'"YWJj"',
    b'"YWJjZA"', b'"+/-_"', b"'YQ'", b'"\\u0059Q"', b'"\\u0059\\u0051"', b"null",
    b'["YQ",["YWJj"]]', b'"%s"' % (b"YWJj" * 99))]
NO_STRINGS = [strings(text) for text in (
    b'"Y"', b'"YQ="', b'"Y Q"', b'"="', b'"===="', b'"Y==="', b'"YQ=a"',
    b'"YWJj="', b'"YQ==YQ=="', b'"YQ\\n"', b'"\xc3\xa9"', b"1", b"true", b"{}",
    b'"YQ', b'"YQ\'', b'"YQ" "YQ"', b'"\xf0\x80"', b'"\xc0\x80"')]
NAMES = [feature(b"{}", name) for name in (
    b'"a"', b'""', b"'a\"'", b'"a\'"', b"a1", b"_", b"nulla", b'"a\nb"', b'"\x01"',
    "\"é€😀\"".encode(), b'"\\u00e9\\ud83d\\ude00"', b'"\\uDBFF\\uDFFF"',
    b'"\\ud83d\n \\ude00"', b'"\\U0041"', b'"\\b\\f\\n\\r\\t\\/\\\\\\"\\\'"',
    b'"\\u0000\\u0041b"', b'\n"a" ', b'"%s"' % (b"long" * 500))]
NO_NAMES = [feature(b"{}", name) for name in (
    b"", b"1a", b"null", b"true", b"false", b"a-b", b"a b", b'"a', b'"a" b',
    b'"\\x41"', b'"\\ud83d"', b'"\\ude00"', b'"\\ud83dx"', b'"\\ud83d\\u0041"',
    b'"\\u00zz"', b'"\\u00', b'"\\', b'"\x80"', b'"\xff"', b'"\xc3"', b'"\xf5"',
    b'"a\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xe0\x9f\xbf"',
    b'"\xf1\x80\x80x"', b'"\xf8\x88\x80\x80\x80"', b'"\\n\xc0\x80"', b'"a":{},"a"',
    b'"a":{},\'\\u0061\'', "\"é€😀\":[],\"b\"".encode())]
FEATURES = [feature(text) for text in (
    b"{}", b"null", b"{ }", b'{"floatList":{}}', b'{"float_list":{}}',
    b"{floatList:{value:1}}", b'{"floatList":null,"int64List":{}}',
    b'{"floatList":{},"int64List":null}', b'{"floatList":{"value":null}}',
    b'{"floatList":{"value":[1],"value":[2]}}', b'{"int64_list":{"value":"7"}}',
    b'{"bytesList":{"value":"YQ"},}', b'{"\\u0066loatList":{}}')]
NO_FEATURES = [feature(text) for text in (
    b"[]", b"7", b"tru", b"nul", b"n", b'"x"', b'{"floatList":{},"int64List":{}}',
    b'{"floatList":{},"float_list":{}}', b'{"bytes_list":{},"int64_list":{}}',
    b'{"floatList":[]}', b'{"floatList":1}', b'{"floatlist":{}}',
    b'{"FloatList":{}}', b'{"float_List":{}}', b'{"[ext]":{}}', b'{"kind":1}',
    b'{"":1}', b'{"1":1}', b'{"floatList":{"values":[]}}',
    b'{"floatList":{"value":{}}}', b'{"floatList":{"value":true}}',
    b'{"bytesList":{"value":1}}', b'{"floatList":{"value":\n\n [1,\n\tx]}}',
    b'{"int64List":{"value":[1}', b'{"floatList":{"value":nul}}')]
WHOLE = [
    b"{}", b" {} ", b"\r\n\t{}\n", b'{"features":null}', b'{"features":{}}',
    b"{'features':{}}", b"{features:{}}", b'{"features":{},}',
    b'{"features":{"feature":null}}', b'{"features":{"feature":{}}}',
    b'{"features":{},"features":{}}',
    b'{"features":{"feature":{"a":{}},"feature":{"a":{}}}}',
    b'{"features":{"feature":{"a":{},"b":null,"c":{"bytesList":{}}}}}']
NO_WHOLE = [
    b"", b" \n", b"{", b"}", b"[]", b"null", b'"x"', b"7", b"{}x", b"{} {}", b"{}\0 ",
    b"{}\xff", b"{}\v", b"{,}", b"{\xff", b'{"x":1}', b'{"Features":{}}',
    b'{"features"', b'{"features":', b'{"features" {}}', b'{"features"::{}}',
    b'{"features":{}', b'{"features":{},,}', b'{"features":{}\xff',
    b'{"features":[]}', b'{"features":1}', b'{"features":{"Feature":{}}}',
    b'{"features":{"feature":[]}}', b'{"features":{"feature":1}}',
    b'{"features":{"feature":{}},"x":1}', b'{"features":{"feature":{}}}}',
    b'{"features":{"feature":{"key":"a","value":{}}}}', b"//c\n{}",
    b'{"@type":"x"}', b'{"%s":1}' % (b"long" * 90)]

DRAWN = random.Random(4)


def drawn():
    """One as programs write them."""
    kinds = {"floatList": lambda: DRAWN.gauss(0, 1) * 10.0 ** DRAWN.randint(-40, 38),
             "int64List": lambda: str(DRAWN.randint(-2**63, 2**63 - 1)),
             "bytesList": lambda: "".join(DRAWN.choices("abcXYZ09+/", k=8))}
    found = {}
    for at in range(DRAWN.randint(0, 9)):
        kind = DRAWN.choice(sorted(kinds))
        found["feature %d" % at] = {kind: {"value": [
            kinds[kind]() for _ in range(DRAWN.randint(0, 60))]}}
    return json.dumps({"features": {"feature": found}}).encode()


row("DecodeJSONExample", [
    c(b"{}"), c([[FLOATS[1]], [INTEGERS[1]]]), c(np.zeros([0, 2], object)),
    c([[[STRINGS[2], b"{}"]] * 2]), c([drawn() for _ in range(40)])] + [
        c(texts) for texts in (FLOATS, INTEGERS, STRINGS, NAMES, FEATURES, WHOLE)] + [
            bad([b"{}", text]) for text in NO_FLOATS + NO_INTEGERS + NO_STRINGS +
            NO_NAMES + NO_FEATURES + NO_WHOLE] + [
                bad(b""), bad([[b"{}", b"{"], [b"[", b"{}"]])])
