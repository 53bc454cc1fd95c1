"""Cases of kernels/data_files/dataset_old_snapshot.c, old_snapshot.c and
element_file.c."""
import glob
import os
import re

import numpy as np

from tensorflow.core.protobuf import snapshot_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, cardinalities, data,
                                                    elements, failing, hidden,
                                                    made, note, numbers, plain,
                                                    raw, variant, walk)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def old(dataset, path, **attrs):
    specs = tf.nest.flatten(dataset.element_spec)
    return Made(raw.SnapshotDataset(
        input_dataset=variant(dataset), path=hidden(path),
        output_types=[s.dtype for s in specs],
        output_shapes=[s.shape for s in specs], **attrs),
                dataset.element_spec)


def plainly(value, side):
    """Runs and fingerprints have other numbers each."""
    return (re.sub(r"/[0-9a-f]{9,}", "/N", value.replace(side.folder, "FOLDER"))
            if isinstance(value, str) else value)


def parts_of(path):
    """What there is below the one folder of a snapshot; TensorFlow puts the
    text of a graph beside it."""
    out = {}
    folders = glob.glob(path + "/*/")
    out["folders"] = len(folders)
    for folder in folders[:1]:
        record = snapshot_pb2.SnapshotMetadataRecord()
        with open(os.path.join(folder, "snapshot.metadata"), "rb") as file:
            record.ParseFromString(file.read())
        name = os.path.basename(folder[:-1])
        out["hash"] = len(record.graph_hash)
        out["is the folder"] = record.graph_hash == name or name
        out["run"] = record.run_id if record.run_id == "custom" else ""
        out["files"] = " ".join(
            "%s:%d" % (os.path.basename(f), os.path.getsize(f)) for f in sorted(
                glob.glob(os.path.join(folder, record.run_id, "*"))))
        record.run_id, record.graph_hash = "", ""
        record.creation_timestamp = 0
        out["metadata"] = str(record)
    return out


MAKERS = {
    "numbers": lambda p: old(numbers(5), p),
    "none": lambda p: old(numbers(0), p),
    "snappy": lambda p: old(numbers(5), p, compression="SNAPPY"),
    "texts": lambda p: old(data.from_tensor_slices(
        ([1., 2., 3.], ["a", "", "c" * 400])), p),
    "texts in snappy": lambda p: old(data.from_tensor_slices(
        ([1., 2., 3.], ["a", "", "c" * 400], [[True], [False], [True]])), p,
                                     compression="SNAPPY"),
    "ragged": lambda p: old(numbers(4).map(lambda x: tf.fill([x + 1], x)), p,
                            compression="SNAPPY"),
    "named": lambda p: old(numbers(4), p, snapshot_name="a name"),
    "by default": lambda p: old(
        numbers(4), p, shard_size_bytes=-1, pending_snapshot_expiry_seconds=-1,
        num_reader_threads=-1, reader_buffer_size=-1, num_writer_threads=-1,
        writer_buffer_size=-1),
    "then": lambda p: old(numbers(5), p).map(lambda x: x + 1).batch(2),
    "twice": lambda p: old(numbers(4), p).repeat(2),
    "whole": lambda p: old(numbers(4), p).take(4),
    "shuffled": lambda p: old(numbers(6).shuffle(6, seed=1), p),
    "passed": lambda p: old(numbers(4), p, mode="passthrough"),
    "write": lambda p: old(numbers(4), p, mode="write"),
}
MAKERS.update({
    "files of %d" % size: lambda p, s=size: old(numbers(9), p,
                                                shard_size_bytes=s)
    for size in (0, 1, 8, 40, 60, 1000)})
