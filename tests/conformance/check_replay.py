"""An archive is recorded and replayed where TensorFlow cannot be imported.

  python -m tests.conformance.check_replay [--server CMD] [--only TEXT]

What is wrong in an archive or a server must be told, and end in 1.
"""
import argparse
import contextlib
import functools
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import numpy as np

from tests.cluster.cluster import Cluster, add_server_options, server_from
from tests.cluster.runner import Tally, isolated
from tests.conformance import archive, devices, facts, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Values of all types, errors, variables, random streams, strings; products and
# convolutions, which GPUs have libraries for.
OPS = ("AddV2", "Assign", "Conv2D", "Conv2DBackpropInput", "GatherV2",
       "MatMul", "RandomUniform", "StringJoin")
NEEDED = ("google", "grpc", "ml_dtypes", "numpy", "numpy.libs",
          "typing_extensions.py")
SECONDS = 120


class Workshop:
    """An archive, a Python without TensorFlow, and the server to be asked."""

    def __init__(self, folder, server):
        self.folder, self.server = pathlib.Path(folder), server
        self.bare = self.folder / "bare"
        self.good = self.folder / "good.zip"
        self.bare.mkdir()
        installed = pathlib.Path(sysconfig.get_path("purelib"))
        for name in NEEDED:
            if (installed / name).exists():
                (self.bare / name).symlink_to(installed / name)

    def record(self, *flags):
        return call([sys.executable, "-m", "tests.conformance.record",
                     *flags], os.environ)

    def python(self, *arguments):
        """Without site-packages, but for what is needed."""
        return call([sys.executable, "-S", "-s", *arguments],
                    dict(os.environ, PYTHONPATH=str(self.bare)))

    def replay(self, path, *flags, plain=True):
        server = () if "--target" in flags else (
            "--server", " ".join(self.server.command))
        code, text = self.python("tests/conformance/replay.py", str(path),
                                 *server, *flags)
        assert not plain or "Traceback" not in text, text
        return code, text

    def changed(self, change, path=None):
        """An archive whose entries, name -> bytes, went through change()."""
        with zipfile.ZipFile(path or self.good) as good:
            entries = {name: good.read(name) for name in good.namelist()}
        change(entries)
        path = self.folder / "changed.zip"
        with zipfile.ZipFile(path, "w") as other:
            for name, data in entries.items():
                other.writestr(name, data)
        return path

    @contextlib.contextmanager
    def op(self, entries, name):
        """The RecordedOp of an entry, which is then written back."""
        kind = archive.Reader(self.good).messages.type("RecordedOp")
        recorded = kind.FromString(entries["ops/" + name])
        yield recorded
        entries["ops/" + name] = recorded.SerializeToString()


def call(command, environment):
    """(exit code, what it printed)."""
    done = subprocess.run(command, env=environment, cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=SECONDS)
    return done.returncode, done.stdout


def closing(text):
    """(passed, failed, skipped) of the last line."""
    found = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped",
                         text.splitlines()[-1])
    assert found, text
    return tuple(map(int, found.groups()))


def fails_in(outcome, *texts):
    """The replay failed in one op, and says these texts."""
    code, text = outcome
    passed, failed, _ = closing(text)
    assert code == 1 and passed > 0 and failed > 0, text
    assert len(re.findall("^FAIL ", text, re.M)) == 1, text
    for wanted in texts:
        assert wanted in text, "%r is not in: %s" % (wanted, text)


def refused(outcome, wanted):
    """Nothing was replayed."""
    code, text = outcome
    assert code == 1 and closing(text) == (0, 1, 0), text
    assert wanted in text, "%r is not in: %s" % (wanted, text)


# ---- What an archive is for -------------------------------------------------


def recorded_answers_hold_without_tensorflow(shop):
    code, text = shop.python("-c", "import tensorflow")
    assert code == 1 and "No module named 'tensorflow'" in text, text
    code, text = shop.replay(shop.good)
    passed, failed, skipped = closing(text)
    assert code == 0 and failed == 0, text
    assert passed == sum(archive.Reader(shop.good).meta["ops"].values()), text
    assert skipped > 0 and "need TensorFlow's client" in text, text
    for name in OPS:
        assert "ok   %s " % name in text, text


