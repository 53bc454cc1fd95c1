"""Cases of kernels/readers/readers.c: who asks readers, and their states."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.cases.state.waiting import told, until, Waiting
from tests.conformance.old_graphs import PRODUCER
from tests.conformance.scenarios import attempt, fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops


def parts(out, name, value, side):
    """A value, or the two of a read, without the folder's name."""
    for i, part in enumerate(value if isinstance(value, tuple) else (value,)):
        if isinstance(part, str):
            part = part.replace(side.folder, "FOLDER")
        if isinstance(part, bytes):
            part = part.replace(side.folder.encode(), b"FOLDER")
        if isinstance(part, np.ndarray):
            part = np.array([x.replace(side.folder.encode(), b"FOLDER")
                             for x in part], object)
        out["%s.%d" % (name, i)] = part


@scenario("ReaderReadUpToV2 ReaderNumRecordsProducedV2")
@fresh_graph
def readers_give_several(side):
    out = {}
    q = tf.FIFOQueue(9, [tf.string], [[]])
    n = tf.placeholder(tf.int64, [])
    p = tf.placeholder(tf.string, [None])
    files = [write(side, "a", b"1\n2\n3\n"), write(side, "b", b""),
             write(side, "c", b"4\n")]
    lines, names = tf.TextLineReader(), tf.IdentityReader()
    fill, size = q.enqueue_many([p]), q.size()
    with side.session() as session:
        for name, r in (("lines", lines), ("names", names)):
            up_to = r.read_up_to(q, n)
            produced = r.num_records_produced()
            parts(out, name + " none", told(session, up_to, {n: 0}), side)
            session.run(fill, {p: files})
            for i, want in enumerate((2, 5, 1)):
                parts(out, "%s %d" % (name, i),
                      told(session, up_to, {n: want}), side)
                out["%s %d left" % (name, i)] = session.run(size)
            out[name + " produced"] = session.run(produced)
        session.run(fill, {p: [files[0], side.path("no")]})
        session.run(q.close())
        for i in range(4):
            parts(out, "end %d" % i,
                  told(session, lines.read_up_to(q, n), {n: 2}), side)
    return out


@scenario("ReaderReadUpToV2 ReaderReadV2 ReaderResetV2")
@fresh_graph
def readers_refuse(side):
    out = {}
    r = tf.IdentityReader()
    cases = {
        "two": (tf.FIFOQueue(9, [tf.string] * 2), ["a", "b"]),
        "number": (tf.FIFOQueue(9, [tf.int32]), [1]),
        "vector": (tf.FIFOQueue(9, [tf.string]), [["a", "b"]]),
        "one": (tf.FIFOQueue(9, [tf.string]), [["a"]]),
        "matrix": (tf.FIFOQueue(9, [tf.string]), [[["b"]]]),
        "priority": (tf.PriorityQueue(9, [tf.string], [[]]), [1, "a"]),
    }
    made = [(name, q.enqueue(value), r.read(q), q.size())
            for name, (q, value) in cases.items()]
    done, state = r.num_work_units_completed(), r.serialize_state()
    wrong = raw.ReaderReadV2(reader_handle=cases["one"][0].queue_ref,
                             queue_handle=cases["one"][0].queue_ref)
    with side.session() as session:
        for name, fill, read, size in made:
            session.run(fill)
            parts(out, name, told(session, read), side)
            out[name + " left"] = session.run(size)
            out[name + " done"] = session.run(done)
            out[name + " state"] = session.run(state)
        out["wrong"] = attempt(session, wrong)
    if side.target:  # these end TensorFlow's process
        q = cases["one"][0]
        with side.session() as session:
            for name, call in (
                    ("negative", r.read_up_to(q, hidden(np.int64(-1)))),
                    ("vector", r.read_up_to(q, hidden(np.int64([1, 2])))),
                    ("queue", raw.ReaderReadV2(reader_handle=r.reader_ref,
                                               queue_handle=r.reader_ref))):
                out["refuses " + name] = attempt(session, call)
    else:
        for name in ("negative", "vector", "queue"):
            out["refuses " + name] = "InvalidArgumentError"
    return out


