"""Cases of kernels/parse/decode_csv.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

GOOD = [
    [b"1,a,2.5", b",,", b"3,,"], b"1,a,2.5", [[b"1,a,2"]],
    b'1,"a,b",2', b'1,"a""b",2', b'1,"a\nb",2', b'1,"",2', b'"1",a,"2"',
    b'1,"""",2', b'"",a,1', b'1,"a\r\nb",2', b" 1 , a , 2 ", b"1,a,1e400",
    b"1,a,", b'1,a,"2"', "1,\u00e9,2".encode(), b"\n1,\ra,\r\n2",
    b"1,a\0b,2", b'1,a,0x10', b'"1","2","3"', b'\n"1",\n"a",2',
    b"-2147483648,a,-inf"]
BAD = [
    b"1,a", b"1,a,2,3", b"", b"1", b'1,a"b,2', b'1,"a"b,2', b'1,"ab,2',
    b"1,a\nb,2", b"1,a\rb,2", b"1,a,2\n", b"1,a,2\r\n", b"\r\n", b"\n",
    b"1,a,x", b"x,a,1", b'1, "a",2', b'1,"a" ,2', b"2147483648,a,1",
    b"NA,NA,NA", b"1,a,2,", b'"1,a,2', b'1,"', b'1,"""', b"1,a,2\n3,b,4",
    b'1,"a"\n,2', b'"a', b'"', b",", b",,,", b",,\n", b"1.5,a,2",
    b"1 2,a,3", b"1,a,1 2", b"1,a,2\0", [b"1,a,2", b"1,a,x", b"y,a,2"],
    [b"1,a,2", b"1,a"], b"x,a", b'x,a"']
DEFAULTS = ([7], [b"d"], [1.5])
KINDS = (tf.int32, tf.string, tf.float32)


def fields(records, defaults=DEFAULTS, kinds=KINDS, **more):
    return raw.DecodeCSV(
        records=hidden(np.array(records, object)),
        record_defaults=[tf.constant(one, kind, shape=np.shape(one))
                         for one, kind in zip(defaults, kinds)], **more)


@scenario("DecodeCSV")
@fresh_graph
def csv_fields(side):
    found = {repr(one): fields(one) for one in GOOD + BAD}
    found["none"] = fields(np.zeros([0], object))
    many = [b"%d,word%d,%d.25" % (i, i * i, i) for i in range(3000)]
    found["many"] = fields(many)
    for first, second in ((1, 2999), (1400, 1600), (2900, 2950), (1600, 1700)):
        some = list(many)
        some[first], some[second] = b"1,a,x", b"1,a"
        found["the first of two that fail: %d" % first] = fields(some)
    for quotes in (True, False):
        for one in (b'1,"a",2', b'1,a""b,2', b"1,a\nb,2", b'1"a"2', b'1,",",2'):
            for delimiter in (",", '"'):
                found["%r %r %r" % (one, quotes, delimiter)] = fields(
                    one, use_quote_delim=quotes, field_delim=delimiter)
    for name, one, more in (
            ("missing", [b"NA,NA,NA", b'NA,"NA",', b"1,NAN,2"],
             dict(na_value="NA")),
            ("tabs", b"1\ta,b\t2", dict(field_delim="\t")),
            ("newlines", b"1\na\n2", dict(field_delim="\n")),
            ("returns", b"1\r2", dict(field_delim="\r"))):
        found[name] = fields(one, **more)
    return answers(side, found)


@scenario("DecodeCSV")
@fresh_graph
def csv_columns(side):
    some = dict(select_cols=[0, 2, 4])
    found = {repr(one): fields(one, **some) for one in (
        b"1,2,a,b,2.5", b"1,2,a,b,2.5,9", b"1,2,a", b"1,2,a,b,", b"1,,a,,2",
        b'1,"x",a,b,2', b'1,"x"y,a,b,2', b'1,x"y,a,b,2', b'1,2,a,b,2,"x',
        b"1,2,a,b,2\n", b"", b"1,2,a,b", b'1,",",a,b,2')}
    for name, columns in (("order", [0, 2, 1]), ("negative", [-1, 2, 3]),
                          ("twice", [1, 1, 3]), ("count", [1, 2]),
                          ("far", [0, 1, 1 << 40])):
        found[name] = fields(b"1,a,2", select_cols=columns)
    for delimiter in ("", ";;"):
        found["delimiter " + delimiter] = fields(b"1", field_delim=delimiter)
    return answers(side, found)


@scenario("DecodeCSV")
@fresh_graph
def csv_defaults(side):
    none, scalars = ([], [], []), (3, b"s", 2.5)
    found = {
        "required": fields(b"1,,", none), "there": fields(b"1,a,2", none),
        "scalars": fields(b",,", scalars), "one": fields(b"a", ([b"z"],),
                                                         KINDS[1:2]),
        "one, empty": fields(b"", ([b"z"],), KINDS[1:2]),
        "required in the second": fields([b"1", b'""'], ([],), KINDS[:1]),
    }
    for kind in (tf.int64, tf.float64, tf.int32, tf.float32, tf.string):
        for text in (b"9223372036854775807", b"9223372036854775808", b" 1 ",
                     b"0x10", b"1e-45", b"1.5", b"nan", b"-0"):
            found["%s %r" % (kind.name, text)] = fields(
                text, ([b"1" if kind == tf.string else 1],), (kind,))
    return answers(side, found)


@scenario("DecodeCSV")
@fresh_graph
def csv_defaults_of_other_shapes(side):
    """Which the graph does not know."""
    def made(values, kind):
        return raw.DecodeCSV(records=hidden(np.array(b"1", object)),
                             record_defaults=[hidden(tf.constant(values, kind))])
    return answers(side, {"two": made([1, 2], tf.int32),
                          "words": made([b"a", b"b"], tf.string)})
