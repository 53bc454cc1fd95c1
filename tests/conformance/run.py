"""Every op against TensorFlow's own answer, computed in this run.

  python -m tests.conformance.run [--server CMD | --target grpc://HOST:PORT]
      [--only AddV2,Sum] [--list] [--jobs N]

Prints a line an op, what differs, and the count of cases.
"""
import argparse
import functools
import pathlib
import sys
import time

import grpc
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

from tests.cluster.cluster import Cluster, add_server_options, server_from
from tests.cluster.raw import Raw, graph_of, node
from tests.cluster.runner import run_children
from tests.conformance import barriers  # noqa: F401
from tests.conformance import cases  # noqa: F401  fills the table
from tests.conformance import checkpoints  # noqa: F401
from tests.conformance import gradients
from tests.conformance import inputs
from tests.conformance import onednn  # noqa: F401
from tests.conformance import queues  # noqa: F401
from tests.conformance import images  # noqa: F401
from tests.conformance import lists  # noqa: F401
from tests.conformance import scenarios
from tests.conformance import summaries  # noqa: F401
from tests.conformance.batch import Batch, items_of
from tests.conformance.compare import difference
from tests.conformance.table import ROWS, SCENARIOS

OP_SECONDS = 120
SHOWN = 6  # failures of an op that are printed


def run_op(name, on_gpu, target):
    """(passed, failures) of an op's row; to be called in a child."""
    batch = Batch(target, items_of(ROWS[name], on_gpu)).run()
    return batch.passed, batch.failures


def run_scenario(found, target):
    """(passed, failures): each value that a scenario returns is a case."""
    want = found.function(scenarios.Side(""))
    got = found.function(scenarios.Side(target))
    failures, passed = [], 0
    for key in want:
        text = difference(got.get(key, "nothing"), want[key], found.tol)
        if text:
            failures.append("%s: %s" % (key, text))
        else:
            passed += 1
    return passed, failures


def run_gradients(command, _):
    """(passed, failures) of the libtfd that lies beside the server."""
    return gradients.run(str(pathlib.Path(command[0]).parent / "libtfd.so"))


def chosen(only, on_gpu, command):
    """Name -> function(target); names are ops, scenarios by their function."""
    tests = {name: functools.partial(run_op, name, on_gpu) for name in ROWS}
    covers = {name: [name] for name in ROWS}
    for found in SCENARIOS:
        tests[found.name] = functools.partial(run_scenario, found)
        covers[found.name] = [found.name, *found.ops]
    tests["gradients"] = functools.partial(run_gradients, command)
    tests["ops_without_a_case"] = ops_without_a_case
    for name in ("gradients", "ops_without_a_case"):
        covers[name] = [name]
    wanted = set(filter(None, only.split(",")))
    return {name: test for name, test in tests.items()
            if not wanted or wanted & set(covers[name])}


def ops_without_a_case(target):
    """(passed, failures): each op that the server knows has a case here."""
    raw = Raw(target.removeprefix("grpc://"))
    covered = set(ROWS).union(*(found.ops for found in SCENARIOS))
    names = {k.op for k in kernels.get_all_registered_kernels().kernel}
    known = [name for name in sorted(names) if server_has(raw, name)
             and not op_def_registry.get(name).deprecation.version]
    missing = ["no case for " + name for name in known if name not in covered]
    return len(known) - len(missing), missing


def server_has(raw, op_name):
    """Whether a graph with that op is refused for another reason, if any."""
    try:
        handle = raw.create(graph_of(node("n", op_name)))
        raw.master("CloseSession", session_handle=handle)
        return True
    except grpc.RpcError as error:
        return "Op type not registered" not in error.details()


class Report:
    """Prints a line an op and adds the cases up."""

    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, outcome):
        passed, failures = outcome.value or (0, [outcome.text])
        self.passed += passed
        self.failed += len(failures)
        print("%-4s %-40s %4d of %4d (%.1f s)" % (
            "FAIL" if failures else "ok", name, passed,
            passed + len(failures), outcome.seconds), flush=True)
        for text in failures[:SHOWN]:
            print("     " + text)
        if len(failures) > SHOWN:
            print("     and %d more" % (len(failures) - SHOWN))

    def close(self):
        print("%d passed, %d failed, 0 skipped" % (self.passed, self.failed))
        return 1 if self.failed or not self.passed else 0


def run_all(tests, options, cluster):
    """Runs the tests; what a dying server cut short runs again, alone."""
    report, again = Report(), {}
    for name, outcome in run_some(tests, options, cluster, options.jobs):
        if cluster and "ServerGone" in outcome.text and options.jobs > 1:
            again[name] = tests[name]
        else:
            report.add(name, outcome)
    for name, outcome in run_some(again, options, cluster, 1):
        report.add(name, outcome)
    return report


def run_some(tests, options, cluster, jobs):
    """Yields (name, Outcome); a server of our own that died is restarted."""
    target = options.target or cluster.target()
    calls = [functools.partial(test, target) for test in tests.values()]
    limit = OP_SECONDS * options.slow
    names = list(tests)
    for index, outcome in run_children(calls, limit, jobs):
        if cluster and not cluster.alive():
            print("the server died\n" + cluster.logs(), flush=True)
            cluster.start_all()
        yield names[index], outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_server_options(parser)
    parser.add_argument("--target", default="",
                        help="a server that runs already")
    parser.add_argument("--jobs", type=int, default=2,
                        help="ops tested at a time")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu",
                        help="whose tolerances and answers hold; ops without a "
                        "device go to the server's GPU where it has a kernel")
    options = parser.parse_args()
    if options.device == "gpu":
        inputs.ON_GPU = True
        inputs.TOLERANCE.update(inputs.GPU_TOLERANCE)
    server = server_from(options)
    tests = chosen(options.only, options.device == "gpu", server.command)
    if options.tensorflow:  # it has ten times as many ops, and another library
        tests.pop("ops_without_a_case", None)
        tests.pop("gradients", None)
    if options.device == "gpu":  # that is the client's library alone
        tests.pop("gradients", None)
    if options.list:
        print("\n".join(tests))
        return 0
    start = time.monotonic()
    if options.target:
        report = run_all(tests, options, None)
    else:
        with Cluster(server, worker=1) as cluster:
            report = run_all(tests, options, cluster)
    print("%d ops and scenarios in %.0f s" % (
        len(tests), time.monotonic() - start))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
