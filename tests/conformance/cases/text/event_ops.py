"""Cases of kernels/text/event_ops.c and of all ops that write events.  Files are
read here, by TensorFlow."""
import glob
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

raw = tf.raw_ops
METADATA = tf.SummaryMetadata(display_name="d").SerializeToString()
REALS = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32",
         "int64", "uint8", "uint16", "uint32", "uint64")


def summary(**values):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)
                             for tag, value in values.items()]
                      ).SerializeToString()


def events(folder):
    """The names of a folder's event files, as far as they can be known, and
    what is in them but for the time and how images are packed."""
    found = []
    for name in sorted(glob.glob(folder + "/*")):
        last = name.rsplit("/", 1)[1]
        found.append(re.sub(r"\.\d{10}\.[^.]+\.\d+\.\d+", ".NUMBERS", last))
        for event in tf.train.summary_iterator(name):
            if event.step != 77:
                assert event.wall_time > 1.7e9, event
                event.wall_time = 1
            for value in event.summary.value:
                value.image.encoded_image_string = b""
            found.append(str(event))
    return "\n".join(found)


class Writer:
    def __init__(self, side, session, name, queue=100, flush_ms=10 ** 8,
                 suffix=".v2"):
        self.side, self.session, self.folder = side, session, side.path(name)
        self.handle = raw.SummaryWriter(shared_name=side.folder + name,
                                        container="")
        self.made = self.run(raw.CreateSummaryFileWriter(
            writer=self.handle, logdir=self.folder, max_queue=queue,
            flush_millis=flush_ms, filename_suffix=suffix))

    def run(self, op):
        value = told(self.session, op)
        if not isinstance(value, str):
            return "ok"
        return value.replace(self.side.folder, "FOLDER")

    def write(self, op, step=3, **inputs):
        return self.run(op(writer=self.handle, step=tf.constant(
            step, tf.int64), **inputs))

    def flush(self):
        return self.run(raw.FlushSummaryWriter(writer=self.handle))

    def close(self):
        return self.run(raw.CloseSummaryWriter(writer=self.handle))


@scenario("CreateSummaryFileWriter SummaryWriter WriteScalarSummary WriteSummary "
          "WriteHistogramSummary FlushSummaryWriter CloseSummaryWriter")
@fresh_graph
def events_of_values(side):
    out = {}
    with side.session() as session:
        w = Writer(side, session, "values")
        out["made"] = w.made
        out["begin"] = events(w.folder)
        for dtype in REALS:
            value = tf.cast(tf.constant([3.0, 0, 100]), dtype)
            out["scalar " + dtype] = w.write(
                raw.WriteScalarSummary, tag=dtype, value=value[0])
            out["histogram " + dtype] = w.write(
                raw.WriteHistogramSummary, tag=dtype, values=value)
        out["bools"] = w.write(raw.WriteHistogramSummary, tag="b",
                               values=[True, False, True])
        out["vector"] = w.write(raw.WriteScalarSummary, tag="v",
                                value=[1.5, 2.5])
        for step in (0, -1, 2 ** 40):
            out["step %d" % step] = w.write(
                raw.WriteScalarSummary, step=step, tag="", value=0.0)
        for key, tensor in {"ints": [[1, 2]], "texts": ["x", ""], "one": 5.0,
                            "none": np.zeros([0, 2], np.float32)}.items():
            for metadata in (b"", METADATA, b"\xff"):
                out["%s %r" % (key, metadata)] = w.write(
                    raw.WriteSummary, tag=key, tensor=tensor,
                    summary_metadata=metadata)
        out["waits"] = events(w.folder)
        out["flush"] = w.flush()
        out["flushed"] = events(w.folder)
        out["again"] = w.flush()
        w.write(raw.WriteScalarSummary, tag="last", value=0.5)
        out["close"] = w.close()
        out["closed"] = events(w.folder)
    return out


@scenario("CreateSummaryFileWriter WriteScalarSummary")
@fresh_graph
def events_that_wait(side):
    """More than max_queue events are written, and those that are late."""
    out = {}
    with side.session() as session:
        for name, queue, flush_ms in (("none", 0, 10 ** 8), ("two", 2, 10 ** 8),
                                      ("late", 100, -1), ("below", -5, 10 ** 8)):
            w = Writer(side, session, name, queue, flush_ms)
            for i in range(5):
                out["%s %d" % (name, i)] = w.write(
                    raw.WriteScalarSummary, step=i, tag="t", value=float(i))
                out["%s %d there" % (name, i)] = events(w.folder)
            w.close()
    return out


