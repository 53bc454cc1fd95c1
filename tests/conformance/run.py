"""Every op against TensorFlow's own answer, computed in this run.

  python -m tests.conformance.run [--server CMD | --target grpc://HOST:PORT]
      [--only AddV2,Sum] [--list] [--jobs N]

Prints a line an op, what differs, and the count of cases.
"""
import argparse
import functools
import pathlib
import sys

from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

from tests.cluster.client import tf
from tests.cluster.cluster import add_server_options, server_from
from tests.cluster.raw import Raw
from tests.conformance import capi_texts
from tests.conformance import cases  # noqa: F401  fills the table
from tests.conformance import deprecated
from tests.conformance import gradients
from tests.conformance import inputs
from tests.conformance import onednn
from tests.conformance import pages
from tests.conformance import pinned
from tests.conformance import registry
from tests.conformance import shapes
from tests.conformance.batch import Batch, Side, items_of
from tests.conformance.compare import GPU_TOLERANCE, TOLERANCE
from tests.conformance.devices import Kernels, both_verdicts, captured
from tests.conformance.judge import Judge, missing_cases
from tests.conformance.report import (add_run_options, run_tests,
                                      select)
from tests.conformance.table import ROWS, SCENARIOS


def run_op(name, on_gpu, target, captures=""):
    """(passed, failures) of an op's row, and the device column of a GPU; to be
    called in a child."""
    if ROWS[name].onednn and not onednn.is_on():
        return onednn.call("tests.conformance.run", "run_op", on_gpu, name,
                           on_gpu, target, captures)
    with tf.Graph().as_default():
        batch = Batch(items_of(ROWS[name], on_gpu)).ask()
        if not on_gpu:
            judge = Judge(functools.partial(Side, target), batch.trials).run()
            return judge.passed, batch.failures + judge.failures
        verdict = both_verdicts(
            batch.trials, lambda op: op.node_def,
            lambda target: functools.partial(Side, target), target, captures)
    return (verdict.passed, batch.failures + verdict.failures,
            verdict.column.rows())


def run_scenario(found, on_gpu, target, captures=""):
    """(passed, failures), and where it ran, where there is a GPU."""
    want = pinned.answers_to(found)
    if not on_gpu:
        return pinned.Verdict(found, target).run(None, want)
    kernels = Kernels.of(target)
    passed, failures = pinned.Verdict(found, target).run(kernels, want)
    if captures and kernels.has_on_card(found.ops):
        others = Kernels.of(captures)
        more, wrong = pinned.Verdict(found, captures).run(others, want)
        if not others.has_on_card(found.ops):
            wrong = [*wrong, "it has no kernel on a card"]
        passed, failures = passed + more, failures + captured(wrong)
    return passed, failures, pinned.column_text_of(found.ops, kernels)


def run_gradients(command, loops, _):
    """(passed, failures) of the libtfd that lies beside the server."""
    return gradients.run(str(pathlib.Path(command[0]).parent / "libtfd.so"), loops)


def run_shapes(command, _):
    """(passed, failures) of what that libtfd infers."""
    return shapes.run(str(pathlib.Path(command[0]).parent / "libtfd.so"))


def run_capi_texts(_):
    """(passed, failures): TensorFlow's library says what ours is tested for."""
    return capi_texts.run()


def ops_without_a_case(target):
    """(passed, failures): each op that the server knows has a case here."""
    return missing_cases(Raw(target.removeprefix("grpc://")), registered(),
                         covered(), tf.version.GRAPH_DEF_VERSION)


def run_pages(target):
    """(passed, failures) of the page that lists the ops."""
    return pages.run(target, covered())


def run_registry(_):
    """(passed, failures) of TensorFlow's list of gradients."""
    return registry.run()


def registered():
    """The ops that TensorFlow has a kernel for, but for what is deprecated."""
    names = {k.op for k in kernels.get_all_registered_kernels().kernel}
    return [name for name in sorted(names)
            if not op_def_registry.get(name).deprecation.version]


def covered():
    return set(ROWS).union(*(found.ops for found in SCENARIOS))


def coverage():
    """Name of each test -> what it is of; names are ops, scenarios by their
    function."""
    covers = {name: [name] for name in ROWS}
    for found in SCENARIOS:
        covers[found.name] = [found.name, *found.ops]
    for name in ("capi_texts", "deprecated", "gradients", "gradients_of_loops",
                 "ops_without_a_case", "pages", "registry", "shapes"):
        covers[name] = [name]
    return covers


def chosen(only, on_gpu, command):
    """Name -> function(target); that of an op or a scenario takes captures,
    too."""
    tests = {name: functools.partial(run_op, name, on_gpu) for name in ROWS}
    for found in SCENARIOS:
        tests[found.name] = functools.partial(run_scenario, found, on_gpu)
    tests["gradients"] = functools.partial(run_gradients, command, False)
    tests["gradients_of_loops"] = functools.partial(run_gradients, command, True)
    tests["shapes"] = functools.partial(run_shapes, command)
    tests["capi_texts"] = run_capi_texts
    tests["ops_without_a_case"] = ops_without_a_case
    tests["pages"] = run_pages
    tests["deprecated"] = deprecated.run
    tests["registry"] = run_registry
    return {name: tests[name] for name in select(coverage(), only)}


def add_device_option(parser):
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu",
                        help="gpu: rows with a kernel of the server's GPU "
                        "run there and on its CPU (devices.py)")


def set_device(device):
    """True when that is a GPU."""
    if device == "gpu":
        inputs.ON_GPU = True
        TOLERANCE.update(GPU_TOLERANCE)
    return inputs.ON_GPU


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_server_options(parser)
    add_run_options(parser)
    add_device_option(parser)
    options = parser.parse_args()
    on_gpu = set_device(options.device)
    if options.captures and not on_gpu:
        parser.error("--captures is for --device=gpu")
    server = server_from(options)
    tests = chosen(options.only, on_gpu, server.command)
    if options.tensorflow:  # it has ten times as many ops, and another library
        tests.pop("ops_without_a_case", None)
        tests.pop("pages", None)
    if options.tensorflow or on_gpu:  # these are of the client's library alone
        tests.pop("gradients", None)
        tests.pop("gradients_of_loops", None)
        tests.pop("shapes", None)
        tests.pop("capi_texts", None)
    if options.list:
        print("\n".join(tests))
        return 0
    if sum(name in ROWS and ROWS[name].onednn for name in tests) > 1:
        onednn.will_be_called()
    return run_tests(tests, options, server).close()


if __name__ == "__main__":
    sys.exit(main())
