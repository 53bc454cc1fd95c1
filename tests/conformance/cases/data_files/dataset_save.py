"""Cases of kernels/data_files/dataset_save.c."""
import glob
import os
import re

from tensorflow.core.protobuf import snapshot_pb2
from tensorflow.python.data.ops import load_op, save_op

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, elements, failing,
                                                    hidden, note, numbers,
                                                    plain, raw, variant)
from tests.conformance.scenarios import Side, fresh_graph, told
from tests.conformance.table import scenario

NUMBER = tf.TensorSpec([], tf.int64)
KINDS = ("", "GZIP", "ZLIB", "SNAPPY", "LZ4")


def many(x):
    return tf.fill([30000], x)


MAKERS = {
    "numbers": lambda: numbers(4),
    "texts": lambda: data.from_tensor_slices(
        ([1., 2., 3.], ["a", "", "c" * 400])),
    "none": lambda: numbers(0),
    "nested": lambda: data.from_tensor_slices(
        {"a": [[1, 2], [3, 4]], "b": ([True, False], ["x", "y"])}),
    "ragged": lambda: numbers(4).map(lambda x: tf.fill([x, 2], x)),
    "large": lambda: data.range(3).map(many),
    "sparse": lambda: data.range(3).map(lambda x: tf.sparse.from_dense([x, 1])),
}


def saved(dataset, path, kind="", shards=None):
    return save_op._save(plain(dataset), path, kind, shards)


def loaded(path, spec=NUMBER, kind="", reader=None):
    return load_op._load(path, spec, kind, reader, False)


def one_after_the_other(shards):
    return shards.flat_map(lambda shard: shard)


def plainly(value, side):
    """Runs have other numbers each."""
    return (re.sub(r"/\d{9,}/", "/RUN/", value.replace(side.folder, "FOLDER"))
            if isinstance(value, str) else value)


def parts_of(path):
    """What a saved dataset is made of, without what is new in each run."""
    out = {}
    record = snapshot_pb2.SnapshotMetadataRecord()
    with open(os.path.join(path, "snapshot.metadata"), "rb") as file:
        record.ParseFromString(file.read())
    run = record.run_id
    record.run_id, record.creation_timestamp = "", 0
    out["metadata"] = str(record)
    out["files"] = " ".join(sorted(
        os.path.relpath(name, os.path.join(path, run)) for name in glob.glob(
            os.path.join(path, run, "*", "*"))))
    return out


@scenario("SaveDataset")
@fresh_graph
def data_saves(side):
    """What is saved is read here, by TensorFlow."""
    out, made = {}, {}
    for name, make in MAKERS.items():
        for kind in KINDS:
            path = side.path("%s_%s" % (name, kind))
            made["%s, %s" % (name, kind)] = (path, kind, make().element_spec,
                                             saved(make(), path, kind))
    with side.session() as session:
        for key, (_, _, _, save) in made.items():
            note(out, key, told(session, save))
    for key, (path, _, _, _) in made.items():
        note(out, key, parts_of(path))
    found = elements(Side(""), {
        key: lambda p=path, s=spec, k=kind: flat(loaded(p, s, k))
        for key, (path, kind, spec, _) in made.items()})
    out.update(("read " + key, value) for key, value in found.items())
    return out


def flat(dataset):
    """Sparse tensors as their values."""
    if isinstance(dataset.element_spec, tf.SparseTensorSpec):
        return dataset.map(lambda x: (x.indices, x.values))
    return dataset


@scenario("SaveDataset LoadDataset DatasetCardinality")
@fresh_graph
def data_saves_in_shards(side):
    out, fetches = {}, {}
    base = hidden(tf.constant(2, tf.int64))
    shards = {
        "one": None,
        "three": lambda x: x % 3,
        "negative": lambda x: x - 2,
        "captured": lambda x: x % base,
        "constant": lambda x: tf.constant(7, tf.int64),
        "a vector": lambda x: tf.reshape(x, [1]),
        "two numbers": lambda x: (x, x),
        "short": lambda x: tf.cast(x, tf.int32),
        "two": lambda x: tf.stack([x, x]),
    }
    for name, shard in shards.items():
        fetches[name] = saved(numbers(7), side.path(name), "", shard)
    with side.session() as session:
        for name, save in fetches.items():
            note(out, name, plainly(told(session, save), side))
            if name not in ("short", "two", "two numbers"):
                note(out, name, parts_of(side.path(name)))
    good = ("one", "three", "negative", "captured", "constant", "a vector")
    for who, reader in (("here", Side("")), ("there", side)):
        found = elements(reader, {
            name: lambda n=name: loaded(side.path(n)) for name in good})
        found.update(elements(reader, {
            name + " in a row": lambda n=name: loaded(
                side.path(n), reader=one_after_the_other) for name in good}))
        out.update((who + " " + key, value) for key, value in found.items())
    fetches = {name: raw.DatasetCardinality(input_dataset=variant(
        loaded(side.path(name)))) for name in good}
    with side.session() as session:
        for name, fetch in fetches.items():
            out["cardinality of " + name] = told(session, fetch)
    return out


@scenario("SaveDataset")
@fresh_graph
def data_saves_refused(side):
    """But not what fails behind its first element: TensorFlow hangs then."""
    out = {}
    good = variant(numbers(3))
    def save(dataset, path):
        return raw.SaveDataset(
            input_dataset=dataset, path=path, shard_func_other_args=[],
            shard_func=defun(), use_shard_func=False)

    def defun():
        @tf.function(input_signature=[NUMBER])
        def one(x):
            return x
        return one.get_concrete_function()
    made = {
        "paths": save(good, hidden([side.path("a"), side.path("b")])),
        "no dataset": save(raw.OptionalNone(), side.path("c")),
    }
    with side.session() as session:
        for key, fetch in made.items():
            note(out, key, plainly(told(session, fetch), side))
    return out


@scenario("SaveDatasetV2 LoadDataset")
@fresh_graph
def data_saves_on_the_way(side):
    def saving(dataset, path, kind=None, shards=None):
        return save_op._SaveDataset(plain(dataset), path, shards, kind or "")
    out = elements(side, {
        "numbers": lambda: saving(numbers(5), side.path("numbers")),
        "shards": lambda: saving(numbers(5), side.path("shards"), None,
                                 lambda x: x % 2),
        "packed": lambda: saving(numbers(5), side.path("packed"), "GZIP"),
        "none": lambda: saving(numbers(0), side.path("none")),
        "part": lambda: saving(numbers(5), side.path("part")).take(2),
        "fails": lambda: saving(numbers(5).map(failing(2)), side.path("fails")),
    }, passes=2)
    for name in ("numbers", "shards", "packed", "none", "fails"):
        note(out, "parts of " + name, parts_of(side.path(name)))
    for who, reader in (("here", Side("")), ("there", side)):
        found = elements(reader, {
            name: lambda n=name: loaded(
                side.path(n), kind="GZIP" if n == "packed" else "")
            for name in ("numbers", "shards", "packed", "none", "fails")})
        out.update((who + " " + key, value) for key, value in found.items())
    return {key: plainly(value, side) for key, value in out.items()}
