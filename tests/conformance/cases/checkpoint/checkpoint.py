"""Cases of kernels/checkpoint/checkpoint.c."""
import os

import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import FED
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
from tests.conformance.table import scenario


def saved_tensors():
    """Tensors whose checkpoint has every type, empty and long entries."""
    out = {"t/" + d.name: (d, sample(d, (2, 3))) for d in FED
           if d != tf.string}
    out["t/scalar"] = (tf.float32, np.float32(2.5))
    out["t/none"] = (tf.float32, np.zeros([0, 4], np.float32))
    out["t/strings"] = (tf.string, sample(tf.string, (3, 5)))
    out["t/long"] = (tf.string, np.array([b"y" * 70000, b""], object))
    out["t/large"] = (tf.float64, sample(tf.float64, (100, 70)))
    for i in range(300):  # several blocks of index, shared prefixes
        out["layer_%d/kernel" % i] = (tf.float32, np.float32([i, i]))
    return out


def save_op(prefix, tensors, slices=None):
    names = sorted(tensors)
    feeds = {tf.placeholder(tensors[n][0], None): tensors[n][1] for n in names}
    op = tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=names, tensors=list(feeds),
        shape_and_slices=[(slices or {}).get(n, "") for n in names])
    return op, feeds


@scenario("SaveV2 RestoreV2", tol=0)
@fresh_graph
def a_checkpoint_has_the_same_bytes(side):
    tensors = saved_tensors()
    op, feeds = save_op(side.path("model"), tensors)
    with side.session() as session:
        session.run(op, feeds)
        out = {"index": side.bytes("model.index"),
               "data": side.bytes("model.data-00000-of-00001"),
               "files": ",".join(sorted(os.listdir(side.folder)))}
        session.run(op, feeds)
        out["over the old one"] = side.bytes("model.index")
    reader = tf.train.load_checkpoint(side.path("model"))
    out.update({name: reader.get_tensor(name) for name in tensors})
    return out


@scenario("RestoreV2", tol=0)
@fresh_graph
def a_checkpoint_of_tensorflow_is_restored(side):
    tensors = saved_tensors()
    op, feeds = save_op(side.path("model"), tensors)
    with tf.Session("") as local:
        local.run(op, feeds)
    names = sorted(tensors)
    restored = tf.raw_ops.RestoreV2(
        prefix=side.path("model"), tensor_names=names,
        shape_and_slices=[""] * len(names),
        dtypes=[tensors[n][0] for n in names])
    with side.session() as session:
        return dict(zip(names, session.run(restored)))


@scenario("SaveV2 MergeV2Checkpoints ShardedFilename RestoreV2", tol=0)
@fresh_graph
def shards_are_merged(side):
    parts, out = [], {}
    tensors = saved_tensors()
    names = sorted(tensors)
    with side.session() as session:
        for i in range(3):
            prefix = tf.raw_ops.ShardedFilename(
                basename=side.path("tmp_dir/part"), shard=i, num_shards=3)
            op, feeds = save_op(prefix, {n: tensors[n] for n in names[i::3]})
            session.run(op, feeds)
            parts.append(session.run(prefix))
        merge = tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=parts, destination_prefix=side.path("model"))
        session.run(merge)
        out["left"] = ",".join(sorted(os.listdir(side.folder)))
        for name in sorted(os.listdir(side.folder)):
            if name.startswith("model"):
                out[name] = side.bytes(name)
        out["again"] = attempt(session, merge)
    reader = tf.train.load_checkpoint(side.path("model"))
    out.update({name: reader.get_tensor(name) for name in tensors})
    return out


@scenario("SaveV2 RestoreV2", tol=0)
@fresh_graph
def slices_of_a_partitioned_variable(side):
    whole = sample(tf.float32, (6, 5))
    parts = {"0,4": whole[:4], "4,2": whole[4:]}
    feeds, specs = {}, []
    for spec, value in parts.items():
        feeds[tf.placeholder(tf.float32, None)] = value
        specs.append("6 5 %s:-" % spec)
    op = tf.raw_ops.SaveV2(prefix=side.path("m"), tensor_names=["v", "v"],
                           shape_and_slices=specs, tensors=list(feeds))
    wanted = ["", "6 5 1,4:-", "6 5 -:2,2", "6 5 0,4:-", "6 5 3,2:1,1"]
    wrong = ["6 5 5,2:-", "7 5 0,2:-", "6 5 x", "6 5 0,2"]
    out = {}
    with side.session() as session:
        session.run(op, feeds)
        out["index"] = side.bytes("m.index")
        out["data"] = side.bytes("m.data-00000-of-00001")
        for spec in wanted + wrong:
            out["slice " + spec] = attempt(session, restore(
                side.path("m"), "v", tf.float32, spec))
    return out


def restore(prefix, name, dtype, spec=""):
    return tf.raw_ops.RestoreV2(
        prefix=hidden(prefix), tensor_names=hidden([name]),
        shape_and_slices=hidden([spec]), dtypes=[dtype])


