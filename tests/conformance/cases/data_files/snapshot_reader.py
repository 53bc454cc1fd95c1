"""Cases of kernels/data_files/snapshot_reader.c."""
import glob
import os

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, elements, hidden,
                                                    made, numbers, raw,
                                                    variant)
from tests.conformance.cases.data_files.dataset_save import (NUMBER, plainly,
                                                             saved)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def names_of(path):
    return sorted(glob.glob(path + "/*/*.shard"))


@scenario("SnapshotDatasetReader SnapshotNestedDatasetReader "
          "SnapshotChunkDataset")
@fresh_graph
def data_shards(side):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(saved(numbers(7), side.path("s"), "", lambda x: x % 2))
        session.run(saved(numbers(7), side.path("z"), "SNAPPY"))
        session.run(saved(numbers(7), side.path("cut")))
    folders = names_of(side.path("s"))
    packed, = names_of(side.path("z"))
    cut, = names_of(side.path("cut"))
    with open(cut + "/00000000.snapshot", "rb") as file:
        text = file.read()
    with open(cut + "/00000000.snapshot", "wb") as file:
        file.write(text[:-3])

    def reader(folder, start=0, version=2, kind=""):
        return made("SnapshotDatasetReader", hidden(folder),
                    hidden(tf.constant(start, tf.int64)), version=version,
                    compression=kind)

    def chunk(file, kind=""):
        return made("SnapshotChunkDataset", hidden(file), compression=kind)

    def nested():
        inputs = [variant(reader(folders[0])),
                  variant(reader(packed, kind="SNAPPY"))]
        nest = Made(raw.SnapshotNestedDatasetReader(
            inputs=inputs, output_types=[tf.variant], output_shapes=[[]]),
                    tf.data.DatasetSpec(NUMBER))
        return nest.flat_map(lambda x: x)
    makers = {"start %d" % n: lambda s=n: reader(folders[0], s)
              for n in (0, 1, 4, 5)}
    makers.update({
        "packed": lambda: reader(packed, 2, 2, "SNAPPY"),
        "packed as plain": lambda: reader(packed, 0, 2),
        "plain as packed": lambda: reader(folders[0], 0, 2, "SNAPPY"),
        "missing": lambda: reader(side.path("missing")),
        "version 3": lambda: reader(folders[0], version=3),
        "version -1": lambda: reader(folders[0], version=-1),
        "folders": lambda: reader(folders),
        "chunk": lambda: chunk(folders[0] + "/00000000.snapshot"),
        "chunk packed": lambda: chunk(packed + "/00000000.snapshot", "SNAPPY"),
        "chunk missing": lambda: chunk(folders[0] + "/00000007.snapshot"),
        "chunk cut": lambda: chunk(cut + "/00000000.snapshot"),
        "files": lambda: chunk(folders),
    })
    out = elements(side, makers, limit=9)
    os.rename(folders[1] + "/00000000.snapshot",
              folders[0] + "/00000001.snapshot")
    makers = {"chunks": lambda: reader(folders[0]), "nested": nested}
    if side.target:
        out.update(elements(side, makers))
    else:  # TensorFlow fails between two chunks, and lets go of what is nested
        for name, values in (("chunks", (0, 2, 4, 6, 1, 3, 5)),
                             ("nested", (0, 2, 4, 6, 1, 3, 5) + tuple(
                                 range(7)))):
            for i, value in enumerate(values):
                out["%s %d" % (name, i)] = np.int64(value)
            out["%s %d" % (name, len(values))] = out["start 0 4"]
    return {key: plainly(value, side) for key, value in out.items()}
