"""Records what the table's cases send to a server and TensorFlow's answers.

  python -m tests.conformance.record OUTPUT.zip [--only AddV2,Sum]
      [--device gpu] [--server CMD] [--jobs N]

replay.py runs the archive where there is no TensorFlow.  Scenarios are not in
it: they are programs of TensorFlow's client.  With a server, of a build with
CUDA, but no card is needed, the archive has the device column too, and who
replays it must have the same rows.
"""
import argparse
import functools
import os
import shlex
import sys

from google.protobuf import descriptor_pool

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, Server
from tests.cluster.raw import message
from tests.cluster.runner import run_children
from tests.conformance import archive
from tests.conformance import onednn
from tests.conformance.batch import Batch, config, items_of
from tests.conformance.compare import TOLERANCE
from tests.conformance.devices import Kernels, Verdict
from tests.conformance.report import OP_SECONDS, select
from tests.conformance.run import (ROWS, add_device_option, coverage, covered,
                                   registered, set_device)


def record_op(name, on_gpu, kernels):
    """(cases, bytes of a RecordedOp, failures, device column); to be called in
    a child."""
    if ROWS[name].onednn and not onednn.is_on():
        return onednn.call("tests.conformance.record", "record_elsewhere",
                           on_gpu, name, on_gpu, kernels)
    with tf.Graph().as_default() as graph:
        batch = Batch(items_of(ROWS[name], on_gpu)).ask()
        recorded = message(
            "RecordedOp", graph=graph.as_graph_def(), config=config("grpc://"),
            failure=batch.failures,
            **archive.packed(batch.trials, lambda x: x.name, message))
        rows = kernels and Verdict(batch.trials, kernels,
                                   lambda op: op.node_def, None).rows()
    return (len(batch.trials), recorded.SerializeToString(), batch.failures,
            rows)


def record_elsewhere(*arguments):
    """record_op() in a process that has not been through main()."""
    archive.add_messages(message)
    return record_op(*arguments)


def kernels_of(server):
    """What a server says of itself; None without one."""
    if not server:
        return None
    with Cluster(Server(shlex.split(server), True), worker=1) as cluster:
        return Kernels.of(cluster.target())


def meta_of(names, counts, columns, device):
    """What holds for the whole archive of these tests."""
    covers = coverage()
    scenarios = {n: covers[n] for n in names if n not in ROWS}
    for name in ("gradients", "registry"):  # of the client's library alone
        scenarios.pop(name, None)
    missing = []
    if scenarios.pop("ops_without_a_case", None):
        missing = [registered(), sorted(covered()),
                   tf.version.GRAPH_DEF_VERSION]
    return {"device": device, "tensorflow": tf.__version__,
            "tolerance": TOLERANCE, "ops": counts, "columns": columns,
            "scenarios": scenarios,
            "ops_without_a_case": missing}


def record(path, names, options, on_gpu):
    """Writes the archive; returns how many ops could not be recorded."""
    writer = archive.Writer(path, descriptor_pool.Default())
    ops = [name for name in names if name in ROWS]
    kernels = kernels_of(options.server)
    calls = [functools.partial(record_op, name, on_gpu, kernels)
             for name in ops]
    counts, columns, size, failed = dict.fromkeys(ops), {}, 0, 0
    for index, outcome in run_children(calls, OP_SECONDS * options.slow,
                                       options.jobs):
        name = ops[index]
        count, recorded, failures, rows = outcome.value or (
            None, b"", [outcome.text], None)
        if failures:
            failed += 1
            print("FAIL %s\n     %s" % (name, "\n     ".join(failures)),
                  flush=True)
        if outcome.value:
            writer.add(name, recorded)
            counts[name], size = count, size + len(recorded)
        if rows:
            columns[name] = rows
    writer.close(meta_of(names, counts, columns, options.device))
    print("%d cases of %d ops, %.1f MB, of %.1f MB uncompressed" % (
        sum(filter(None, counts.values())), len(ops),
        os.path.getsize(path) / 1e6, size / 1e6))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--only", default="", metavar="OPS",
                        help="record these alone")
    parser.add_argument("--slow", type=float, default=1.0,
                        help="factor on all time limits")
    parser.add_argument("--jobs", type=int, default=2,
                        help="ops recorded at a time")
    parser.add_argument("--server", default="",
                        help="command of a server whose device column is "
                        "recorded, too")
    add_device_option(parser)
    options = parser.parse_args()
    archive.add_messages(message)
    on_gpu = set_device(options.device)
    names = select(coverage(), options.only)
    return 1 if record(options.output, names, options, on_gpu) else 0


if __name__ == "__main__":
    sys.exit(main())
