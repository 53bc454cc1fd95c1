"""Cases of kernels/data_files/dataset_load.c."""
import glob
import os

from tensorflow.core.protobuf import snapshot_pb2

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import data, elements, numbers
from tests.conformance.cases.data_files.dataset_save import (
    KINDS, MAKERS, flat, loaded, one_after_the_other, plainly, saved)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("LoadDataset")
@fresh_graph
def data_loads(side):
    """What TensorFlow has saved here, the side reads."""
    made = {}
    with tf.Graph().as_default(), tf.Session() as session:
        for name, make in MAKERS.items():
            for kind in KINDS:
                path = side.path("%s_%s" % (name, kind))
                session.run(saved(make(), path, kind))
                made["%s, %s" % (name, kind)] = (path, kind,
                                                 make().element_spec)
    return elements(side, {
        key: lambda p=path, s=spec, k=kind: flat(loaded(p, s, k))
        for key, (path, kind, spec) in made.items()}, passes=2)


@scenario("LoadDataset")
@fresh_graph
def data_loads_refused(side):
    with tf.Graph().as_default(), tf.Session() as session:
        for name in ("good", "lost", "cut", "flipped", "other", "texts"):
            session.run(saved(numbers(5) if name != "texts" else
                              data.from_tensors("x"), side.path(name)))
    for name in ("lost", "cut", "flipped"):
        file, = glob.glob(side.path(name) + "/*/*/*")
        with open(file, "rb") as content:
            text = content.read()
        if name == "lost":
            os.remove(file)
            continue
        with open(file, "wb") as content:
            content.write(text[:-3] if name == "cut" else
                          text[:40] + b"\xff" + text[41:])
    file, = glob.glob(side.path("other") + "/*/*/*")
    with tf.io.TFRecordWriter(file) as writer:
        writer.write(b"\x08")
    os.makedirs(side.path("no run"))
    with open(side.path("no run/snapshot.metadata"), "wb") as file:
        file.write(snapshot_pb2.SnapshotMetadataRecord(
            run_id="17", version=2, finalized=True).SerializeToString())
    os.makedirs(side.path("damaged"))
    with open(side.path("damaged/snapshot.metadata"), "wb") as file:
        file.write(b"\x12\x7f")

    found = elements(side, {
        name: lambda n=name: loaded(side.path(n), reader=one_after_the_other)
        for name in ("good", "missing", "lost", "cut", "flipped", "other",
                     "texts", "no run", "damaged")}, limit=8)
    found.update(elements(side, {
        "packed": lambda: loaded(side.path("good"), kind="GZIP"),
    }, limit=3))
    return {key: plainly(value, side) for key, value in found.items()}
