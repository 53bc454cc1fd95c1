"""Ops that TensorFlow has a kernel for in oneDNN alone.

Whether oneDNN is on is read once, when TensorFlow is loaded, and it is off in
all other tests (tests/__init__.py); so the rows of such ops are asked, and
their answers judged, in a process of their own.
"""
import importlib
import os
import pickle
import subprocess
import sys
import tempfile

SWITCH = "TF_ENABLE_ONEDNN_OPTS"


def is_on():
    return os.environ[SWITCH] == "1"


def call(module, function, on_gpu, *arguments):
    """What module.function(*arguments) returns where oneDNN is on."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as found:
        pickle.dump((module, function, on_gpu, arguments), given)
        given.seek(0)
        subprocess.run(
            [sys.executable, "-m", __name__, str(found.fileno())],
            stdin=given, pass_fds=[found.fileno()], check=True,
            env={**os.environ, SWITCH: "1"})
        found.seek(0)
        return pickle.load(found)


def main():
    module, function, on_gpu, arguments = pickle.load(sys.stdin.buffer)
    if on_gpu:
        importlib.import_module("tests.conformance.run").set_device("gpu")
    answer = getattr(importlib.import_module(module), function)(*arguments)
    with open(int(sys.argv[1]), "wb") as found:
        pickle.dump(answer, found)


if __name__ == "__main__":
    main()