MAKERS.update({
    "snappy files of %d" % size: lambda p, s=size: old(
        numbers(9), p, shard_size_bytes=s, compression="SNAPPY")
    for size in (8, 40, 60)})


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots(side):
    out = {}
    for turn in ("first", "second"):
        found = elements(side, {
            name: lambda n=name: MAKERS[n](side.path(n)) for name in MAKERS},
                         passes=2)
        out.update((turn + " " + key, value) for key, value in found.items())
        for name in MAKERS:
            note(out, "%s, parts of %s" % (turn, name),
                 parts_of(side.path(name)))
    # By another version of zlib, perhaps: sizes stay out.
    out.update(("gzip " + key, value) for key, value in elements(
        side, {"gzip": lambda: old(numbers(9), side.path("gzip"),
                                   compression="GZIP")}, passes=2).items())
    return {key: plainly(value, side) for key, value in out.items()}


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots_of_the_other(side):
    """By a name each side finds what the other one has written."""
    out = {}
    with tf.Graph().as_default():
        here = type(side)("")
        here.folder = side.folder
        for kind in ("", "GZIP", "SNAPPY"):
            for writer, reader in ((here, side), (side, here)):
                name = "%s %s" % (kind, "there" if reader is side else "here")
                path = side.path(name)

                def of(n, p=path, k=kind):
                    return old(data.from_tensor_slices(
                        (np.arange(n), ["text %d" % i for i in range(n)])), p,
                               compression=k, snapshot_name="n")
                elements(writer, {"w": lambda: of(6)})
                out.update(elements(reader, {name: lambda: of(2)}))
    return out


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots_changed(side):
    """Another input, or an attribute that changes files, has another folder."""
    out = {}
    for name, make in {
            "first": lambda p: old(numbers(3), p),
            "the same": lambda p: old(numbers(3), p),
            "longer": lambda p: old(numbers(4), p),
            "packed": lambda p: old(numbers(3), p, compression="SNAPPY"),
            "size": lambda p: old(numbers(3), p, shard_size_bytes=100),
            "threads": lambda p: old(numbers(3), p, num_reader_threads=1),
            "seed": lambda p: old(numbers(3), p, seed=4)}.items():
        out.update(elements(side, {name: lambda m=make: m(side.path("all"))}))
        out["folders after " + name] = len(glob.glob(side.path("all") + "/*/"))
    for name, more in (("first", 6), ("another", 4)):
        out.update(elements(side, {name + " of a name": lambda m=more: old(
            numbers(m), side.path("named"), snapshot_name="n")}))
    return out


@scenario("SnapshotDataset DatasetCardinality")
@fresh_graph
def data_old_snapshot_cardinalities(side):
    return cardinalities(side, {
        "numbers": lambda: old(numbers(4), side.path("c")),
        "for ever": lambda: old(numbers(4).repeat(), side.path("e")),
    })


def spoil(side, name):
    """Damages the snapshot that has this name."""
    folder, = glob.glob(side.path(name) + "/*/")
    file, = glob.glob(folder + "/*/*.snapshot")
    metadata = os.path.join(folder, "snapshot.metadata")
    with open(metadata, "rb") as content:
        record = snapshot_pb2.SnapshotMetadataRecord.FromString(content.read())
    with open(file, "rb") as content:
        text = content.read()
    if name == "lost":
        os.remove(file)
    elif name == "damaged":
        with open(metadata, "wb") as content:
            content.write(b"\x12\xff\xff")
    elif name in ("unfinished", "expired", "later"):
        record.finalized = False
        record.creation_timestamp -= {"expired": 2 * 86400 * 10**6,
                                      "later": -10**12}.get(name, 0)
        with open(metadata, "wb") as content:
            content.write(record.SerializeToString())
    else:
        with open(file, "wb") as content:
            content.write({"cut": text[:-3], "cut head": text[:-20],
                           "empty": b""}[name])


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots_refused(side):
    names = ("lost", "cut", "cut head", "empty", "damaged",
             "unfinished", "expired", "later")
    makers = {name: lambda n=name: old(numbers(4), side.path(n))
              for name in names}
    elements(side, makers)
    for name in names:
        spoil(side, name)
    out = elements(side, makers, passes=2)
    named = {"n %d" % i: lambda d=d: old(d, side.path("types"),
                                         snapshot_name="t")
             for i, d in enumerate((
                 numbers(3), data.from_tensors(1.5),
                 data.from_tensors((1, 2)), numbers(2)))}
    for name, make in named.items():  # one after the other
        out.update(elements(side, {name: make}))
    out.update(elements(side, {
        "no mode": lambda: old(numbers(3), side.path("x"), mode="x"),
        "zlib": lambda: old(numbers(3), side.path("x"), compression="ZLIB"),
        "at once": lambda: old(numbers(3), side.path("x"),
                               pending_snapshot_expiry_seconds=0),
        "two paths": lambda: old(numbers(3), [side.path("x")] * 2),
        "read nothing": lambda: old(numbers(3), side.path("x"), mode="read"),
    }))
    # What comes then is a failure of TensorFlow's own.
    out.update(elements(side, {"fails": lambda: old(
        numbers(4).map(failing(0)), side.path("f"))}, limit=1))
    for name in ("unfinished", "expired", "later"):
        folder, = glob.glob(side.path(name) + "/*/")
        out["runs of " + name] = len(glob.glob(folder + "/*/"))
    return {key: plainly(value, side) for key, value in out.items()}


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots_elsewhere(side):
    """Files below prefixes, which a reader does not look for there."""
    def prefixed(**more):
        return old(numbers(3), side.path("p"),
                   writer_path_prefix=side.path("w"), **more)
    out = {}
    for turn in ("writes", "reads"):
        out.update(elements(side, {turn: prefixed}))
    out["files"] = " ".join(sorted(
        os.path.relpath(f, side.folder) for f in glob.glob(
            side.path("w") + "/**/*.snapshot", recursive=True)))
    out["files"] = re.sub(r"tmp/tfd-conformance-\w+", "FOLDER", out["files"])
    return {key: plainly(value, side) for key, value in out.items()}