def a_running_server_is_asked_twice(shop):
    """Its variables of the first time do not matter."""
    with Cluster(shop.server, worker=1) as cluster:
        for _ in range(2):
            code, text = shop.replay(shop.good, "--target", cluster.target())
            assert code == 0 and closing(text)[1] == 0, text


def ops_can_be_chosen(shop):
    code, text = shop.replay(shop.good, "--only", "AddV2,StringJoin", "--list")
    assert code == 0 and text.split() == ["AddV2", "StringJoin"], text
    code, text = shop.replay(shop.good, "--only", "NoSuchOp")
    assert code == 1 and closing(text) == (0, 0, 0), text


def gpus_have_other_tolerances_and_cases(shop):
    path = shop.folder / "gpu.zip"
    code, text = shop.record(str(path), "--only", "GatherV2", "--device=gpu")
    assert code == 0, text
    here, there = archive.Reader(shop.good), archive.Reader(path)
    assert here.meta["tolerance"] != there.meta["tolerance"]
    assert here.op("GatherV2").trial[-1] != there.op("GatherV2").trial[-1]
    refused(shop.replay(path, "--device=cpu"), "recorded for a gpu")


def with_facts(shop, gpu):
    """What this process is told of TensorFlow's kernel for StringJoin; None:
    there is no folder that says it."""
    shared = shop.folder / "shared"
    (shared / "design").mkdir(parents=True, exist_ok=True)
    os.environ["TFD_SHARED"] = str(shared if gpu else shop.folder / "none")
    (shared / "design/ops.json").write_text(
        '{"StringJoin": {"gpu": "%s", "gpu_T": []}}' % gpu)


def types_that_tensorflow_has_are_told(shop):
    known = facts.Facts({
        "Some": {"gpu": "yes", "gpu_T": ["float32", "int64"]},
        "Untold": {"gpu": "yes", "gpu_T": []},
        "Any": {"gpu": "default-host", "gpu_T": []},
        "None": {"gpu": "no", "gpu_T": []},
        "VariableV2": {"gpu": "yes", "gpu_T": ["int8"],
                       "kind": "variable ref"},
        "Assign": {"gpu": "yes", "gpu_T": ["int8", "int16"],
                   "kind": "variable ref"}})
    for op, kinds, wanted in (
            ("Some", ["float32", "int8", "int64"],
             "cpu only, TensorFlow has one float32 int64; "
             "cpu only, as TensorFlow int8"),
            ("Some", [""], "cpu only, TensorFlow has one"),
            ("Untold", ["int8"], "cpu only int8"),
            ("Untold", [""], "cpu only, TensorFlow has one"),
            ("Any", ["int8"], "cpu only int8"),
            ("None", ["int8"], "cpu only, as TensorFlow int8"),
            ("VariableV2", ["int8"], "cpu only, TensorFlow has one int8"),
            ("Assign", ["int8", "int16"], "cpu only, TensorFlow has one int8; "
             "cpu only, as TensorFlow int16"),
            ("Other", ["int8"], "cpu only int8"), ("Other", [""], "cpu only")):
        told = devices.column_text({"cpu": kinds}, op, known)
        assert told == wanted, told
    both = {"cpu": ["int8"], "gpu": ["float32"]}
    assert devices.column_text(both, "Some", known) == (
        "gpu float32; cpu only, as TensorFlow int8")
    assert devices.column_text(both) == "gpu float32; cpu only int8"


def rows_have_the_devices_that_were_recorded(shop):
    """Of an op that no GPU has a kernel for, so that no card is needed."""
    path = shop.folder / "column.zip"
    command = " ".join(shop.server.command)
    code, text = shop.record(str(path), "--only", "StringJoin",
                             "--device=gpu", "--server", command)
    assert code == 0, text
    columns = archive.Reader(path).meta["columns"]
    assert columns == {"StringJoin": {"cpu": [""]}}, columns
    for gpu, told in (("no", ", as TensorFlow"), ("unknown", ""),
                      ("yes", ", TensorFlow has one"), (None, "")):
        with_facts(shop, gpu)
        code, text = shop.replay(path)
        assert code == 0 and ")  cpu only%s\n" % told in text, text
        assert "0 gpu, 0 host memory, 1 cpu only" in text, text
        assert ("cpu only (1%s)\n" % told[1:] in text) == bool(told), text

    def change(entries):
        entries["meta.json"] = entries["meta.json"].replace(
            b'{"cpu": [""]}', b'{"gpu": [""]}')
    code, text = shop.replay(shop.changed(change, path))
    assert code == 1 and closing(text)[1] == 1, text
    assert "the rows are cpu only; recorded: gpu" in text, text


