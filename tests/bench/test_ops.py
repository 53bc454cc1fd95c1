"""test_ops.py - tests/bench/ops on a few rows, short; its arithmetic, its table,
and what it makes of options and servers that are no good."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OPS = os.path.join(HERE, "ops")
TFD = os.path.join(ROOT, "build", "tfd")
LIMITS = os.path.join(ROOT, "build", "bench", "limits")
PYTHON = os.environ.get("TFD_PYTHON") or os.path.join(
    ROOT, "build", "venv", "bin", "python")
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True

from tests.bench.op_cases import ROWS, UNMEASURED  # noqa: E402
from tests.bench.op_limits import Limits  # noqa: E402
from tests.cluster import nursery  # noqa: E402


def has_tensorflow():
    return subprocess.run(
        [PYTHON, "-c", "import importlib.util as u, sys;"
         "sys.exit(not u.find_spec('tensorflow'))"],
        capture_output=True, check=False).returncode == 0 \
        if os.access(PYTHON, os.X_OK) else False


def end_of(command, seconds, **environment):
    """(exit code, standard output, standard error) of a command."""
    with tempfile.TemporaryFile("w+") as errors:
        process = nursery.start(
            command, env=dict(os.environ, **environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            output, _ = process.communicate(timeout=seconds)
        finally:
            process.kill()
        errors.seek(0)
        return process.returncode, output, errors.read()


def ran(*arguments, program=None):
    """end_of() the program."""
    return end_of([program or sys.executable, OPS, *arguments], 60)


class Table(unittest.TestCase):
    def families(self):
        with open(os.path.join(ROOT, "kernels", "core", "families.def")) as file:
            return {line[7:].split(")")[0] for line in file
                    if line.startswith("FAMILY(")}

    def test_every_row_is_of_a_family(self):
        self.assertEqual({row.family for row in ROWS} - self.families(), set())

    def test_every_family_has_a_row_or_a_reason(self):
        have = {row.family for row in ROWS}
        self.assertEqual(self.families() - have - set(UNMEASURED), set())
        self.assertEqual(set(UNMEASURED) & have, set())
        self.assertEqual(set(UNMEASURED) - self.families(), set())
        self.assertTrue(all(UNMEASURED.values()))

    def test_rows_come_family_by_family(self):
        order = [row.family for row in ROWS]
        self.assertEqual(order, sorted(order))

    def test_no_two_rows_have_one_name_and_type(self):
        names = [(row.family, row.name, dtype) for row in ROWS
                 for dtype in row.types]
        twice = {name for name in names if names.count(name) > 1}
        self.assertEqual(twice, set())


@unittest.skipUnless(os.access(LIMITS, os.X_OK), "make benches")
class OfTheMachine(unittest.TestCase):
    def ask(self, text):
        return subprocess.run([LIMITS], input=text, capture_output=True,
                              text=True, timeout=60, check=False)

    def test_limits_are_positive(self):
        done = self.ask("clock\ncopy 65536 1\ntriad 65536 2\n"
                        "gemm float 64 64 64\ngemm double 7 3 1\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([float(line) > 0 for line in
                          done.stdout.splitlines()], [True] * 5)

    def test_bad_questions_are_refused(self):
        for text in ("\n", "copy\n", "copy 65536 0\n", "copy 65536 65\n",
                     "gemm float 0 1 1\n", "time\n"):
            with self.subTest(text):
                self.assertEqual(self.ask(text).returncode, 1)

    def test_where_it_is_not_built_nothing_is_known(self):
        limits = Limits("/nonexistent", "/tmp")
        self.assertIsNone(limits.memory(4096, 1))
        self.assertIsNone(limits.product((8, 8, 8), "float32", 1))
        self.assertIsNone(limits.vectors(4, 1000, 4, 1))


class Options(unittest.TestCase):
    def test_bad_options_are_refused(self):
        for option in ("--sizes=0", "--sizes=x", "--sizes=", "--threads=0",
                       "--threads=x", "--rounds=0", "--seconds=0",
                       "--seconds=-1", "--again=-1", "--below=x", "--size"):
            with self.subTest(option):
                self.assertEqual(ran(option)[0], 2)


class Servers(unittest.TestCase):
    """Of programs that look at the port they are given, and end."""

    LOOKS = """import json, os, socket, sys
at = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][0]
with socket.socket() as server:
    %s
    server.bind(("127.0.0.1", int(at.split(":")[1])))
    server.listen()