@scenario("ReaderReadV2 ReaderNumRecordsProducedV2 ReaderResetV2 QueueCloseV2")
@fresh_graph
def readers_are_asked_by_many(side):
    """Who asks waits for who reads; the end of the queue is the end of all."""
    out = {}
    q = tf.FIFOQueue(9, [tf.string], [[]])
    r = tf.IdentityReader()
    p = tf.placeholder(tf.string, [None])
    read, produced, reset = r.read(q), r.num_records_produced(), r.reset()
    fill, close, size = q.enqueue_many([p]), q.close(), q.size()
    with side.session() as session:
        first, second = Waiting(session, read), Waiting(session, produced)
        session.run(fill, {p: ["a"]})
        parts(out, "first", first.result(), side)
        out["second"] = second.result() in (0, 1)
        waiting = [Waiting(session, read) for _ in range(5)]
        session.run(fill, {p: ["b"] * 5})
        for i, found in enumerate(waiting):
            parts(out, "of five %d" % i, found.result(), side)
        out["produced"] = session.run(produced)
        waiting = [Waiting(session, step) for step in (read, reset, read, read)]
        session.run(close)
        for i, found in enumerate(waiting):
            parts(out, "closed %d" % i, found.result(), side)
        parts(out, "at the end", told(session, read), side)
        until(session, size, 0)
    return out


@scenario("ReaderReadV2 ReaderNumRecordsProducedV2")
@fresh_graph
def readers_let_go_of_steps_that_end(side):
    """Steps that wait for a name, and for each other, at their deadlines."""
    q = tf.FIFOQueue(9, [tf.string], [[]])
    r = tf.IdentityReader()
    read, produced, fill = r.read(q), r.num_records_produced(), q.enqueue(["a"])
    soon = tf.RunOptions(timeout_in_ms=200)
    out = {}
    with side.session() as session:
        for name in ("one", "two"):
            try:
                session.run([read, produced], options=soon)
            except tf.errors.OpError as error:
                out[name] = type(error).__name__
        session.run(fill)
        parts(out, "then", told(session, read), side)
    return out


STATES = [b"", b"\x08\x05", b"\x08\x05\x10\x05\x18\x07\x22\x01z",
          b"\x08\x01\x10\x05", b"\xff",
          b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          b"\x2a\x01q\x08\x02\x10\x02", b"\x22\x02a\xff", b"\x22\x05ab",
          b"\x08\x05\x08\x06\x10\x06", b"\x0a\x01\x05", b"\x20\x05",
          b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
          b"\x22\x09\0\n\r\t\"'\\\x7f", ["a", "b"]]


@scenario("ReaderSerializeStateV2 ReaderRestoreStateV2")
@fresh_graph
def readers_are_saved(side):
    out = {}
    state = tf.placeholder(tf.string, None)
    makers = {"names": tf.IdentityReader, "whole": tf.WholeFileReader,
              "lines": tf.TextLineReader, "records": tf.TFRecordReader,
              "fixed": lambda: tf.FixedLengthRecordReader(3)}
    with side.session() as session:
        for kind, make in makers.items():
            r = make()
            restore = raw.ReaderRestoreStateV2(reader_handle=r.reader_ref,
                                               state=state)
            save = r.serialize_state()
            for i, value in enumerate(STATES):
                found = told(session, restore, {state: value})
                if i in (1, 5, 6, 7):  # it ends with a message as text
                    found = attempt(session, restore, {state: value})
                out["%s %d" % (kind, i)] = found
                out["%s %d saved" % (kind, i)] = told(session, save)
                out["%s %d counts" % (kind, i)] = np.array(session.run(
                    [r.num_records_produced(), r.num_work_units_completed()]))
    return out


