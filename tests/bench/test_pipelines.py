"""test_pipelines.py - tests/bench/pipelines: options that are no good, every
case in a turn of no length, and a side that cannot run one."""
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PIPELINES = os.path.join(HERE, "pipelines")
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True

from tests.bench.test_ops import (  # noqa: E402
    PYTHON, end_of, has_tensorflow)

SHORT = ("--rounds=1", "--seconds=0.001")


def ran(*arguments, program=None):
    """end_of() the program."""
    return end_of([program or sys.executable, PIPELINES, *arguments], 120)


class Options(unittest.TestCase):
    def test_bad_options_are_refused(self):
        for option in ("--rounds=0", "--rounds=x", "--seconds=0",
                       "--seconds=-1", "--round"):
            with self.subTest(option):
                self.assertEqual(ran(option)[0], 2)


@unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
class Cases(unittest.TestCase):
    def test_a_name_that_no_case_has_is_answered_with_all(self):
        code, output, _ = ran("--cases=nosuchcase", program=PYTHON)
        self.assertEqual(code, 2)
        self.assertIn("fft1024", output)

    def test_every_case_runs_on_both_clusters(self):
        code, output, errors = ran(*SHORT, program=PYTHON)
        self.assertEqual(code, 0, output + errors)
        _, names, _ = ran("--list", program=PYTHON)
        for name in names.split():
            self.assertRegex(output, r"(?m)^%s +[1-9]\d* +[1-9]" % name)
        self.assertIn("%d measured" % len(names.split()), output)
        self.assertTrue(re.search(r"median \d", output), output)

    def test_a_case_that_a_side_cannot_run_is_a_line_with_the_reason(self):
        code, output, errors = ran(
            *SHORT, "--cases=lookups_mutable,regex_full", "--tfd=%s "
            "--memory_limit=8M" % os.path.join(ROOT, "build", "tfd"),
            program=PYTHON)
        self.assertEqual(code, 1, output + errors)
        self.assertRegex(output, r"(?m)^lookups_mutable +failed: .*OOM")
        self.assertIn("1 measured", output)
        self.assertIn("1 failed", output)


if __name__ == "__main__":
    unittest.main()