sys.exit("it is ours")"""

    def end_of(self, looks):
        from tests.bench.op_sides import Side
        from tests.bench.processes import Failure

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(Failure) as found:
                Side([sys.executable, "-c", looks], 1,
                     os.path.join(folder, "log"))
        return str(found.exception)

    def test_a_port_is_the_servers_that_is_given_it(self):
        self.assertIn("it is ours", self.end_of(self.LOOKS % (
            "server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)")))

    def test_nobody_else_is_given_it(self):
        self.assertIn("in use", self.end_of(self.LOOKS % "pass"))


@unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
class Measured(unittest.TestCase):
    """A few rows, once and short."""

    SHORT = ("--rounds=1", "--seconds=0.001", "--again=0", "--sizes=1000",
             "--threads=1")

    def run_ops(self, *arguments):
        return ran(*self.SHORT, *arguments, program=PYTHON)

    def test_rows_totals_and_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "json")
            code, output, errors = self.run_ops(
                "--only=binary: sub,bitwise: invert",
                "--types=float,int32,bool", "--json=" + path)
            self.assertEqual((code, errors), (0, ""))
            with open(path) as file:
                found = json.load(file)
        self.assertEqual(len(found["rows"]), 5)
        self.assertEqual(found["failed"], [])
        self.assertTrue(all(row["ratio"] > 0 for row in found["rows"]))
        self.assertIn("5 measured", output)
        self.assertIn("geometric mean", output)

    def test_what_tensorflow_lacks_is_counted(self):
        code, output, _ = self.run_ops("--only=bucketize: ,trig: atan2",
                                       "--types=int64,double")
        self.assertEqual(code, 0)
        self.assertIn("3 measured", output)

    def test_each_copy_of_an_op_runs(self):
        """Their inputs have constants, whose control edges stand for more."""
        from tests.bench.op_cases import ROWS as rows
        from tests.bench.op_graphs import build

        chosen = [row for row in rows if row.name in ("Sum rows", "sort")]
        self.assertEqual(len(chosen), 2)
        for row in chosen:
            built = build(row, 64, "float32")
            todo = [built.graph.get_operation_by_name(built.step)]
            seen = set(todo)
            while todo:
                op = todo.pop()
                found = {t.op for t in op.inputs} | set(op.control_inputs)
                todo += found - seen
                seen |= found
            kind = {"Sum": "Sum", "sort": "TopKV2"}[row.op]
            self.assertEqual(sum(op.type == kind for op in seen), built.times)

    def test_a_graph_finds_no_variable_of_the_one_before(self):
        """A server keeps them by name, whatever their type."""
        from tests.bench.op_graphs import build

        chosen = next(row for row in ROWS if row.name == "Sub")
        starts = [set(build(chosen, 64, dtype).start)
                  for dtype in ("float32", "int32")]
        self.assertTrue(all(starts))
        self.assertEqual(starts[0] & starts[1], set())

    def test_rounds_end_where_they_agree_and_go_on_below_one(self):
        from tests.bench.op_measure import Measure

        class Runner:
            """Steps of 10 us, of which the bare step takes 2."""

            def __init__(self, steps):
                self.steps, self.asked = iter(steps), 0

            def quickest(self, _least, _seconds):
                self.asked += 1
                return 2e-6, next(self.steps)

        options = types.SimpleNamespace(rounds=4, seconds=1, again=1,
                                        below=None)
        measure = Measure(None, None, options)
        quiet = [Runner([1e-5] * 9), Runner([3e-5] * 9)]
        us = measure.settled(quiet, 2)
        self.assertAlmostEqual(us[0], 4)
        self.assertAlmostEqual(us[1], 14)
        self.assertEqual(quiet[0].asked, 2)
        slower = [Runner([3e-5] * 9), Runner([4e-5, 3e-5, 2e-5, 1e-5] * 2)]
        us = measure.settled(slower, 1)
        self.assertAlmostEqual(us[0], 28)
        self.assertAlmostEqual(us[1], 8)
        self.assertGreater(slower[1].asked, 4)

    def test_what_is_measured_follows_a_step_with_the_op(self):
        from tests.bench.op_measure import Runner

        calls = []
        runner = Runner.__new__(Runner)  # without a session
        runner.step = lambda: calls.append("step")
        runner.base = lambda: calls.append("base")
        base, step = runner.quickest(3, 0)
        self.assertEqual(calls, ["step", "step", "base"] * 3)
        self.assertTrue(0 < base < 1 and 0 < step < 1)

    def test_a_short_run_keeps_slow_ops_small(self):
        loader = importlib.machinery.SourceFileLoader("ops", OPS)
        ops = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("ops", loader))
        loader.exec_module(ops)
        slow = types.SimpleNamespace(heavy=1000)
        self.assertEqual(ops.sizes_of(slow, ops.parsed([])), [1000, 16000])
        self.assertEqual(ops.sizes_of(slow, ops.parsed(["--sizes=7000"])),
                         [7000])
        self.assertEqual(ops.sizes_of(slow, ops.parsed(["--all"])), ops.SIZES)

    def test_what_tfd_lacks_is_said_and_counted(self):
        from tests.bench import op_measure, op_report

        class Lacking:
            def measure(self, row, n, dtype, threads):
                raise op_measure.Absent(0 if n < 2000 else 1, "no such op")

        options = types.SimpleNamespace(against=None, below=None, json=None)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            report = op_report.Report(options)
            for n in (1000, 1001, 64000):
                report.take((ROWS[0], n, "float32", 1), Lacking())
            self.assertEqual(report.close(), 0)
        self.assertEqual(output.getvalue().count("tfd has none"), 2)
        self.assertIn("0 measured, 0 below 1, left out: 1 that TensorFlow "
                      "lacks, 2 that tfd lacks, 0 failed", output.getvalue())

    def test_a_server_that_ends_is_a_failure(self):
        code, output, _ = self.run_ops("--only=relu: relugrad", "--tfd=false")
        self.assertEqual(code, 1)
        self.assertIn("false ended with code 1", output)
        self.assertIn("0 measured", output)

    def test_a_server_that_is_gone_is_not_waited_for(self):
        from tests.bench.op_measure import Measure
        from tests.bench.op_sides import Sides

        with tempfile.TemporaryDirectory() as folder, contextlib.closing(
                Sides(TFD, TFD, folder)) as sides:
            pair = sides.of(1)
            for side in pair:
                side.process.end()
            start = time.monotonic()
            Measure.ended(pair, [None, None])
            self.assertLess(time.monotonic() - start, 5)

    def test_a_name_that_no_row_has_is_refused(self):
        code, _, errors = self.run_ops("--only=nosuchop")
        self.assertEqual(code, 2)
        self.assertIn("no row is called so", errors)


if __name__ == "__main__":
    unittest.main()