class Answers(judge.Side):
    """A server with two devices that are asked for a node y; what they answer,
    an error or a number, is by device."""

    def __init__(self, by_device, pins):
        super().__init__("")
        self.answer = by_device[pins["y"]]

    def run(self, fetches, feeds, alone):
        if isinstance(self.answer, str):
            raise judge.Failure("InvalidArgumentError", self.answer)
        return [[np.float32(self.answer)]]

    def close(self):
        pass


def floats_on_both(shop):
    """A NodeDef, and Kernels that have it on both devices."""
    node = archive.Reader(shop.good).messages("tensorflow.NodeDef", op="Add")
    node.attr["T"].type = 1
    return node, devices.Kernels(
        "Add CPU host T=float\nAdd GPU device T=float\n")


def both_devices_are_asked(shop):
    """In the order of the answers: GPU, CPU, which TensorFlow says is 1, and
    in which of them the trial fails."""
    node, kernels = floats_on_both(shop)
    near = 6e-6  # of 8e-6 that may be
    for gpu, cpu, error, wanted in (
            (1, 1, "", []), (1 + near, 1, "", []), (1 - near, 1, "", []),
            (1 + near, 1 - near, "", ["CPU"]), (1, 2, "", ["CPU"]),
            (2, 1, "", ["GPU"]), (2, 2, "", ["GPU", "CPU"]),
            ("bad", 1, "", ["GPU"]), (1, "bad", "", ["CPU"]),
            ("bad", "bad", "InvalidArgumentError", []),
            ("bad", 1, "InvalidArgumentError", ["CPU"]),
            (1, "bad", "InvalidArgumentError", ["GPU"]),
            (judge.NOWHERE, "bad", "InvalidArgumentError", ["GPU"])):
        trial = judge.Trial(
            label="case", kind="float32", runs=1, tol=1, check="value",
            end=None, fetches=["y"], pinned=["y"], error=error,
            together=not error, want=[] if error else [np.float32(1)])
        verdict = devices.Verdict(
            [trial], kernels, {"y": node}.get, functools.partial(
                Answers, {"/device:GPU:0": gpu, "/device:CPU:0": cpu})).run()
        told = [text[len("/device:"):][:3] for text in verdict.failures]
        assert told == wanted, (gpu, cpu, verdict.failures)
        assert verdict.passed == (not wanted), (gpu, cpu)
        assert verdict.column.rows() == {"gpu": ["float32"]}


def both_servers_are_asked(shop):
    """One answer of TensorFlow decides on both, and who is wrong is told."""
    node, kernels = floats_on_both(shop)
    for plain, captures, wanted in (
            (1, 1, []), (2, 1, ["/device:GPU:0"]),
            (1, 2, ["captures: /device:GPU:0"]),
            (2, 2, ["/device:GPU:0", "captures: /device:GPU:0"])):
        trial = judge.Trial(
            label="case", kind="float32", runs=1, tol=1, check="value",
            end=None, fetches=["y"], pinned=["y"], want=[np.float32(1)])
        answers = {"plain": {devices.GPU: plain, devices.CPU: 1},
                   "captures": {devices.GPU: captures}}
        verdict = devices.both_verdicts(
            [trial], {"y": node}.get, lambda target: functools.partial(
                Answers, answers[target]), "plain", "captures",
            lambda target: kernels)
        told = [text.partition(": case")[0] for text in verdict.failures]
        assert told == wanted, verdict.failures
        assert verdict.passed == 2 - len(wanted), (plain, captures)


