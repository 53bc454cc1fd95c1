"""Cases of kernels/text/print.c.  What goes to the log:
tests/cluster/server/test_log.py."""
import os
import time

import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import bad, c, many, once, row, scenario

row("Print", [c(x(2, 3), many(1, x(3))), c(x(), many()),
              c(x(0), many(5), message="m", first_n=0, summarize=-1)])
row("PrintV2", [
    c(b"text"), c(b"two\nlines", end=""), c(b""), c(b"\xff\0\x1b[2J"),
    *(c(b"text", output_stream=stream)
      for stream in ("stdout", "log(info)", "log(warning)", "log(error)")),
    once(b"long " * 3000), bad([b"a"]), bad(b"a", output_stream="file://"),
    bad(b"a", output_stream="stdin"), bad(b"a", output_stream=""),
    bad(b"a", output_stream="file:///no/such/folder/x")])


@scenario("PrintV2")
@fresh_graph
def lines_are_added_to_a_file(side):
    out = {}
    path = side.path("printed")
    with side.session() as session:
        for text, end in (("one", "\n"), ("", "|"), ("two\0", "\n")):
            session.run(tf.raw_ops.PrintV2(
                input=text, end=end, output_stream="file://" + path))
        out["file"] = side.bytes("printed")
        os.mkdir(side.path("folder"))
        out["folder"] = told(session, tf.raw_ops.PrintV2(
            input="x", output_stream="file://" + side.path("folder"))
        ).replace(side.folder, "F")
    return out


def shown(values, **attrs):
    return tf.raw_ops.StringFormat(
        inputs=[tf.constant(value) for value in values], **attrs)


TENSORS = {
    "strings": np.array([b"a\"\n\xc3\xa9\xff'\\", b""], object),
    "string": np.array(b"a\t\x7f", object),
    "floats": np.array([1.5, np.nan, np.inf, 1e-7, 1 / 3], np.float32),
    "doubles": np.array([1.5, -np.inf, 1e-7, 1 / 3, 1e20]),
    "halves": np.array([1.5, 0.1], np.float16), "bool": np.array(True),
    "small": np.array([[-1], [7]], np.int8), "complex": np.ones(7, complex),
    "large": np.array(2**64 - 1, np.uint64), "nothing": np.zeros([0]),
    "no columns": np.zeros([2, 0, 3]), "line": np.arange(10),
    "six": np.arange(6), "cube": np.arange(24).reshape(2, 3, 4),
    "matrix": np.arange(100).reshape(10, 10)}


@scenario("StringFormat")
@fresh_graph
def tensors_are_put_into_texts(side):
    out = {}
    with side.session() as session:
        for name, value in TENSORS.items():
            for most in (-1, 0, 1, 2, 3, 100):
                out["%s %d" % (name, most)] = session.run(
                    shown([value], summarize=most))
        out["three"] = session.run(shown(
            [1, [2], "x"], template="<{}{} {}>", placeholder="{}"))
        out["none"] = session.run(shown([], template="as it is"))
        out["empty"] = session.run(shown([], template="", placeholder=""))
        out["characters"] = session.run(
            shown([1, 2], template="abc", placeholder=""))
    return out


@scenario("Timestamp")
@fresh_graph
def the_time_is_now_and_goes_on(side):
    with side.session() as session:
        node = tf.raw_ops.Timestamp()
        before = time.time()
        first, second = session.run(node), session.run(node)
        return {"type": str(first.dtype), "now": before - 1 < first,
                "on": first <= second < time.time() + 1}