@scenario("RestoreV2 SaveV2 MergeV2Checkpoints")
@fresh_graph
def bad_checkpoints_are_refused(side):
    raw, path = tf.raw_ops, side.path("model")
    op, feeds = save_op(path, {"a": (tf.float32, np.float32([1, 2]))})
    out = {}
    with side.session() as session:
        session.run(op, feeds)
        tries = {
            "name": restore(path, "b", tf.float32),
            "type": restore(path, "a", tf.int32),
            "prefix": restore(path + "x", "a", tf.float32),
            "below a file": restore(path + ".index/x", "a", tf.float32),
            "deep below": restore(path + ".index/x/y", "a", tf.float32),
            "folder": save_op(side.path("no/such/m"), {
                "a": (tf.float32, np.float32([1, 2]))})[0],
            "names": raw.SaveV2(
                prefix=path, tensor_names=hidden(["a", "b"]),
                shape_and_slices=[""], tensors=[hidden(1.0)]),
            "slices": raw.SaveV2(
                prefix=path, tensors=[hidden(1.0)], tensor_names=["a"],
                shape_and_slices=hidden(["", ""])),
            "slice": raw.SaveV2(
                prefix=path, tensors=[hidden([1.0])], tensor_names=["a"],
                shape_and_slices=hidden(["4 0,2"])),
            "no names": raw.RestoreV2(
                prefix=path, tensor_names=hidden(np.zeros([0], object)),
                shape_and_slices=hidden(np.zeros([0], object)),
                dtypes=[tf.float32]),
            "prefixes": raw.RestoreV2(
                prefix=hidden([path, path]), tensor_names=["a"],
                shape_and_slices=[""], dtypes=[tf.float32]),
            "merge": raw.MergeV2Checkpoints(
                checkpoint_prefixes=[path + "y"], destination_prefix=path),
        }
        for name, fetch in tries.items():
            out[name] = attempt(session, fetch, feeds)
        for name, damage in (("index", _cut), ("data-00000-of-00001", _flip)):
            session.run(op, feeds)
            damage(side.path("model." + name))
            out["damaged " + name] = attempt(session, restore(
                path, "a", tf.float32))
    return out


def _cut(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 9)


def _flip(path):
    with open(path, "r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))


@scenario("SaveSlices Save RestoreV2", tol=0)
@fresh_graph
def v1_checkpoints_are_saved_and_restored(side):
    dtypes = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.uint8]
    names = [d.name for d in dtypes]
    feeds = {tf.placeholder(d, None): sample(d) for d in dtypes}
    ops = {"slices": tf.raw_ops.SaveSlices(
        filename=side.path("slices"), tensor_names=names, data=list(feeds),
        shapes_and_slices=[""] * len(names)), "whole": tf.raw_ops.Save(
            filename=side.path("whole"), tensor_names=names, data=list(feeds))}
    out = {}
    with side.session() as session:
        for name, op in ops.items():
            session.run(op, feeds)
            out[name] = side.bytes(name)
            for dtype in dtypes:
                out[name + " " + dtype.name] = attempt(session, restore(
                    side.path(name), dtype.name, dtype))
    return out


def sparse(count):
    """A sparse tensor as three variants."""
    return tf.raw_ops.SerializeSparse(
        sparse_indices=hidden(np.int64([[i, 0] for i in range(count)])),
        sparse_values=hidden(np.array(["v" * i * 40 for i in range(count)],
                                      object)),
        sparse_shape=hidden(np.int64([9, 2])), out_type=tf.variant)


@scenario("SaveV2 RestoreV2 SerializeSparse DeserializeSparse")
@fresh_graph
def variants_in_a_checkpoint(side):
    """What one of them saves, TensorFlow or the server, the other restores."""
    out = {}
    with side.session() as session, tf.Session("") as here:
        for name, one, other in (("there", session, here),
                                 ("here", here, session)):
            prefix = side.path(name)
            one.run(tf.raw_ops.SaveV2(
                prefix=prefix, tensor_names=["v", "w"],
                shape_and_slices=["", ""],
                tensors=[sparse(4), tf.stack([sparse(1), sparse(2)])]))
            parts = [part for v in tf.raw_ops.RestoreV2(
                prefix=prefix, tensor_names=["v", "w"],
                shape_and_slices=["", ""], dtypes=[tf.variant, tf.variant])
                     for part in tf.raw_ops.DeserializeSparse(
                         serialized_sparse=v, dtype=tf.string)]
            for i, value in enumerate(other.run(parts)):
                out["saved %s, part %d" % (name, i)] = value
            with open(prefix + ".data-00000-of-00001", "r+b") as file:
                file.seek(-1, 2)
                last = file.read(1)
                file.seek(-1, 2)
                file.write(bytes([last[0] ^ 1]))
            out["saved %s, flipped" % name] = attempt(other, parts)
    return out
