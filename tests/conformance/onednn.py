"""Ops that TensorFlow has a kernel for in oneDNN alone.

Whether oneDNN is on is read once, when TensorFlow is loaded, and it is off in
all other tests (tests/__init__.py); so the rows of such ops are asked, and
their answers judged, in a process of their own.
"""
import importlib
import os
import pickle
import sys
import tempfile

from tests.cluster import nursery

SWITCH = "TF_ENABLE_ONEDNN_OPTS"


def is_on():
    return os.environ[SWITCH] == "1"


def call(module, function, on_gpu, *arguments):
    """What module.function(*arguments) returns where oneDNN is on."""
    with tempfile.TemporaryFile() as given, \
            tempfile.NamedTemporaryFile() as found:
        pickle.dump((module, function, on_gpu, arguments), given)
        given.seek(0)
        status = nursery.start([sys.executable, "-m", __name__, found.name],
                               stdin=given, env=environment()).wait()
        assert status == 0, "exit %d" % status
        return pickle.load(found)


def environment():
    return {**os.environ, SWITCH: "1"}


def will_be_called():
    """Several times: all but the first need not import TensorFlow."""
    nursery.open_another(environment(), "tests.conformance.run")


def main():
    module, function, on_gpu, arguments = pickle.load(sys.stdin.buffer)
    if on_gpu:
        importlib.import_module("tests.conformance.run").set_device("gpu")
    answer = getattr(importlib.import_module(module), function)(*arguments)
    with open(sys.argv[1], "wb") as found:
        pickle.dump(answer, found)


if __name__ == "__main__":
    main()
