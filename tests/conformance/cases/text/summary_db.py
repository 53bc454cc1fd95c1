"""Cases of kernels/text/summary_db.c: databases are read here, by SQLite."""
import os
import re
import sqlite3

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.text.event_ops import REALS, Writer, summary
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

raw = tf.raw_ops
TABLES = ("Ids Descriptions Tensors TensorStrings Tags Runs Experiments Users "
          "Graphs Nodes NodeInputs").split()
IDS = {"Users": ("user_id", "user_name"), "Runs": ("run_id", "run_name"),
       "Experiments": ("experiment_id", "experiment_name"),
       "Tags": ("tag_id", "tag_name"), "Graphs": ("graph_id", "inserted_time")}
METADATA = tf.SummaryMetadata(
    display_name="d", summary_description="of it",
    plugin_data={"plugin_name": "p", "content": b"\0c"}).SerializeToString()


class DbWriter(Writer):
    def __init__(self, side, session, name, experiment="e", run="r", user="u",
                 shared=None):
        self.side, self.session, self.folder = side, session, side.path(name)
        self.handle = raw.SummaryWriter(
            shared_name=side.folder + (shared or name), container="")
        self.made = self.run(raw.CreateSummaryDbWriter(
            writer=self.handle, db_uri=self.folder, experiment_name=experiment,
            run_name=run, user_name=user))


def known(value, name, ids, rows):
    """A column without what nobody can know."""
    if name == "tensor_rowid":
        return rows.get(value, "replaced")
    if name == "id" or name.endswith("_id") and name not in (
            "node_id", "input_node_id") or name == "series":
        return ids.get(value, "none" if value is None else "other")
    if name.endswith("_time") and value and value > 1.7e9:
        return "now"
    if name == "data" and value and value.startswith(b"\x89PNG"):
        return "a picture"
    return value


def note(out, when, path):
    """The tables into out, each row's columns but for its own number, sorted.

    Rows without a type are places that TensorFlow keeps for later."""
    link = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    link.row_factory = sqlite3.Row
    ids = {}
    for table, (key, name) in IDS.items():
        for row in link.execute("select %s, %s from %s" % (key, name, table)):
            ids[row[0]] = "%s %s" % (key, row[1] if key != "graph_id" else "")
    rows = {row[0]: "%s at %d" % (ids.get(row[1]), row[2]) for row in link.execute(
        "select rowid, series, step from Tensors where dtype is not null")}
    for table in TABLES:
        found = sorted(
            str([(name, known(row[name], name, ids, rows)) for name in row.keys()
                 if name != "rowid"])
            for row in link.execute("select * from %s%s" % (
                table, " where dtype is not null" if table == "Tensors" else "")))
        out["%s: %s" % (when, table)] = "\n".join(found)
    link.close()


def schema(path):
    link = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    out = [link.execute("pragma " + name).fetchall() for name in (
        "application_id", "user_version", "journal_mode", "integrity_check")]
    for table in TABLES:
        out.append(link.execute("pragma table_info(%s)" % table).fetchall())
        for index in link.execute("pragma index_list(%s)" % table).fetchall():
            sql = link.execute("select sql from sqlite_master where name = ?",
                               (index[1],)).fetchone()[0]
            out.append((index, re.sub(r"\s+", "", sql.split("ON", 1)[1])))
    link.close()
    return str(out)


@scenario("CreateSummaryDbWriter SummaryWriter WriteScalarSummary WriteSummary "
          "FlushSummaryWriter CloseSummaryWriter")
@fresh_graph
def summaries_in_a_database(side):
    out = {}
    with side.session() as session:
        w = DbWriter(side, session, "values")
        out["made"], out["schema"] = w.made, schema(w.folder)
        note(out, "begin", w.folder)
        for dtype in REALS:
            out["scalar " + dtype] = w.write(
                raw.WriteScalarSummary, tag=dtype, value=tf.cast(3.0, dtype))
        out["vector"] = w.write(raw.WriteScalarSummary, tag="v",
                                value=[1.5, 2.5])
        for step in (0, -1, 2 ** 40, 0):
            out["step %d" % step] = w.write(
                raw.WriteScalarSummary, step=step, tag="", value=float(step))
        for key, tensor in {
                "ints": [[1, 2]], "texts": [["x", ""]], "text": "abc",
                "no text": "", "no texts": np.zeros([0], object), "one": 5.0,
                "none": np.zeros([0, 2], np.float32), "bools": [True],
                "complex": [1 + 2j], "half": np.float16([1, 2])}.items():
            for metadata in (b"", METADATA, b"\xff"):
                out["%s %r" % (key, metadata)] = w.write(
                    raw.WriteSummary, tag=key + str(metadata), tensor=tensor,
                    summary_metadata=metadata)
        out["fewer"] = w.write(raw.WriteSummary, tag="textsb''", tensor=["y"],
                               summary_metadata=METADATA)
        note(out, "before", w.folder)
        out["flush"], out["close"] = w.flush(), w.close()
        note(out, "closed", w.folder)
        out["beside"] = sorted(os.listdir(side.folder))
    return out


@scenario("CreateSummaryDbWriter WriteHistogramSummary WriteImageSummary "
          "WriteAudioSummary")
