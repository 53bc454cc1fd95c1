"""test_programs.py - tests/bench/programs: what counts as a step, its rates,
options that are no good, a shared folder that is missing, and one program."""
import os
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(HERE, "programs")
SHARED = os.environ.get("TFD_SHARED", os.path.join(
    os.path.dirname(ROOT), "shared"))
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True

from tests.bench.program_calls import Calls, names_of, rates  # noqa: E402
from tests.bench.test_ops import (  # noqa: E402
    PYTHON, end_of, has_tensorflow)


def ran(*arguments, program=None, **environment):
    """end_of() the program."""
    return end_of([program or sys.executable, PROGRAMS, *arguments], 60,
                  **environment)


def measured(first, later):
    """A run whose calls are of kinds k0, k1...: times of the first of each,
    and (how often the program did it, times of the others)."""
    calls = Calls(0)
    for i, taken in enumerate(first):
        key = "k%d" % i
        calls.counts[key], calls.first[key] = later[i][0], taken
        if later[i][1]:
            calls.later[key] = later[i][1]
    return calls


class Rates(unittest.TestCase):
    def test_a_step_takes_the_median_and_counts_as_often_as_it_is_done(self):
        run = measured([1.0, 5.0], [(3, [0.1, 0.2, 9.0]), (1, [])])
        steps, calls = rates([run])
        self.assertAlmostEqual(steps, 2 / (2 * 0.2))
        self.assertAlmostEqual(calls, 4 / (1 + 5 + 2 * 0.2))

    def test_rounds_are_one_for_steps_and_the_quickest_counts_for_calls(self):
        runs = [measured([2.0], [(2, [0.3])]), measured([1.0], [(2, [0.1])]),
                measured([3.0], [(2, [0.2])])]
        steps, calls = rates(runs)
        self.assertAlmostEqual(steps, 1 / 0.2)
        self.assertAlmostEqual(calls, 2 / 1.1)

    def test_without_a_repeated_call_there_are_no_steps(self):
        steps, calls = rates([measured([1.0, 1.0], [(1, []), (1, [])])])
        self.assertIsNone(steps)
        self.assertAlmostEqual(calls, 1)

    def test_names_are_found_in_structures(self):
        node = types.SimpleNamespace(name="a:0")
        self.assertEqual(names_of({"x": [node, ("b:0",)], "y": node}),
                         ["a:0", "b:0", "a:0"])


class Options(unittest.TestCase):
    def test_bad_options_are_refused(self):
        for option in ("--rounds=0", "--rounds=x", "--seconds=0",
                       "--seconds=-1", "--workers=0", "--round",
                       "--again=-1", "--tiers=d", "--tiers=", "--tiers=a,"):
            with self.subTest(option):
                self.assertEqual(ran(option)[0], 2)

    @unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
    def test_a_missing_folder_is_a_reason_to_skip(self):
        code, output, _ = ran(program=PYTHON, TFD_SHARED="/nonexistent")
        self.assertEqual(code, 0)
        self.assertIn("skip programs: no /nonexistent/programs", output)


@unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
class Graphs(unittest.TestCase):
    def test_what_takes_from_a_queue_is_done_once(self):
        import tensorflow.compat.v1 as tf
        from tests.bench.program_calls import can_repeat

        with tf.Graph().as_default() as graph:
            queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
            taken = queue.dequeue() + 1
            two = tf.constant(1) + 1
            with tf.control_dependencies([queue.enqueue(1)]):
                after = tf.no_op()
        self.assertTrue(can_repeat(graph, [two.name]))
        self.assertFalse(can_repeat(graph, [taken.name]))
        self.assertFalse(can_repeat(graph, [two.name, after.name]))
        self.assertFalse(can_repeat(graph, ["no such name"]))


@unittest.skipUnless(has_tensorflow(), "TensorFlow is missing")
@unittest.skipUnless(os.path.isdir(SHARED), "no " + SHARED)
class OfOne(unittest.TestCase):
    SHORT = ("--rounds=1", "--seconds=0.001", "--workers=1")

    def test_a_program_on_both_clusters(self):
        code, output, _ = ran(*self.SHORT, "--only=a01_const/int32,fixed-mod-r",
                              program=PYTHON)
        self.assertEqual(code, 0, output)
        self.assertIn("a01_const/int32", output)
        self.assertIn("3 measured", output)
        self.assertIn("0 failed", output)

    def test_programs_of_all_tiers_are_listed(self):
        _, output, _ = ran("--list", program=PYTHON)
        for name in ("a01_const/int32", "b01_mnist_cnn/plain-ref",
                     "c10_math_sweep/int64"):
            self.assertIn(name + "\n", output)
        self.assertRegex(output, r"b04_rnn/block +not measured: for Tensor")

    def test_only_what_was_asked_for_is_listed(self):
        _, output, _ = ran("--list", "--tiers=c", "--only=_math_,_rnn",
                           program=PYTHON)
        self.assertIn("c10_math_sweep/int64\n", output)
        self.assertNotIn("b04", output)
        self.assertNotIn("c04", output)

    def test_a_server_that_ends_is_a_failure(self):
        code, output, errors = ran(*self.SHORT, "--only=a01_const/int32",
                                   "--tfd=false", program=PYTHON)
        self.assertNotEqual(code, 0, output)
        self.assertIn("exited with 1", output + errors)

    def test_a_name_that_no_program_has_is_refused(self):
        code, _, errors = ran("--only=nosuchprogram", program=PYTHON)
        self.assertEqual(code, 2)
        self.assertIn("no program is called so", errors)


if __name__ == "__main__":
    unittest.main()