@scenario("SnapshotDataset")
@fresh_graph
def data_old_snapshots_in_any_order(side):
    """All elements come; TensorFlow's order is the directory's and a seed's."""
    def shuffled(n, **more):
        return old(numbers(12), side.path("s"), shard_size_bytes=8,
                   snapshot_name="s", **more).batch(12).map(tf.sort)
    elements(side, {"write": lambda: shuffled(1)})
    return elements(side, {
        "shuffled": lambda: shuffled(2, shuffle_on_read=True, seed=3),
        "at random": lambda: shuffled(2, shuffle_on_read=True),
        "by threads": lambda: shuffled(2, num_reader_threads=3)}, passes=2)


@scenario("SnapshotDataset SnapshotDatasetReader")
@fresh_graph
def data_old_shards(side):
    """Files of versions 0 and 1, which the reader of shards knows as well."""
    for kind in ("", "GZIP", "SNAPPY"):
        elements(side, {"w": lambda k=kind: old(
            data.from_tensor_slices((np.arange(5), list("abcde"))),
            side.path("k" + k), compression=k, snapshot_name="n")})

    def reader(kind, start=0, version=1, types=(tf.int64, tf.string)):
        return made("SnapshotDatasetReader", hidden(
            side.path("k" + kind) + "/custom-n/custom"),
                    hidden(tf.constant(start, tf.int64)), version=version,
                    compression=kind, types=types, shapes=((),) * len(types))
    makers = {}
    for kind in ("", "GZIP", "SNAPPY"):
        for start in (0, 2, 5, 6):
            makers["%s from %d" % (kind, start)] = (
                lambda k=kind, s=start: reader(k, s))
    makers["GZIP, version 0"] = lambda: reader("GZIP", 0, 0)
    makers["version 0"] = lambda: reader("", 3, 0)
    return {key: plainly(value, side)
            for key, value in elements(side, makers).items()}


@scenario("SnapshotDataset SerializeIterator DeserializeIterator")
@fresh_graph
def data_old_snapshot_positions(side):
    """An iterator goes on where another one was, which TensorFlow's does not:
    it fails, or begins anew."""
    places, out = (0, 2, 5, 9), {}
    if not side.target:
        for place in places:
            for i in range(9 - place):
                out["at %d %d" % (place, i)] = np.int64(place + i)
            out["at %d %d" % (place, 9 - place)] = (
                "OutOfRangeError: End of sequence")
        return out

    def make():
        return old(data.range(9), side.path("p"), shard_size_bytes=30)
    elements(side, {"write": make})
    pair = [tf.data.make_initializable_iterator(plain(make()))
            for _ in range(2)]
    nexts = [i.get_next() for i in pair]
    restore = raw.DeserializeIterator(
        resource_handle=pair[1]._iterator_resource,
        serialized=raw.SerializeIterator(
            resource_handle=pair[0]._iterator_resource))
    with side.session() as session:
        for place in places:
            session.run([i.initializer for i in pair])
            for _ in range(place):
                session.run(nexts[0])
            session.run(restore)
            walk(session, out, "at %d" % place, nexts[1], 12)
    return out
