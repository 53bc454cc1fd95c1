"""tfdctl checkpoint against TensorFlow's own answers."""
import glob
import json
import os
import shutil
import tempfile

from tests.cluster.client import graph, np, tf
from tests.cluster.ctl.ctl import (DONE, NO, UNREADABLE, bad, call, document,
                                   good)
from tests.cluster.suite import test

TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32",
         "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
         "complex128"]
NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def save(prefix, values, slices=None, saver_version=2):
    """Writes a checkpoint of these tensors; {name: shape_and_slice}."""
    slices = slices or {}
    with graph(), tf.Session() as session:
        names = list(values)
        session.run(tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=names,
            shape_and_slices=[slices.get(n, "") for n in names],
            tensors=[tf.constant(values[n]) for n in names]))


def some_values(seed=0):
    rng = np.random.default_rng(seed)
    values = {"t/" + t: rng.integers(0, 2, (3, 5)).astype(
        tf.as_dtype(t).as_numpy_dtype) for t in TYPES}
    values["empty"] = np.zeros((0, 4), np.float32)
    values["scalar"] = np.float32(3)
    values["strings"] = np.array([[b"a", b"", b"\x00\xff" * 40]], object)
    values["large"] = rng.standard_normal((300, 70))
    return values


def shown(prefix):
    return {t["name"]: t for t in document("checkpoint", "show",
                                           prefix)["tensors"]}


def readable(prefix):
    """The tensors that TensorFlow can read, and those that it cannot."""
    reader, good_ones, bad_ones = tf.train.load_checkpoint(prefix), [], []
    for name in sorted(reader.get_variable_to_shape_map()):
        try:
            reader.get_tensor(name)
            good_ones.append(name)
        except (tf.errors.OpError, IndexError, RuntimeError):
            bad_ones.append(name)
    return good_ones, bad_ones


@test()
def show_says_what_tensorflow_says(_):
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model.ckpt-7"
        save(prefix, some_values())
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
        types = reader.get_variable_to_dtype_map()
        found = shown(prefix)
        assert sorted(found) == sorted(shapes), sorted(found)
        for name, row in found.items():
            assert row["shape"] == shapes[name], (row, shapes[name])
            want = types[name].name
            assert row["type"] == NAMES.get(want, want), (row, want)
            assert row["file"] == "model.ckpt-7.data-00000-of-00001", row
        assert found["large"]["bytes"] == 300 * 70 * 8
        text = good("checkpoint", "show", prefix)
        assert len(text.splitlines()) == len(found) + 1
        assert "164 KiB" in text, text


@test()
def a_whole_one_verifies(_):
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model"
        values = some_values()
        save(prefix, values)
        found = document("checkpoint", "verify", prefix)
        assert found["whole"] and found["damaged"] == [], found
        assert found["tensors"] == len(values), found
        assert ", 0 damaged" in good("checkpoint", "verify", prefix)


def partitioned(prefix, folder):
    """A variable of 2 slices, in data files of their own, merged."""
    whole = np.arange(20, dtype=np.float32).reshape(4, 5)
    with graph(), tf.Session() as session:
        for i in range(2):
            session.run(tf.raw_ops.SaveV2(
                prefix="%s/part%d" % (folder, i), tensor_names=["sliced"],
                shape_and_slices=["4 5 %d,2:-" % (2 * i)],
                tensors=[tf.constant(whole[2 * i:2 * i + 2])]))
        session.run(tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=["%s/part%d" % (folder, i) for i in (0, 1)],
            destination_prefix=prefix))
    return whole


@test()
def slices_are_read_as_their_tensor(_):
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model"
        partitioned(prefix, folder)
        found = shown(prefix)
        assert list(found) == ["sliced"] and found["sliced"]["slices"] == 2
        assert found["sliced"]["shape"] == [4, 5]
        assert found["sliced"]["bytes"] == 80
        assert document("checkpoint", "verify", prefix)["tensors"] == 1
        with open(prefix + ".data-00001-of-00002", "r+b") as f:
            f.write(b"\xff")
        found = document("checkpoint", "verify", prefix, code=NO)
        assert [d["tensor"] for d in found["damaged"]] == ["sliced"], found
        assert readable(prefix)[1] == ["sliced"]


