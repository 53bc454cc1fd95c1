"""Cases of kernels/data_files/dataset_snapshot.c."""
import glob
import os
import re

from tensorflow.core.protobuf import snapshot_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, note,
                                                    numbers)
from tests.conformance.cases.data_files.dataset_save import one_after_the_other
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def kept(dataset, path, kind="AUTO", reader=one_after_the_other,
         shards=lambda *x: tf.constant(0, tf.int64)):
    return dataset.snapshot(path, kind, reader, shards)


def plainly(value, side):
    """Runs and fingerprints have other numbers each."""
    return (re.sub(r"/\d{9,}", "/N", value.replace(side.folder, "FOLDER"))
            if isinstance(value, str) else value)


def parts_of(path):
    """What there is below the one folder that is named by a fingerprint."""
    out = {}
    folders = glob.glob(path + "/*")
    out["folders"] = len(folders)
    for folder in folders[:1]:
        record = snapshot_pb2.SnapshotMetadataRecord()
        with open(os.path.join(folder, "snapshot.metadata"), "rb") as file:
            record.ParseFromString(file.read())
        run = record.run_id
        out["hash"] = record.graph_hash == os.path.basename(folder)
        record.run_id, record.creation_timestamp = "", 0
        record.graph_hash = ""
        out["metadata"] = str(record)
        out["runs"] = len(glob.glob(folder + "/*/"))
        out["files"] = " ".join(sorted(
            os.path.relpath(name, os.path.join(folder, run))
            for name in glob.glob(os.path.join(folder, run, "*", "*"))))
    return out


@scenario("SnapshotDatasetV2")
@fresh_graph
def data_snapshots(side):
    """A first pass writes, a second reads; so does another dataset that is
    made in the same way."""
    base = tf.constant(2, tf.int64)
    makers = {
        "numbers": lambda p: kept(numbers(5), p),
        "none": lambda p: kept(numbers(0), p),
        "plain": lambda p: kept(numbers(5), p, "NONE"),
        "zip": lambda p: kept(numbers(5), p, "GZIP"),
        "texts": lambda p: kept(data.from_tensor_slices(
            ([1., 2., 3.], ["a", "", "c" * 400])), p),
        "ragged": lambda p: kept(numbers(4).map(lambda x: tf.fill([x], x)), p),
        "large": lambda p: kept(data.range(3).map(
            lambda x: tf.fill([20000], x)), p),
        "shards": lambda p: kept(numbers(7), p, shards=lambda x: x % 3),
        "captured": lambda p: kept(numbers(7), p, shards=lambda x: x % base),
        "by default": lambda p: numbers(7).snapshot(p),
        "then": lambda p: kept(numbers(5), p).map(lambda x: x + 1).batch(2),
        "twice": lambda p: kept(numbers(4), p).repeat(2),
        "part": lambda p: kept(numbers(9), p).take(3),
        "fails": lambda p: kept(numbers(4).map(failing(2)), p),
        "shuffled": lambda p: kept(numbers(6).shuffle(6, seed=1), p),
    }
    out = {}
    for turn in ("first", "second"):
        found = elements(side, {
            name: lambda n=name: makers[n](side.path(n)) for name in makers},
                         passes=2)
        out.update((turn + " " + key, value) for key, value in found.items())
        for name in makers:
            found = parts_of(side.path(name))
            if name == "part":  # a file that has begun is there in TensorFlow
                del found["files"]
            note(out, "%s, parts of %s" % (turn, name), found)
    return {key: plainly(value, side) for key, value in out.items()}


@scenario("SnapshotDatasetV2")
@fresh_graph
def data_snapshots_changed(side):
    """Another input has a folder of its own."""
    out = {}
    for name, make in {
            "first": lambda: numbers(3), "longer": lambda: numbers(4),
            "function": lambda: numbers(3).map(lambda x: x + 1),
            "constant": lambda: numbers(3).map(lambda x: x + 2),
            "the same": lambda: numbers(3).map(lambda x: x + 1)}.items():
        out.update(elements(side, {name: lambda m=make: kept(
            m(), side.path("all"))}))
        out["folders after " + name] = len(os.listdir(side.path("all")))
    return out


@scenario("SnapshotDatasetV2 DatasetCardinality")
@fresh_graph
def data_snapshot_cardinalities(side):
    return cardinalities(side, {
        "numbers": lambda: kept(numbers(4), side.path("c")),
        "for ever": lambda: kept(numbers(4).repeat(), side.path("e")),
    })


@scenario("SnapshotDatasetV2")
@fresh_graph
def data_snapshots_refused(side):
    """What a folder holds is damaged between two passes."""
    names = ("lost", "cut", "damaged", "no shards", "unfinished", "later")
    out = {}
    makers = {name: lambda n=name: kept(numbers(4), side.path(n), "NONE")
              for name in names}
    elements(side, makers)
    for name in names:
        folder, = glob.glob(side.path(name) + "/*")
        file, = glob.glob(folder + "/*/*/*.snapshot")
        metadata = os.path.join(folder, "snapshot.metadata")
        with open(metadata, "rb") as content:
            record = snapshot_pb2.SnapshotMetadataRecord.FromString(
                content.read())
        with open(file, "rb") as content:
            text = content.read()
        if name == "lost":
            os.remove(file)
        elif name == "cut":
            with open(file, "wb") as content:
                content.write(text[:-3])
        elif name == "no shards":
            os.rename(os.path.dirname(file), side.path("moved"))
        elif name == "damaged":
            with open(metadata, "wb") as content:
                content.write(b"\x12\xff\xff")
        else:
            record.finalized = False
            if name == "later":
                record.creation_timestamp += 10**12
            with open(metadata, "wb") as content:
                content.write(record.SerializeToString())
    out.update(elements(side, makers, passes=2))
    makers = {
        "failing shards": lambda: kept(numbers(4), side.path("b"),
                                       shards=failing(2)),
        "failing reader": lambda: kept(numbers(4), side.path("c"),
                                       reader=lambda d: d.flat_map(
                                           lambda x: x.map(failing(2)))),
    }
    out.update(elements(side, makers, passes=2))
    for name in ("unfinished", "later"):
        folder, = glob.glob(side.path(name) + "/*")
        out["runs of " + name] = len(glob.glob(folder + "/*/"))
    return {key: plainly(value, side) for key, value in out.items()}