def a_server_without_its_card_is_told(shop):
    """The one that captures has no kernel there: it is asked for nothing."""
    node, kernels = floats_on_both(shop)
    trial = judge.Trial(
        label="case", kind="float32", runs=1, tol=1, check="value",
        end=None, fetches=["y"], pinned=["y"], want=[np.float32(1)])
    answers = {devices.GPU: 1, devices.CPU: 1}
    verdict = devices.both_verdicts(
        [trial], {"y": node}.get,
        lambda target: functools.partial(Answers, answers), "plain", "captures",
        {"plain": kernels,
         "captures": devices.Kernels("Add CPU host T=float\n")}.get)
    assert verdict.failures == [
        "captures: it has kernels on cpu only float32, not on gpu float32"], (
            verdict.failures)


def scenarios_run_on_both_devices(shop):
    """As both_devices_are_asked; unplaced they are always right."""
    from tests.conformance import pinned, table  # these need TensorFlow
    kernels = devices.Kernels("Add CPU host T=float\nAdd GPU device T=float\n"
                              "Neg CPU host *\n")
    for gpu, cpu, ops, wanted in (
            (1, 1, "Add _Arg", []), (1, 2, "Add", ["CPU"]),
            (2, 1, "Add", ["GPU"]), (2, 2, "Add", ["GPU", "CPU"]),
            (1 + 6e-6, 1 - 6e-6, "Add", ["CPU"]), (2, 2, "Add Neg", [])):
        answers = {"": 1, devices.GPU: gpu, devices.CPU: cpu}
        scenario = table.Scenario("story", lambda side: {
            "y": np.float32(answers[side.device])}, ops.split(), 1)
        want = pinned.answers_to(scenario)
        passed, failures = pinned.Verdict(scenario, "server").run(kernels, want)
        told = [text[len("/device:"):][:3] for text in failures]
        assert told == wanted and passed == (not wanted), failures
        assert pinned.Verdict(scenario, "server").run(None, want) == (1, [])


def operations_of_scenarios_are_pinned(shop):
    from tests.cluster.client import tf
    from tests.conformance import pinned
    kernels = devices.Kernels(
        "Add CPU host T=float,int32\nAdd GPU device T=float\n"
        "Add GPU host T=int32\nNeg CPU host *\nIdentity CPU host *\n"
        "Identity GPU device *\nVarHandleOp CPU host *\n"
        "VarHandleOp GPU host dtype=float\nVarIsInitializedOp CPU host *\n"
        "VarIsInitializedOp GPU host *\n")
    raw = tf.raw_ops
    with tf.Graph().as_default(), tf.device(pinned.to_gpu(kernels)):
        held = [raw.VarHandleOp(dtype=dtype, shape=[])
                for dtype in (tf.float32, tf.int32)]
        found = [
            raw.Add(x=1.0, y=1.0), raw.Add(x=1, y=1), raw.Neg(x=1.0),
            raw.Add(x=np.float64(1), y=np.float64(1)), *held,
            *[raw.VarIsInitializedOp(resource=handle) for handle in held]]
        with tf.device("/cpu:0"):
            found.append(raw.Add(x=1.0, y=1.0))
    on_gpu = [x.op.device == devices.GPU for x in found]
    assert on_gpu == [True, True, False, False, True, False, True, False,
                      False], on_gpu
    assert all(x.op.device in (devices.CPU, devices.GPU) for x in found)


# ---- What must be told ------------------------------------------------------


def a_wrong_value_fails(shop):
    def change(entries):
        with shop.op(entries, "AddV2") as recorded:
            for trial in recorded.trial:
                if "bfloat16" in trial.label:
                    tensor = recorded.value[trial.want[0]].tensor
                    tensor.tensor_content = bytes(len(tensor.tensor_content))
    fails_in(shop.replay(shop.changed(change)), "FAIL AddV2 ", "T=bfloat16",
             "value 0: ", " elements: ")


def a_sum_further_off_than_its_terms_fails(shop):
    """By 20 of the 64 units that the row allows where terms nearly cancel."""
    def change(entries):
        with shop.op(entries, "Conv2DBackpropInput") as recorded:
            for trial in recorded.trial:
                if "T=float32" not in trial.label or not trial.size:
                    continue
                value = recorded.value[trial.want[0]]
                if value.planes or not value.tensor.tensor_content:
                    continue
                array = np.frombuffer(value.tensor.tensor_content,
                                      np.float32).copy()
                array[0] += 20 * 4e-6 * (1 + abs(array[0]))
                value.tensor.tensor_content = array.tobytes()
    fails_in(shop.replay(shop.changed(change)), "FAIL Conv2DBackpropInput ",
             "T=float32", "value 0: 1 of ")


