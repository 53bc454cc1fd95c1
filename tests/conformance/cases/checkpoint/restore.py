"""Cases of kernels/checkpoint/restore.c: checkpoints of format V1 in shards."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import FED
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
A = np.arange(12, dtype=np.float32).reshape(3, 4)
# TensorFlow's format V1 has no such types.
NOT_SAVED = (tf.uint32, tf.uint64)


def whole(pattern, name, dt=tf.float32, **more):
    return raw.Restore(file_pattern=hidden(pattern), tensor_name=hidden(name),
                       dt=dt, **more)


def part(pattern, name, spec, dt=tf.float32, **more):
    return raw.RestoreSlice(file_pattern=hidden(pattern),
                            tensor_name=hidden(name),
                            shape_and_slice=hidden(spec), dt=dt, **more)


def written(side, session):
    """Two shards, which have a tensor each and share a third."""
    for name, names, specs, data in (
            ("p-0-of-2", ["a", "n"], ["3 4 0,2:-", ""], [A[:2], np.int32([7])]),
            ("p-1-of-2", ["a", "s"], ["3 4 2,1:-", ""],
             [A[2:], np.array([b"x", b"yy"])])):
        session.run(raw.SaveSlices(
            filename=side.path(name), tensor_names=names,
            shapes_and_slices=specs, data=data))
    return side.path("p-*")


def all_told(side, session, fetches):
    out = {}
    for name, fetch in fetches.items():
        found = told(session, fetch)
        out[name] = (found.replace(side.folder, "FOLDER")
                     if isinstance(found, str) else found)
    return out


@scenario("Restore RestoreSlice", tol=0)
@fresh_graph
def shards_are_restored(side):
    with side.session() as session:
        p = written(side, session)
        one = side.path("p-0-of-2")
        fetches = {
            "slice": part(p, "a", "3 4 1,2:-"), "no slice": part(p, "a", ""),
            "columns": part(p, "a", "3 4 -:1,2"),
            "own": part(one, "a", "3 4 0,1:-"),
            "number": part(p, "n", "1 0,1", tf.int32),
            "texts": part(p, "s", "2 1,1", tf.string),
            "vectors": whole([p], ["a"]), "two names": whole(p, ["a", "n"]),
            "two slices": part(p, "a", ["", ""])}
        for shard in (-1, 0, 1):
            for name, dt in (("a", tf.float32), ("n", tf.int32),
                             ("s", tf.string)):
                fetches["%s by %d" % (name, shard)] = whole(
                    p, name, dt, preferred_shard=shard)
                fetches["slice of %s by %d" % (name, shard)] = part(
                    p, name, "", dt, preferred_shard=shard)
        return all_told(side, session, fetches)


@scenario("Restore RestoreSlice", tol=0)
@fresh_graph
def every_type_is_restored(side):
    tensors = {d.name: sample(d, (2, 3)) for d in FED if d not in NOT_SAVED}
    tensors.update(none=np.zeros([0, 4], np.float32), scalar=np.float32(2.5))
    types = {d.name: d for d in FED}
    with side.session() as session:
        saved = all_told(side, session, {"save " + name: raw.Save(
            filename=side.path(name), tensor_names=[name],
            data=[hidden(value)]) for name, value in tensors.items()})
        saved.update(all_told(side, session, {name: whole(
            side.path(name), name, types.get(name, tf.float32))
            for name in tensors}))
        return saved


@scenario("Restore RestoreSlice", tol=0)
@fresh_graph
def wrong_restores(side):
    with side.session() as session:
        p = written(side, session)
        one = side.path("p-0-of-2")
        out = all_told(side, session, {
            "name": whole(p, "zz"), "type": whole(p, "a", tf.int32),
            "pattern": whole(side.path("q*"), "a"),
            "file": whole(side.path("none"), "a"), "part": whole(one, "a"),
            "other part": part(one, "a", "3 4 2,1:-"),
            "two patterns": whole([p, p], "a"),
            "no pattern": whole(np.array([], object), "a"),
            "shape": part(p, "a", "4 4 -:1,2"), "spec": part(p, "a", "3 4"),
            "extent": part(p, "a", "3 4 0,9:-"),
            "letters": part(p, "a", "3 x -:-"), "rank": part(p, "a", "3 4 -"),
            "empty": whole("", "a")})
        junk = raw.WriteFile(filename=side.path("p-9"), contents="junk")
        session.run(junk)
        out.update(all_told(side, session, {
            "junk": whole(p, "a"), "junk behind": whole(p, "a",
                                                        preferred_shard=0),
            "junk behind name": whole(p, "n", tf.int32, preferred_shard=0),
            "junk first": whole(p, "a", preferred_shard=2)}))
        session.run(raw.WriteFile(filename=side.path("p-0x"), contents="junk"))
        out.update(all_told(side, session, {
            "junk between": whole(p, "s", tf.string, preferred_shard=0),
            "junk between slices": whole(p, "a", preferred_shard=0)}))
        return out


@scenario("Restore RestoreSlice", tol=0)
@fresh_graph
def no_such_shard(side):
    with side.session() as session:
        return all_told(side, session, {
            "shard": whole("x", "a", preferred_shard=-2)})
