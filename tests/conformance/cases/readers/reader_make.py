"""Cases of kernels/readers/reader_make.c: what each kind of reader reads."""
import gzip
import struct
import zlib

from tests.cluster.client import tf
from tests.conformance.cases.data_sources.dataset_files import (VALUES,
                                                                records,
                                                                write)
from tests.conformance.cases.data_sources.lmdb_files import FILES
from tests.conformance.cases.state.waiting import told
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

PACKS = (("", bytes), ("ZLIB", zlib.compress), ("GZIP", gzip.compress))
raw = tf.raw_ops


def snappy(content):
    """One block of the file format, made of nothing but literals."""
    size, head = len(content), b""
    while size > 127:
        head, size = head + bytes([size & 127 | 128]), size >> 7
    packed = head + bytes([size]) + b"".join(
        bytes([(len(part) - 1) << 2]) + part
        for part in (content[i:i + 60] for i in range(0, len(content), 60)))
    return struct.pack(">I", len(packed)) + packed


def reader(op, **attrs):
    return tf.ReaderBase(getattr(raw, op)(**attrs), True)


def read_all(side, kinds, limit=9):
    """kinds: name -> reader, names of files.  All that each reader does with
    them, then what it is after a reset."""
    out, made = {}, {}
    for name, (make, files) in kinds.items():
        q = tf.FIFOQueue(100, [tf.string], [[]])
        r = make()
        steps = [r.read(q), r.num_records_produced(),
                 r.num_work_units_completed(), r.serialize_state()]
        made[name] = (q.enqueue_many([files]), q.close(), steps, r.reset())
    with side.session() as session:
        for name, (fill, close, steps, reset) in made.items():
            session.run(fill)
            session.run(close)
            for i in range(limit):
                put(out, session, side, "%s %d" % (name, i), steps)
            out[name + " reset"] = told(session, reset)
            put(out, session, side, name + " again", steps)
    return out


def put(out, session, side, name, steps):
    for j, step in enumerate(steps):
        value = told(session, step)
        parts = [value] if j else (value if isinstance(value, tuple) else
                                   [value])
        for i, part in enumerate(parts):
            if isinstance(part, bytes):
                part = part.replace(side.folder.encode(), b"FOLDER")
            if isinstance(part, str):
                part = part.replace(side.folder, "FOLDER")
            out["%s %d.%d" % (name, j, i)] = part


@scenario("TextLineReaderV2 ReaderReadV2 ReaderResetV2 "
          "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2")
@fresh_graph
def readers_of_lines(side):
    texts = [write(side, name, text) for name, text in (
        ("text", b"one\ntwo\r\n\nfour"), ("empty", b""), ("last", b"x\n"),
        ("long", b"y" * 700000 + b"\nz\r\r\n"), ("return", b"c\rd\n\r"),
        ("returns", b"\r\n\r\r"))]
    no = side.path("no")
    return read_all(side, {
        "all": (tf.TextLineReader, texts),
        "skip one": (lambda: tf.TextLineReader(1), texts),
        "skip many": (lambda: tf.TextLineReader(3), texts),
        "bad ones": (tf.TextLineReader, [texts[0], no, texts[2], side.folder]),
        "bad skip": (lambda: tf.TextLineReader(1), [
            no, side.folder, texts[0]]),
        "negative": (lambda: tf.TextLineReader(-1), texts),
    })


@scenario("TFRecordReaderV2 ReaderReadV2")
@fresh_graph
def readers_of_records(side):
    kinds = {}
    good = open(records(side, "plain", VALUES), "rb").read()
    damaged = (("cut", good[:-3]), ("head", good + b"abc"),
               ("check", good[:14]), ("data", good[:28] + b"?" + good[29:]),
               ("length", b"?" + good[1:]), ("empty", b""))
    for kind, pack in PACKS:
        def make(kind=kind):
            return reader("TFRecordReaderV2", compression_type=kind)
        path = records(side, "good" + kind, VALUES, kind)
        kinds["of " + kind] = (make, [path, path])
        for name, content in damaged:
            kinds["%s of %s" % (name, kind)] = (make, [
                write(side, name + kind, pack(content)), path])
        kinds["no %s" % kind] = (make, [
            write(side, "raw" + kind, b"neither nor, whatever it is"), path])
    path = records(side, "other", VALUES)
    packed = write(side, "packed", snappy(good[:80]) + snappy(b"") + b"".join(
        snappy(good[i:i + 90000]) for i in range(80, len(good), 90000)))
    kinds["SNAPPY"] = (lambda: reader("TFRecordReaderV2",
                                      compression_type="SNAPPY"), [packed])
    kinds["LZ4"] = (lambda: reader("TFRecordReaderV2", compression_type="LZ4"),
                    [path])
    kinds["missing"] = (tf.TFRecordReader, [side.path("no"), side.folder, path])
    return read_all(side, kinds, limit=7)