def a_wrong_large_value_fails(shop):
    def change(entries):
        with shop.op(entries, "AddV2") as recorded:
            large = [value for value in recorded.value if value.planes]
            large[0].planes = large[0].planes[::-1]
    fails_in(shop.replay(shop.changed(change)), "FAIL AddV2 ", " elements: ")


def a_wrong_digest_fails(shop):
    def change(entries):
        with shop.op(entries, "RandomUniform") as recorded:
            large = [value for value in recorded.value if value.digest]
            large[0].digest = large[0].digest[::-1]
    fails_in(shop.replay(shop.changed(change)), "FAIL RandomUniform ",
             "other bits")


def feeds_that_are_drawn_otherwise_fail(shop):
    def change(entries):
        with shop.op(entries, "MatMul") as recorded:
            drawn = [v for v in recorded.value if v.HasField("drawn")]
            drawn[0].drawn.seed += "x"
    fails_in(shop.replay(shop.changed(change)), "FAIL MatMul ",
             "other values are drawn here")


def a_wrong_type_fails(shop):
    def change(entries):
        with shop.op(entries, "MatMul") as recorded:
            value = recorded.value[recorded.trial[0].want[0]]
            value.tensor.dtype = 3  # as long as float
    fails_in(shop.replay(shop.changed(change)), "FAIL MatMul ",
             "type float32, not int32")


def a_missing_value_fails(shop):
    def change(entries):
        with shop.op(entries, "RandomUniform") as recorded:
            del recorded.trial[0].want[-1]
    fails_in(shop.replay(shop.changed(change)), "FAIL RandomUniform ",
             "values: 2, not 1")


def a_wrong_error_fails(shop):
    def change(entries):
        with shop.op(entries, "GatherV2") as recorded:
            wrong = [trial for trial in recorded.trial if trial.error]
            wrong[0].error = "AbortedError"
    fails_in(shop.replay(shop.changed(change)), "FAIL GatherV2 ",
             "InvalidArgumentError, not AbortedError")


def an_error_that_must_not_come_fails(shop):
    def change(entries):
        with shop.op(entries, "GatherV2") as recorded:
            wrong = [trial for trial in recorded.trial if trial.error]
            wrong[0].error = ""
    fails_in(shop.replay(shop.changed(change)), "FAIL GatherV2 ",
             "InvalidArgumentError: ")


def an_error_that_does_not_come_fails(shop):
    def change(entries):
        with shop.op(entries, "StringJoin") as recorded:
            recorded.trial[0].error = "AbortedError"
            recorded.trial[0].together = False
    fails_in(shop.replay(shop.changed(change)), "FAIL StringJoin ",
             "no error, not AbortedError")


def a_failing_step_is_taken_apart(shop):
    """One feed is wrong: one case fails, and the others pass."""
    def change(entries):
        with shop.op(entries, "Conv2D") as recorded:
            good = [trial for trial in recorded.trial if trial.together]
            scalar = recorded.value.add().tensor
            scalar.dtype, scalar.tensor_content = 1, bytes(4)
            good[0].feed[0].value = len(recorded.value) - 1
    outcome = shop.replay(shop.changed(change))
    fails_in(outcome, "FAIL Conv2D ")
    assert closing(outcome[1])[1] == 1, outcome[1]


def a_case_that_is_lost_fails(shop):
    def change(entries):
        with shop.op(entries, "MatMul") as recorded:
            del recorded.trial[-1]
    fails_in(shop.replay(shop.changed(change)), "FAIL MatMul ", "cases, not ")


def places_of_no_value_fail(shop):
    def change(entries):
        with shop.op(entries, "Assign") as recorded:
            recorded.trial[0].feed[0].value = 10 ** 6
    fails_in(shop.replay(shop.changed(change)), "FAIL Assign ",
             "archive is damaged")


def an_op_that_is_lost_fails(shop):
    def change(entries):
        del entries["ops/Assign"]
    fails_in(shop.replay(shop.changed(change)), "FAIL Assign ",
             "archive is damaged: ops/Assign")


