"""test_sight.py - tests/bench/sight: options that are no good, what is over a
limit, what falls by more than its noise, programs that are missing, and every
part at small numbers."""
import importlib.machinery
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import unittest
from contextlib import redirect_stdout

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIGHT = os.path.join(HERE, "sight")
SHARED = os.environ.get("TFD_SHARED", os.path.join(
    os.path.dirname(ROOT), "shared"))
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True

from tests.bench.test_ops import PYTHON, has_tensorflow  # noqa: E402
from tests.cluster.status.browser import NAMES  # noqa: E402

WATCHERS = any(map(shutil.which, NAMES)) and shutil.which("prometheus")


def loaded():
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("sight_program", SIGHT)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def ran(*arguments, program=None, **environment):
    """(exit code, standard output, standard error) of the program."""
    done = subprocess.run(
        [program or sys.executable, SIGHT, *arguments], text=True,
        capture_output=True, timeout=240, check=False,
        env=dict(os.environ, **environment))
    return done.returncode, done.stdout, done.stderr


class Options(unittest.TestCase):
    def test_bad_options_are_refused(self):
        for option in ("--rounds=1", "--rounds=x", "--seconds=0",
                       "--seconds=-1", "--starts=0", "--tasks=0", "--parts=",
                       "--parts=idle,tea", "--watchers=loud", "--round"):
            with self.subTest(option):
                self.assertEqual(ran(option)[0], 2)

    def test_a_missing_program_is_a_reason_to_skip(self):
        code, output, _ = ran("--parts=cost", TFD_SHARED="/nonexistent")
        self.assertEqual(code, 0)
        self.assertIn("skip cost: no /nonexistent/bench/pair.py", output)

    def test_a_server_that_does_not_start_is_a_failure(self):
        code, output, _ = ran("--parts=start", "--starts=1",
                              "--tfd=/nonexistent/tfd")
        self.assertEqual(code, 1)
        self.assertRegex(output, "(?m)^start failed: .*No such file")


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.sight = loaded()

    def test_a_figure_is_over_its_limit_or_not(self):
        from tests.bench.standing import Figure
        with redirect_stdout(io.StringIO()) as output:
            over = self.sight.show_figures([
                Figure("at it", 12, "MB", 12), Figure("over it", 12.01, "MB", 12),
                Figure("without one", 99, "MB", None)])
        self.assertEqual(over, 1)
        self.assertRegex(output.getvalue(), "at it .*kept\nover it .*OVER\n")

    def test_noise_is_the_spread_of_the_rounds(self):
        turns = self.sight.Turns()
        for seconds in (0.1, 0.125, 0.08):
            turns.add([seconds] * 4, 5e6)
        self.assertAlmostEqual(turns.rate(), 10)
        self.assertAlmostEqual(turns.noise(), (12.5 - 8) / 10)
        self.assertAlmostEqual(turns.us(), 1000)

    def verdict(self, with_rates):
        """(falls, failed) of a program whose rounds without vary by 20 %."""
        def play(*_):
            sides = self.sight.Turns(), self.sight.Turns()
            for side, rates in zip(sides, ((9, 10, 11), with_rates)):
                for rate in rates:
                    side.add([1 / rate], 1000)
            return sides

        self.sight.play = play
        with redirect_stdout(io.StringIO()):
            return self.sight.measure_all(["x"], None, None, None, None)

    def test_what_falls_falls_by_more_than_that(self):
        self.assertEqual(self.verdict((8.1, 8.1, 8.1)), (0, 0))
        self.assertEqual(self.verdict((7.9, 7.9, 7.9)), (1, 0))
        self.assertEqual(self.verdict((99, 99, 99)), (0, 0))

    def test_a_program_that_fails_is_counted(self):
        def play(*_):
            raise ValueError("no such op")

        self.sight.play = play
        with redirect_stdout(io.StringIO()) as output:
            self.assertEqual(self.sight.measure_all(
                ["x"], None, None, None, None), (0, 1))
        self.assertIn("failed: no such op", output.getvalue())


class Parts(unittest.TestCase):
    def test_idle_and_start_are_measured(self):
        code, output, errors = ran("--parts=idle,start", "--starts=3")
        self.assertIn(code, (0, 1), errors)  # a start may be slow here
        self.assertRegex(output, r"idle memory, resident \(RSS\) +\d+\.\d+ MB")
        self.assertRegex(output, r"start until .* \d+\.\d+ ms  limit 20 ms")
        self.assertNotIn("failed", output)

    @unittest.skipUnless(WATCHERS, "no chromium or no prometheus here")
    def test_a_page_is_measured(self):
        code, output, errors = ran("--parts=page", "--tasks=3")
        self.assertIn(code, (0, 1), errors)
        self.assertRegex(output, r"page with 3 tasks, drawn +\d+\.\d+ ms")
        self.assertNotIn("failed", output)

    def test_more_tasks_than_the_memory_holds_are_skipped(self):
        code, output, _ = ran("--parts=page", "--tasks=99999999")
        self.assertEqual(code, 0)
        self.assertIn("skip page: 99999999 tasks want", output)

    @unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
    @unittest.skipUnless(WATCHERS, "no chromium or no prometheus here")
    @unittest.skipUnless(os.path.exists(os.path.join(
        SHARED, "bench", "pair.py")), "no shared/bench/pair.py")
    def test_watchers_look_in_the_turns_with_them(self):
        code, output, errors = ran("--parts=cost", "--cases=null", "--rounds=2",
                                   "--seconds=2.5", program=PYTHON)
        self.assertIn(code, (0, 1), output + errors)
        self.assertRegex(output, r"(?m)^null +\d+\.\d +\d+\.\d ")
        self.assertIn("1 programs: ", output)
        self.assertIn(" 0 failed", output)
        self.assertRegex(output, r"page 0\.[1-9], Prometheus [01]\.[1-9]|"
                         r"page 0\.[1-9], Prometheus 1\.0")


if __name__ == "__main__":
    unittest.main()