@scenario("FixedLengthRecordReaderV2 ReaderReadV2")
@fresh_graph
def readers_of_fixed_lengths(side):
    kinds = {}
    bodies = (b"0123456789ab", b"H0123456789abFF", b"", b"x", b"h0123f",
              b"h01234ff", b"0123456789abcdefghFF")
    for kind, pack in PACKS:
        files = [write(side, "%s%d" % (kind, i), pack(body))
                 for i, body in enumerate(bodies)]
        for sizes in ((4,), (4, 1, 2), (4, 1, 2, 2), (4, 0, 0, 6), (4, 1, 2, 6),
                      (4, 0, 0, 4), (4, 0, 4), (4, 4, 4), (4, 0, 0, 100),
                      (4, 0, 2, 3), (4, 0, 2, 5), (1, 0, 30), (400,)):
            def make(sizes=sizes, kind=kind):
                return tf.FixedLengthRecordReader(*sizes, encoding=kind)
            kinds["%s %s" % (kind, sizes)] = (make, files)
    path = write(side, "plain", bodies[0])
    kinds["LZ4"] = (lambda: tf.FixedLengthRecordReader(4, encoding="LZ4"),
                    [path])
    kinds["not ZLIB"] = (lambda: tf.FixedLengthRecordReader(
        4, encoding="ZLIB"), [path])
    kinds["missing"] = (lambda: tf.FixedLengthRecordReader(4), [
        side.path("no"), side.folder, path])
    kinds["missing, header"] = (lambda: tf.FixedLengthRecordReader(4, 1), [
        side.path("no"), side.folder, path])
    kinds["nothing"] = (lambda: tf.FixedLengthRecordReader(0), [path])
    for name in ("header_bytes", "record_bytes", "footer_bytes", "hop_bytes"):
        sizes = {"record_bytes": 1, name: -1}
        kinds[name] = (lambda sizes=sizes: tf.FixedLengthRecordReader(**sizes),
                       [path])
    return read_all(side, kinds, limit=12)


@scenario("FixedLengthRecordReaderV2 ReaderReadV2")
@fresh_graph
def readers_tell_of_cut_files(side):
    """TensorFlow takes the end of a file for the end of what is packed in it,
    and drops what is missing without a word."""
    if not side.target:
        return {"first": 400, "second": "DataLossError: a compressed file ends "
                "before its data do"}
    path = write(side, "cut", zlib.compress(bytes(range(256)) * 3)[:-6])
    q = tf.FIFOQueue(9, [tf.string], [[]])
    read = tf.FixedLengthRecordReader(400, encoding="ZLIB").read(q)
    with side.session() as session:
        session.run(q.enqueue([path]))
        return {"first": len(session.run(read)[1]),
                "second": told(session, read)}


@scenario("WholeFileReaderV2 IdentityReaderV2 ReaderReadV2 "
          "ReaderSerializeStateV2")
@fresh_graph
def readers_of_whole_files(side):
    files = [write(side, "a", b"one\n"), write(side, "b", b""),
             write(side, "large", b"z" * 300000)]
    return read_all(side, {
        "whole": (tf.WholeFileReader, files),
        "missing": (tf.WholeFileReader, [files[0], side.path("no"), files[1]]),
        "folder": (tf.WholeFileReader, [side.folder, files[1]]),
        "names": (tf.IdentityReader, ["a", "", "cc", "\0\1"]),
    }, limit=5)


@scenario("LMDBReader FakeQueue ReaderRead")
@fresh_graph
def readers_of_lmdb(side):
    """TensorFlow 2.21 has no LMDB any more and says so."""
    pairs = [(b"a", b"1"), (b"b", b"2"), (b"c", b""), (b"key", b"\0\xff")]
    if not side.target:
        out = {"pair %d" % i: "%r" % (pair,)
               for i, pair in enumerate(2 * pairs)}
        out["end"] = ("OutOfRangeError: FIFOQueue '_N_p/fifo_queue' is closed "
                      "and has insufficient elements (requested 1, current "
                      "size 0)")
        out["produced"] = 2 * len(pairs)
        out["junk"] = ("InvalidArgumentError: MDB_INVALID: File is not an LMDB "
                       "file: FOLDER/junk")
        out["no"] = "NotFoundError"
        return out
    out = {}
    q = tf.FIFOQueue(9, [tf.string], [[]])
    r = tf.LMDBReader()
    p = tf.placeholder(tf.string, [None])
    read, fill = r.read(q), q.enqueue_many([p])
    small = write(side, "small", FILES["small"])
    with side.session() as session:
        for name in ("junk", "no"):
            path = side.path(name)
            if name == "junk":
                write(side, name, b"junk" * 4000)
            session.run(fill, {p: [path]})
            out[name] = told(session, read).replace(side.folder, "FOLDER")
        out["no"] = out["no"].split(":")[0]
        session.run(fill, {p: [small, write(side, "none", FILES["empty"]),
                               small]})
        session.run(q.close())
        for i in range(2 * len(pairs)):
            out["pair %d" % i] = "%r" % (tuple(session.run(read)),)
        out["end"] = told(session, read)
        out["produced"] = session.run(r.num_records_produced())
    return out