def an_op_of_other_bytes_fails(shop):
    def change(entries):
        entries["ops/Assign"] = b"\xff" * 100
    fails_in(shop.replay(shop.changed(change)), "FAIL Assign ",
             "archive is damaged: ops/Assign")


def values_that_are_cut_short_fail(shop):
    def change(entries):
        with shop.op(entries, "AddV2") as recorded:
            tensor = recorded.value[recorded.trial[0].want[0]].tensor
            tensor.tensor_content = tensor.tensor_content[:-1]
    fails_in(shop.replay(shop.changed(change)), "FAIL AddV2 ",
             "archive is damaged")


def a_flipped_bit_fails(shop):
    with zipfile.ZipFile(shop.good) as good:
        info = good.getinfo("ops/MatMul")
    data = bytearray(shop.good.read_bytes())
    data[info.header_offset + 100 + info.compress_size // 2] ^= 1
    path = shop.folder / "flipped.zip"
    path.write_bytes(data)
    fails_in(shop.replay(path), "FAIL MatMul ", "archive is damaged")


def what_is_no_archive_is_refused(shop):
    data = shop.good.read_bytes()
    path = shop.folder / "cut.zip"
    for content in (data[:-1], data[:len(data) // 2], b"", b"PK"):
        path.write_bytes(content)
        refused(shop.replay(path), "meta.json: ")
    path.unlink()
    refused(shop.replay(path), "No such file")
    refused(shop.replay(shop.folder), "Is a directory")


def other_meta_is_refused(shop):
    for name, content, wanted in (
            ("meta.json", b"{", "JSONDecodeError"),
            ("meta.json", b"[]", "TypeError"),
            ("meta.json", b"{}", "version"),
            ("meta.json", b'{"version": 0}', "version 0"),
            ("meta.json", b'{"version": %d, "device": 1}' % archive.VERSION,
             "device"),
            ("messages", b"\xff", "DecodeError"),
            ("messages", b"", "TypeError")):
        def change(entries):
            entries[name] = content
        refused(shop.replay(shop.changed(change)), wanted)


def a_server_that_is_not_there_fails(shop):
    code, text = shop.replay(shop.good, "--target", "grpc://127.0.0.1:1",
                             "--only", "AddV2,StringJoin", plain=False)
    passed, failed, _ = closing(text)
    assert code == 1 and passed == 0 and failed == 2, text
    assert "ServerGone" in text, text


TESTS = (
    recorded_answers_hold_without_tensorflow, a_running_server_is_asked_twice,
    ops_can_be_chosen, gpus_have_other_tolerances_and_cases,
    a_wrong_value_fails, a_sum_further_off_than_its_terms_fails,
    a_wrong_large_value_fails, a_wrong_digest_fails,
    feeds_that_are_drawn_otherwise_fail, a_wrong_type_fails,
    a_missing_value_fails, a_wrong_error_fails,
    an_error_that_must_not_come_fails, an_error_that_does_not_come_fails,
    a_failing_step_is_taken_apart, a_case_that_is_lost_fails,
    places_of_no_value_fail, an_op_that_is_lost_fails,
    an_op_of_other_bytes_fails, values_that_are_cut_short_fail,
    a_flipped_bit_fails, what_is_no_archive_is_refused, other_meta_is_refused,
    a_server_that_is_not_there_fails,
    types_that_tensorflow_has_are_told,
    rows_have_the_devices_that_were_recorded, both_devices_are_asked,
    both_servers_are_asked, a_server_without_its_card_is_told,
    scenarios_run_on_both_devices, operations_of_scenarios_are_pinned)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_server_options(parser)
    options = parser.parse_args()
    tests = [test for test in TESTS if options.only in test.__name__]
    if options.list:
        print("\n".join(test.__name__ for test in tests))
        return 0
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="tfd-replay-") as folder:
        shop = Workshop(folder, server_from(options))
        code, text = shop.record(str(shop.good), "--only", ",".join(OPS))
        if code:
            tally.add("FAIL", "recording", text)
            return tally.close()
        for test in tests:
            outcome = isolated(functools.partial(test, shop),
                               SECONDS * options.slow)
            tally.add(outcome.verdict, test.__name__, outcome.text,
                      outcome.seconds)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