@scenario("WriteImageSummary WriteAudioSummary")
@fresh_graph
def events_of_media(side):
    out = {}
    red = tf.constant([255, 0, 0, 255], tf.uint8)
    with side.session() as session:
        w = Writer(side, session, "media")
        for dtype in ("uint8", "float32", "float64", "float16"):
            for dims in ([2, 3, 4, 1], [4, 2, 2, 3], [0, 2, 2, 3]):
                out["image %s %s" % (dtype, dims)] = w.write(
                    raw.WriteImageSummary, tag="i", bad_color=red,
                    tensor=np.ones(dims).astype(dtype))
        out["one image"] = w.write(
            raw.WriteImageSummary, tag="one", bad_color=red, max_images=1,
            tensor=np.ones([2, 2, 2, 3], np.float32))
        for key, color in {"few": [255], "square": [[255]], "no": []}.items():
            for dtype in ("uint8", "float32"):
                out["%s %s" % (key, dtype)] = w.write(
                    raw.WriteImageSummary, tag="i",
                    bad_color=hidden(np.array(color, np.uint8)),
                    tensor=np.zeros([1, 2, 2, 3], dtype))
        for dims in ([2, 2, 2], [1, 2, 2, 2]):
            out["refused %s" % dims] = w.write(
                raw.WriteImageSummary, tag="i", bad_color=red,
                tensor=hidden(np.zeros(dims, np.float32)))
        for dims in ([2, 2, 2], [5, 3], [0, 2], [1, 2, 70000]):
            for rate in (44100.0, 0.0, -1.0, 1e20):
                out["audio %s %s" % (dims, rate)] = w.write(
                    raw.WriteAudioSummary, tag="a", sample_rate=hidden(rate),
                    tensor=hidden(np.full(dims, 0.25, np.float32)))
        w.close()
        out["written"] = events(w.folder)
    return out


@scenario("WriteRawProtoSummary WriteGraphSummary ImportEvent")
@fresh_graph
def events_of_messages(side):
    out = {}
    with side.session() as session:
        w = Writer(side, session, "messages", suffix="")
        none = np.zeros([0], object)
        for i, tensor in enumerate((
                summary(a=1), [summary(a=1), summary(b=2, c=3)], [b"", b""],
                none, [b"", b"\xff"], [b"\xff", b""])):
            out["raw %d" % i] = w.write(raw.WriteRawProtoSummary,
                                        tensor=tf.constant(tensor, tf.string))
        graph = tf.Graph()
        with graph.as_default():
            tf.no_op(name="n")
        for i, tensor in enumerate((graph.as_graph_def().SerializeToString(),
                                    b"", b"\xff\xff")):
            out["graph %d" % i] = w.write(raw.WriteGraphSummary,
                                          tensor=tensor)
        for i, event in enumerate((
                tf.Event(step=77, wall_time=2, file_version="q"
                         ).SerializeToString(), b"\xff")):
            out["import %d" % i] = w.run(raw.ImportEvent(
                writer=w.handle, event=event))
        w.close()
        out["written"] = events(w.folder)
    return out


@scenario("CreateSummaryFileWriter SummaryWriter CloseSummaryWriter")
@fresh_graph
def event_writers_refused(side):
    out = {}
    with side.session() as session:
        w = Writer(side, session, "gone")
        again = Writer(side, session, "gone")
        out["twice"] = again.made
        out["one file"] = len(glob.glob(w.folder + "/*"))
        out["nan"] = w.write(raw.WriteHistogramSummary, tag="h",
                             values=[1, np.nan])
        out["infinite"] = w.write(raw.WriteHistogramSummary, tag="h",
                                  values=[1, -np.inf])
        out["close"] = w.close()
        for key, found in {
                "closed": w.close(), "flush": w.flush(),
                "write": w.write(raw.WriteScalarSummary, tag="a", value=1.0),
                "import": w.run(raw.ImportEvent(writer=w.handle, event=b""))
        }.items():
            out[key] = re.sub(r"Resource .*? does", "Resource does", found)
        with open(side.path("file"), "w") as file:
            file.write("x")
        out["a file"] = Writer(side, session, "file").made
        other = Writer(side, session, "file")
        out["no writer"] = other.flush().split(":")[0]
        made = Writer(side, session, "deep/er")
        out["deep"] = (made.made, made.close(), events(made.folder))[0]
    return out
