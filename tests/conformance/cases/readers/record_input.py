"""Cases of kernels/readers/record_input.c.  What order records come in is
drawn, and differs with every run of TensorFlow, so they are sorted."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

raw = tf.raw_ops
FILES, EACH = 5, 7


def write(side, name, records, compression=""):
    with tf.io.TFRecordWriter(side.path(name), options=compression) as file:
        for record in records:
            file.write(record)


def written(side):
    for i in range(FILES):
        write(side, "f%d" % i, [b"%d-%d" % (i, j) * (j + 1)
                                for j in range(EACH)])
    write(side, "empty", [])


def taken(side, session, pattern, times=1, **more):
    patterns = ",".join(side.path(p) for p in pattern.split(","))
    attributes = dict(file_pattern=patterns, file_buffer_size=10,
                      file_parallelism=2, batch_size=FILES * EACH)
    op = raw.RecordInput(**{**attributes, **more})
    out = []
    for _ in range(times):
        found = told(session, op)
        out.append(found.replace(side.folder, "FOLDER")
                   if isinstance(found, str)
                   else np.array(sorted(found), object))
    return out


def numbered(of):
    return {"%s %d" % (name, i): value for name, values in of.items()
            for i, value in enumerate(values)}


@scenario("RecordInput", tol=0)
@fresh_graph
def records_come_epoch_after_epoch(side):
    written(side)
    whole = FILES * EACH
    for kind in ("ZLIB", "GZIP"):
        write(side, kind, [b"%d" % i for i in range(20)], kind)
    out = {}
    with side.session() as session:
        for parallelism in (1, 2, 5, 16):
            for size in (1, 10, 1000):
                out["%d of %d" % (parallelism, size)] = taken(
                    side, session, "f*", 3, file_parallelism=parallelism,
                    file_buffer_size=size)
        out["two epochs"] = taken(side, session, "f*", 2, batch_size=2 * whole)
        out["nothing"] = taken(side, session, "f*", batch_size=0)
        out["two patterns"] = taken(side, session, "f1,f3", batch_size=2 * EACH)
        out["many patterns"] = taken(side, session, "f1" + ",none" * 9999,
                                     batch_size=EACH)
        out["with an empty one"] = taken(side, session, "f1,empty", 2,
                                         batch_size=EACH)
        for ratio in (0.5, 0.99, 2.0, -1.0):
            out["shifted by %s" % ratio] = taken(
                side, session, "f*", 2, file_shuffle_shift_ratio=ratio)
        for kind in ("ZLIB", "GZIP"):
            out[kind] = taken(side, session, kind, 2, batch_size=20,
                              compression_type=kind)
        out["unknown"] = taken(side, session, "f*", compression_type="ZIP")
    return numbered(out)


@scenario("RecordInput", tol=0)
@fresh_graph
def parts_of_an_epoch(side):
    """Small batches together are an epoch, and then the next one."""
    written(side)
    with side.session() as session:
        op = raw.RecordInput(file_pattern=side.path("f*"), batch_size=5,
                             file_buffer_size=8, file_random_seed=7)
        out = [np.array(sorted(record for _ in range(FILES * EACH // 5)
                               for record in session.run(op)), object)
               for _ in range(2)]
    return {"epoch %d" % i: value for i, value in enumerate(out)}


@scenario("RecordInput", tol=0)
@fresh_graph
def wrong_record_inputs(side):
    written(side)
    write(side, "packed", [b"x" * 50] * 3, "GZIP")
    out = {}
    with side.session() as session:
        out["none"] = taken(side, session, "none*", 2)
        out["packed"] = taken(side, session, "packed", 2)
    for more in (dict(batch_size=-1), dict(file_parallelism=-1)):
        with tf.Graph().as_default(), side.session() as session:
            out[str(more)] = taken(side, session, "f*", **more)
    return numbered(out)