@scenario("IdentityReaderV2 TextLineReaderV2")
@fresh_graph
def readers_of_one_name(side):
    """Whoever comes first has made it."""
    name = tf.get_default_graph().unique_name("shared")
    first = raw.IdentityReaderV2(shared_name=name)
    second = raw.TextLineReaderV2(shared_name=name)
    out = {}
    with side.session() as session:
        for key, call in (
                ("reset", raw.ReaderResetV2(reader_handle=first)),
                ("state", raw.ReaderSerializeStateV2(reader_handle=second)),
                ("bad", raw.WholeFileReaderV2(shared_name="_x").op)):
            out[key] = told(session, call)
    return out


OLD = (("TextLineReader", {}), ("TFRecordReader", {}), ("WholeFileReader", {}),
       ("IdentityReader", {}))
FIXED = (("FixedLengthRecordReader", {"record_bytes": 4}),)


def old_readers(readers):
    """A graph in which handles are references, as it was written long ago."""
    graph = tf.GraphDef()
    graph.versions.producer = PRODUCER
    queue = graph.node.add(name="queue", op="FIFOQueue")
    queue.attr["component_types"].list.type.append(tf.string.as_datatype_enum)
    queue.attr["capacity"].i = 99

    def add(name, op, *inputs):
        node = graph.node.add(name=name, op=op)
        node.input.extend(inputs)
        return node

    names = add("names", "Placeholder")
    names.attr["dtype"].type = tf.string.as_datatype_enum
    state = add("restored", "Placeholder")
    state.attr["dtype"].type = tf.string.as_datatype_enum
    three = add("three", "Const")
    three.attr["dtype"].type = tf.int64.as_datatype_enum
    three.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.int64(3)))
    fill = add("fill", "QueueEnqueueMany", "queue", "names")
    fill.attr["Tcomponents"].list.type.append(tf.string.as_datatype_enum)
    for op, attrs in readers:
        node = add(op, op)
        for name, value in attrs.items():
            node.attr[name].i = value
        add(op + "/read", "ReaderRead", op, "queue")
        add(op + "/upto", "ReaderReadUpTo", op, "queue", "three")
        add(op + "/produced", "ReaderNumRecordsProduced", op)
        add(op + "/done", "ReaderNumWorkUnitsCompleted", op)
        add(op + "/state", "ReaderSerializeState", op)
        add(op + "/restore", "ReaderRestoreState", op, "restored")
        add(op + "/reset", "ReaderReset", op)
    tf.import_graph_def(graph, name="")


@scenario("TextLineReader TFRecordReader WholeFileReader IdentityReader "
          "ReaderRead ReaderReadUpTo "
          "ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted "
          "ReaderSerializeState ReaderRestoreState ReaderReset")
def readers_by_reference(side):
    out = {}
    path = write(side, "file", b"one\ntwo\nthree\nfour\n")
    with tf.Graph().as_default(), tf.device(side.pin):
        old_readers(OLD)
        with side.session() as session:
            for op, _ in OLD:
                for step in ("read", "upto", "produced", "done", "state",
                             "restore", "reset", "produced", "state"):
                    if step in ("read", "upto"):
                        session.run("fill", {"names:0": [path]})
                    fetch = op + "/" + step
                    if step in ("read", "upto"):
                        fetch = (fetch + ":0", fetch + ":1")
                    elif step not in ("restore", "reset"):
                        fetch += ":0"
                    found = told(session, fetch, {"restored:0": b""})
                    parts(out, "%s %s" % (op, step), found, side)
    return out


@scenario("FixedLengthRecordReader ReaderRead")
def fixed_reader_by_reference(side):
    """TensorFlow's looks for an attribute that this op has not."""
    if not side.target:
        return {"key": b"FOLDER/file:0", "value": b"one\n"}
    with tf.Graph().as_default():
        old_readers(FIXED)
        with side.session() as session:
            session.run("fill", {"names:0": [
                write(side, "file", b"one\ntwo\nthree\n")]})
            key, value = session.run([FIXED[0][0] + "/read:0",
                                      FIXED[0][0] + "/read:1"])
    return {"key": key.replace(side.folder.encode(), b"FOLDER"),
            "value": value}
