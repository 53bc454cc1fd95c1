"""Cases of kernels/data_files/dataset_chunks.c."""
import os

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import elements, hidden, made
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

ERRORS = {
    "empty": "", "code": "code: 3", "both": "code: ABORTED message: 'x'",
    "no text": "zz", "no code": "code: NOPE", "message": 'message: "a"',
    "escapes": r"message: 'a\n\"\'\\\101' code: NOT_FOUND",
    "lines": "code: INTERNAL\nmessage: \"two words\"\n",
    "open": "code: 3 message: 'x", "far": "code: 99 message: 'x'",
}


def folder(side, name, chunks=None, error=None, done=True):
    path = side.path(name.replace(" ", "_"))
    os.makedirs(path)
    if chunks is not None:
        os.makedirs(path + "/chunks")
    for chunk in chunks or ():
        with open(path + "/chunks/" + chunk, "w"):
            pass
    if done:
        with open(path + "/DONE", "w"):
            pass
    if error is not None:
        with open(path + "/ERROR", "w") as file:
            file.write(error)
    return path


def names(path, kind=tf.string):
    return made("ListSnapshotChunksDataset", hidden(path), types=(kind,))


@scenario("ListSnapshotChunksDataset")
@fresh_graph
def data_snapshot_chunks(side):
    few = ["chunk_0_1_2", "chunk_1_0_2", "chunk_0_0_2"]
    paths = {
        "few": folder(side, "few", few),
        "many": folder(side, "many", ["chunk_%d_%d_5" % (s, n) for s in (
            0, 2, 10) for n in (1, 9, 11)]),
        "none": folder(side, "none", []),
        "no folder": folder(side, "no folder"),
        "other names": folder(side, "other names", ["y", "x", "chunk_1_2"]),
    }
    for name, text in ERRORS.items():
        paths["error " + name] = folder(side, "error " + name, few, text)
    makers = {name: lambda p=path: names(p) for name, path in paths.items()}
    makers.update({
        "no path": lambda: names(""),
        "paths": lambda: names([paths["few"]] * 2),
        "numbers": lambda: names(paths["few"], tf.int64),
    })
    found = elements(side, makers, limit=12, passes=2)
    found.update(elements(side, {  # its end is not asked for
        "not done": lambda: names(folder(side, "open", few, done=False)),
    }, limit=3))
    return {key: value.replace(side.folder, "D") if isinstance(value, str) else
            value.replace(side.folder.encode(), b"D")
            for key, value in found.items()}