@test(limit=60)
def each_damaged_byte_names_its_tensor(_):
    """Of the data file, one byte after another; as TensorFlow refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model"
        save(prefix, {"a": np.arange(3, dtype=np.int32),
                      "b": np.array([b"xy", b"z"], object),
                      "c": np.float64(1), "d": np.zeros(0, np.int8)})
        data = prefix + ".data-00000-of-00001"
        with open(data, "rb") as f:
            whole = f.read()
        for at in range(len(whole)):
            with open(data, "wb") as f:
                f.write(whole[:at] + bytes([whole[at] ^ 0x40])
                        + whole[at + 1:])
            found = document("checkpoint", "verify", prefix, code=NO)
            names = [d["tensor"] for d in found["damaged"]]
            assert names == readable(prefix)[1], (at, found)
            assert len(names) == 1 and found["tensors"] == 4, (at, found)
            assert found["damaged"][0]["file"] == os.path.basename(data)
        text = call("checkpoint", "verify", prefix)[1]
        assert "DATA_LOSS" not in text and "1 damaged" in text, text


@test(limit=60)
def a_shortened_or_lost_file_is_damage(_):
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model"
        save(prefix, some_values())
        data, index = prefix + ".data-00000-of-00001", prefix + ".index"
        with open(data, "rb") as f:
            whole = f.read()
        for size in 0, 1, 100, len(whole) - 1:
            with open(data, "wb") as f:
                f.write(whole[:size])
            found = document("checkpoint", "verify", prefix, code=NO)
            # TensorFlow reads no file for a tensor without bytes.
            names = sorted(d["tensor"] for d in found["damaged"]
                           if d["tensor"] != "empty")
            assert names == readable(prefix)[1], (size, names)
        os.remove(data)
        found = document("checkpoint", "verify", prefix, code=NO)
        assert len(found["damaged"]) == found["tensors"], found
        assert "No such file" in found["damaged"][0]["error"], found
        with open(index, "rb") as f:
            whole = f.read()
        for at in range(0, len(whole), 7):  # any byte of the index
            with open(index, "wb") as f:
                f.write(whole[:at] + bytes([whole[at] ^ 0x55])
                        + whole[at + 1:])
            code, _, _ = call("checkpoint", "verify", prefix)
            assert code in (NO, UNREADABLE), (at, code)
        for size in range(0, len(whole), 11):
            with open(index, "wb") as f:
                f.write(whole[:size])
            for verb in "verify", "show":
                code, _, said = call("checkpoint", verb, prefix)
                assert code in (NO, UNREADABLE), (size, code)
                assert "model.index" in said, said
        os.remove(index)
        for verb in "verify", "show":
            bad(UNREADABLE, [index, "No such file"], "checkpoint", verb,
                prefix)
        bad(UNREADABLE, [folder], "checkpoint", "verify", folder)
        open(prefix, "w").close()
        bad(UNREADABLE, ["format V1"], "checkpoint", "verify", prefix)


def looked_at(calls, code, escaped):
    """Each as JSON with the escaped name in its first value, and as a table."""
    for words in calls:
        first = next(iter(document("checkpoint", *words, code=code).values()))
        assert escaped in first, first
        got, said, complained = call("checkpoint", *words)
        assert got == code, (words, got, complained)
        assert not set(said + complained) & set("\x1b\x9b"), said


@test()
def names_that_are_no_utf8_or_steer_are_escaped(_):
    escaped = "\\xff\x1b[2J\x9b"
    with tempfile.TemporaryDirectory() as folder:
        odd = os.fsdecode(os.fsencode(folder) + b"/\xff\x1b[2J\xc2\x9b")
        os.mkdir(odd)
        prefix = odd + "/m" + odd[len(folder) + 1:] + "-1"
        save(folder + "/m-1", {"a": np.ones(3, np.float32)})
        for path in glob.glob(folder + "/m-1.*"):
            os.rename(path, prefix + path[len(folder + "/m-1"):])
        whole = [["ls", odd], ["show", prefix], ["verify", prefix],
                 ["diff", prefix, prefix]]
        looked_at(whole, DONE, escaped)
        [data] = glob.glob(glob.escape(prefix) + ".data*")
        with open(data, "wb") as f:
            f.write(b"x" * 12)
        looked_at([["verify", prefix]], NO, escaped)
        [damage] = document("checkpoint", "verify", prefix, code=NO)["damaged"]
        assert escaped in damage["file"], damage


@test()
def diff_names_what_is_not_the_same(_):
    with tempfile.TemporaryDirectory() as folder:
        one, two = folder + "/one", folder + "/two"
        values = some_values()
        save(one, values)
        save(two, values)
        assert document("checkpoint", "diff", one, two) == {
            "first": one, "second": two, "same": len(values), "different": []}
        changed = dict(values)
        changed["large"] = values["large"] + np.eye(300, 70) * 0.5
        changed["strings"] = np.array([[b"a", b"b", b"c"]], object)
        changed["scalar"] = np.float64(3)
        changed["empty"] = np.zeros((0, 5), np.float32)
        del changed["t/bool"]
        changed["zz"] = np.int32(1)
        save(two, changed)
        found = document("checkpoint", "diff", one, two, code=NO)
        assert found["same"] == len(values) - 5, found
        rows = {r["name"]: r for r in found["different"]}
        assert {n: r["difference"] for n, r in rows.items()} == {
            "large": "values", "strings": "values", "scalar": "type",
            "empty": "shape", "t/bool": "only in first",
            "zz": "only in second"}, rows
        assert abs(rows["large"]["apart"] - 0.5) < 1e-9, rows["large"]
        assert rows["scalar"]["first"] == "float []", rows["scalar"]
        assert rows["scalar"]["second"] == "double []", rows["scalar"]
        assert rows["zz"]["first"] is None, rows["zz"]
        text = call("checkpoint", "diff", one, two)[1]
        assert "only in second" in text and "6 are not" in text, text
        bad(UNREADABLE, [folder + "/three"], "checkpoint", "diff", one,
            folder + "/three")
        bad(UNREADABLE, [folder + "/three"], "checkpoint", "diff",
            folder + "/three", one)
        with open(two + ".data-00000-of-00001", "r+b") as f:
            f.write(b"\xff" * 1000)
        assert call("checkpoint", "diff", one, two)[0] == NO


@test()
def ls_lists_what_is_there_and_what_is_lost(_):
    with tempfile.TemporaryDirectory() as folder, graph():
        v = tf.Variable([1.0, 2.0])
        saver = tf.train.Saver(max_to_keep=9)
        with tf.Session() as session:
            session.run(v.initializer)
            for step in 5, 10, 100:
                saver.save(session, folder + "/model.ckpt", step)
        found = document("checkpoint", "ls", folder)["checkpoints"]
        assert [c["step"] for c in found] == [5, 10, 100], found
        assert [c["latest"] for c in found] == [False, False, True]
        for c in found:
            assert c["state"] == "ok", c
            assert c["bytes"] == sum(
                os.path.getsize(f) for f in glob.glob(
                    "%s/%s.[di]*" % (folder, c["name"]))), c
        assert os.path.basename(tf.train.latest_checkpoint(folder)) == \
            found[-1]["name"]
        os.remove(folder + "/model.ckpt-10.index")
        found = document("checkpoint", "ls", folder)["checkpoints"]
        assert [c["state"] for c in found] == ["ok", "lost", "ok"], found
        text = good("checkpoint", "ls", folder)
        assert "LATEST" in text and "lost" in text, text
        with open(folder + "/checkpoint", "w") as f:
            f.write('model_checkpoint_path: "model.ckpt-5"\n}{ \n')
        code, _, said = call("checkpoint", "ls", folder)
        assert code == DONE and "line 2" in said, said
        os.remove(folder + "/checkpoint")
        code, text, said = call("checkpoint", "ls", folder)
        assert code == DONE and "not known" in said, said
        shutil.rmtree(folder)
        bad(UNREADABLE, [folder, "No such file"], "checkpoint", "ls", folder)
        os.mkdir(folder)
        assert document("checkpoint", "ls", folder)["checkpoints"] == []
        open(folder + "/file", "w").close()
        bad(UNREADABLE, ["directory"], "checkpoint", "ls", folder + "/file")
