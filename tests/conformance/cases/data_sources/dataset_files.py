"""Cases of kernels/data_sources/dataset_files.c."""
import gzip
import zlib

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, elements, hidden,
                                                    raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

TEXTS = {"plain": b"one\ntwo\n\nfour\n", "no end": b"one\ntwo",
         "returns": b"a\r\nb\r\r\nc\rd\n", "empty": b"", "newline": b"\n",
         "long": b"x" * 700000 + b"\ny\n" + b"z" * 300000,
         "bytes": bytes(range(256)) * 3}


def write(side, name, content):
    with open(side.path(name), "wb") as file:
        file.write(content)
    return side.path(name)


@scenario("TextLineDataset")
@fresh_graph
def data_text_lines(side):
    makers, paths = {}, []
    for name, text in TEXTS.items():
        paths.append(write(side, name, text))
        for kind, pack in (("", bytes), ("ZLIB", zlib.compress),
                           ("GZIP", gzip.compress)):
            path = write(side, name + kind, pack(text))
            makers["%s %s" % (name, kind)] = lambda p=path, k=kind: (
                tf.data.TextLineDataset(p, k))
    makers["all"] = lambda: tf.data.TextLineDataset(hidden(paths[:5]))
    makers["none"] = lambda: tf.data.TextLineDataset(
        hidden(np.array([], np.str_)))
    makers["buffer"] = lambda: tf.data.TextLineDataset(paths[0], buffer_size=2)
    makers["twice"] = lambda: tf.data.TextLineDataset(paths[0]).repeat(2)
    makers["kind"] = lambda: tf.data.TextLineDataset(paths[0], hidden("LZ4"))
    return elements(side, makers, limit=14, passes=2)


def records(side, name, values, kind=""):
    with tf.io.TFRecordWriter(side.path(name), tf.io.TFRecordOptions(
            compression_type=kind)) as file:
        for value in values:
            file.write(value)
    return side.path(name)


VALUES = [b"", b"one", b"x" * 300000, bytes(range(256)), b"last"]


@scenario("TFRecordDataset TFRecordDatasetV2")
@fresh_graph
def data_records(side):
    makers = {}
    for kind in ("", "ZLIB", "GZIP"):
        path = records(side, "records" + kind, VALUES, kind)
        makers["of %s" % kind] = lambda p=path, k=kind: (
            tf.data.TFRecordDataset(p, k))
    plain = records(side, "plain", VALUES)
    with open(plain, "rb") as file:
        good = file.read()
    for name, content in (("cut", good[:-3]), ("cut head", good + b"abc"),
                          ("cut after a head", good[:12]),
                          ("cut check", good[:14]),
                          ("flipped data", good[:28] + b"?" + good[29:]),
                          ("flipped check", good[:9] + b"?" + good[10:]),
                          ("flipped", good[:20] + b"?" + good[21:]),
                          ("flipped length", b"?" + good[1:]), ("empty", b"")):
        path = write(side, name.replace(" ", "_"), content)
        makers["two, first %s" % name] = lambda p=path: (
            tf.data.TFRecordDataset(hidden([p, plain])))
    for kind, pack in (("ZLIB", zlib.compress), ("GZIP", gzip.compress)):
        for name, content in (("cut", pack(good[:-3])),
                              ("cut head", pack(good + b"abc"))):
            path = write(side, "%s_%s" % (kind, name.replace(" ", "_")),
                         content)
            makers["%s %s" % (kind, name)] = lambda p=path, k=kind: (
                tf.data.TFRecordDataset(hidden([p]), k))
    first = 12 + 4
    makers["from an offset"] = lambda: raw_records(plain, [first])
    makers["from the start"] = lambda: raw_records(plain, [0])
    makers["offsets"] = lambda: raw_records(plain, [0, 1])
    return elements(side, makers, limit=12)


class Records(tf.data.Dataset):
    """TFRecordDatasetV2, whose offsets Python does not give."""

    def __init__(self, made):
        self._made = made
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return tf.TensorSpec([], tf.string)


def raw_records(path, offsets):
    return Records(raw.TFRecordDatasetV2(
        filenames=hidden([path]), compression_type="",
        buffer_size=np.int64(0), byte_offsets=np.array(offsets, np.int64)))