@fresh_graph
def media_in_a_database(side):
    out = {}
    with side.session() as session:
        w = DbWriter(side, session, "media")
        out["histogram"] = w.write(raw.WriteHistogramSummary, tag="h",
                                   values=[1.0, -2.5, 100.0])
        out["nan"] = w.write(raw.WriteHistogramSummary, tag="n",
                             values=[1, np.nan])
        out["image"] = w.write(
            raw.WriteImageSummary, tag="i", tensor=np.zeros([2, 2, 3, 1], np.uint8),
            bad_color=tf.constant([255, 0, 0, 255], tf.uint8))
        out["audio"] = w.write(raw.WriteAudioSummary, tag="a", sample_rate=8000.0,
                               tensor=np.zeros([1, 4, 1], np.float32))
        w.close()
        note(out, "written", w.folder)
    return out


def graph_def():
    graph = tf.GraphDef()
    graph.node.add(name="a", op="Const", device="/d").attr["x"].i = 5
    graph.node.add(name="b", op="Neg").input.extend(["a:3", "^a", "a"])
    graph.versions.producer = 9
    return graph


def event(**fields):
    """Of the first day, with values of several kinds."""
    made = tf.Event(step=5, wall_time=12.5, **fields)
    made.summary.value.add(tag="scalar", simple_value=1.5)
    made.summary.value.add(node_name="n", simple_value=2.5)
    made.summary.value.add(tag="nothing")
    made.summary.value.add(tag="named", simple_value=0.0).metadata.MergeFromString(
        METADATA)
    return made


@scenario("CreateSummaryDbWriter WriteGraphSummary ImportEvent "
          "WriteRawProtoSummary")
@fresh_graph
def messages_in_a_database(side):
    out = {}
    with side.session() as session:
        w = DbWriter(side, session, "messages")
        good, bad = graph_def(), []
        for name in ("zz", "a:x", "b:", "^zz", ""):
            bad.append(graph_def())
            bad[-1].node[1].input.append(name)
        for i, graph in enumerate([good] + bad):
            out["graph %d" % i] = w.write(raw.WriteGraphSummary,
                                          tensor=graph.SerializeToString()
                                          ).split(" SaveNode")[0]
            note(out, "after graph %d" % i, w.folder)
        events = {"event": event(), "version": tf.Event(file_version="q"),
                  "graph": tf.Event(wall_time=3, graph_def=b"")}
        uneven = tf.Event()
        uneven.summary.value.add(tag="u").histo.bucket.append(1)
        bools = tf.Event()
        bools.summary.value.add(tag="b").tensor.CopyFrom(tf.make_tensor_proto([True]))
        for key, made in dict(events, uneven=uneven, bools=bools).items():
            out[key] = w.run(raw.ImportEvent(
                writer=w.handle, event=made.SerializeToString())).split(
                    " tensor ")[0].split(" histo ")[0]
        for i, tensor in enumerate(([summary(a=1), summary(b=2, c=3)], [b""],
                                    [b"\xff"])):
            out["raw %d" % i] = w.write(raw.WriteRawProtoSummary,
                                        tensor=tf.constant(tensor, tf.string))
        w.close()
        note(out, "written", w.folder)
    return out


@scenario("CreateSummaryDbWriter CloseSummaryWriter")
@fresh_graph
def writers_of_one_database(side):
    """Users and experiments are shared, runs are replaced; names may be none."""
    out = {}
    with side.session() as session:
        for i, names in enumerate((
                ("e", "r", "u"), ("e", "r", "u"), ("e", "q", "u"), ("e", "r", ""),
                ("", "r", "u"), ("e", "", "u"), ("", "", ""), ("f", "r", "u"))):
            w = DbWriter(side, session, "one", *names, shared="w%d" % i)
            out["made %d" % i] = w.made
            for tag in "ab":
                out["%s %d" % (tag, i)] = w.write(
                    raw.WriteScalarSummary, tag=tag, value=float(i))
            if i % 2:
                out["close %d" % i] = w.close()
            note(out, "after %d" % i, w.folder)
    return out


@scenario("CreateSummaryDbWriter SummaryWriter CloseSummaryWriter")
@fresh_graph
def databases_refused(side):
    out = {}
    with side.session() as session:
        with open(side.path("text"), "w") as file:
            file.write("no database " * 999)
        os.mkdir(side.path("folder"))
        for name in ("text", "folder", "no/where"):
            w = DbWriter(side, session, name)
            out[name] = w.made
            out[name + " closed"] = w.close().split(":")[0]
        w = DbWriter(side, session, "d")
        again = DbWriter(side, session, "other", shared="d")
        out["again"] = again.made, os.path.exists(again.folder)
        out["close"] = w.close()
        for key, found in {
                "closed": w.close(), "flush": w.flush(),
                "write": w.write(raw.WriteScalarSummary, tag="a", value=1.0)
        }.items():
            out[key] = re.sub(r"Resource .*? does", "Resource does", found)
        broken = sqlite3.connect(side.path("broken"))
        broken.execute("create table Tags(other integer)")
        broken.commit()
        broken.close()
        out["broken"] = DbWriter(side, session, "broken").made
    return out
