"""The unit tests of the C API's texts, linked with TensorFlow's own library:
what they expect of libtfd is what TensorFlow says (tests/support/refusals.h).
"""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import tensorflow

ROOT = pathlib.Path(__file__).parents[2]
TESTS = ("test_c_api_nodes", "test_c_api_getters", "test_c_api_import")
LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")
LIMIT_S = 120


def build(name, folder):
    """The path of the test, built for TensorFlow's library."""
    where = pathlib.Path(tensorflow.__file__).parent
    program = pathlib.Path(folder) / name
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run(
        [*compiler, "-std=c11", "-DTFD_ORACLE", "-I.", "-Iclient/include",
         "tests/unit/client/%s.c" % name, "-o", str(program), "-lcmocka",
         *(str(where / library) for library in LIBRARIES),
         "-Wl,-rpath,%s" % where],
        cwd=ROOT, check=True)
    return program


def outcome(name, output, status):
    """(passed, failures) from what cmocka prints."""
    passed = re.findall(r"^\[       OK \] (\w+)$", output, re.M)
    failed = re.findall(r"^\[  FAILED  \] (\w+)$", output, re.M)
    rows = re.findall(r"^.*: (?:expected|and got) .*$", output, re.M)
    failures = ["%s: %s" % (name, test) for test in dict.fromkeys(failed)]
    if status and not failed:
        failures.append("%s: exit %d" % (name, status))
    return len(passed), failures + (rows if failures else [])


def run():
    """(passed, failures)."""
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name in TESTS:
            done = subprocess.run(
                [build(name, folder)], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace",
                timeout=LIMIT_S)
            more, wrong = outcome(name, done.stdout, done.returncode)
            passed, failures = passed + more, failures + wrong
    return passed, failures
