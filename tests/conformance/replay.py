"""Every op against the answers of TensorFlow that record.py has written down.

  python3 tests/conformance/replay.py ARCHIVE [--server CMD |
      --target grpc://HOST:PORT] [--only AddV2,Sum] [--list] [--jobs N]

Prints what tests.conformance.run prints.  Needs no TensorFlow: numpy,
ml_dtypes, grpcio and protobuf.
"""
import argparse
import functools
import itertools
import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])
# Importing tests hides them all where none is named, from TensorFlow too.
CARDS_ARE_NAMED = "CUDA_VISIBLE_DEVICES" in os.environ

import grpc  # noqa: E402

from tests.cluster.cluster import add_server_options, server_from  # noqa: E402
from tests.cluster.messages import Channel  # noqa: E402
from tests.conformance import archive, judge, values  # noqa: E402
from tests.conformance.compare import TOLERANCE  # noqa: E402
from tests.conformance.devices import (  # noqa: E402
    both_verdicts, column_text)
from tests.conformance.report import (  # noqa: E402
    add_run_options, run_tests, select)

CALL_SECONDS = 5  # over a step's own time limit
SESSIONS = itertools.count()
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Side(judge.Side):
    """A session on a recorded graph."""

    def __init__(self, target, recorded, messages, devices=None):
        """devices: of nodes, by their names."""
        super().__init__(target)
        self.devices = devices or {}
        self.messages, self.recorded = messages, recorded
        self.channel = Channel(target.removeprefix("grpc://"), messages)
        self.handle = None

    def run(self, fetches, feeds, alone):
        """The values of the names in several lists, None for operations."""
        names = dict.fromkeys(itertools.chain(*fetches))
        limit = judge.ALONE_MS if alone else judge.BATCH_MS
        try:
            reply = self._step(
                feeds, names, limit / 1000 + CALL_SECONDS,
                {"timeout_in_ms": limit} if alone else {})
        except grpc.RpcError as error:
            raise failure(error.code(), error.details()) from None
        if reply.status_code:
            code = CODES.get(reply.status_code, grpc.StatusCode.UNKNOWN)
            raise failure(code, reply.status_error_message)
        try:
            for named in reply.tensor:
                names[named.name] = values.decode(named.tensor)
        except (ValueError, IndexError) as error:
            raise judge.Failure("a malformed tensor", str(error)) from None
        return [[names[name] for name in part] for part in fetches]

    def _step(self, feeds, names, timeout, options):
        if self.handle is None:
            self.handle = self.channel.master(
                "CreateSession", timeout=timeout, graph_def=self._graph(),
                config=self.recorded.config).session_handle
        feed = [self.messages("NamedTensor", name=name, tensor=tensor)
                for name, tensor in feeds.items()]
        return self.channel.step(
            self.handle, timeout, feed=feed, options=options,
            fetch=[name for name in names if ":" in name],
            target=[name for name in names if ":" not in name],
            store_errors_in_response_body=True)

    def _graph(self):
        """The graph, with variables that no other session has."""
        graph = self.messages("tensorflow.GraphDef")
        graph.CopyFrom(self.recorded.graph)
        own = b"%d/%d/" % (os.getpid(), next(SESSIONS))
        for node in graph.node:
            node.device = self.devices.get(node.name, node.device)
            if "shared_name" in node.attr and node.attr["shared_name"].s:
                node.attr["shared_name"].s = own + node.attr["shared_name"].s
        return graph

    def close(self):
        if self.handle is not None:
            try:
                self.channel.close_session(self.handle)
            except grpc.RpcError:
                pass  # whoever ran last has found out


def failure(code, text):
    """The class as TensorFlow names it: InvalidArgumentError."""
    return judge.Failure("".join(
        word.capitalize() for word in code.name.split("_")) + "Error", text)


def replay_op(found, name, target, captures=""):
    """(passed, failures) of an op, and the device column of a GPU; to be
    called in a child."""
    try:
        recorded = found.op(name)
        trials = archive.unpacked(recorded, found.messages)
    except archive.Damaged as error:
        return 0, ["the archive is damaged: %s" % error]
    failures = list(recorded.failure)
    if len(trials) != found.meta["ops"][name]:
        failures.append("%d cases, not %s" % (
            len(trials), found.meta["ops"][name]))
    def side_on(target):
        return functools.partial(Side, target, recorded, found.messages)

    if found.meta["device"] != "gpu":
        verdict = judge.Judge(side_on(target), trials).run()
        return verdict.passed, failures + verdict.failures
    nodes = {node.name: node for node in recorded.graph.node}
    verdict = both_verdicts(trials, nodes.get, side_on, target, captures)
    column = verdict.column.rows()
    want = found.meta["columns"].get(name, column)
    if column != want:
        failures.append("the rows are %s; recorded: %s" % (
            column_text(column), column_text(want)))
    return verdict.passed, failures + verdict.failures, column


def ops_without_a_case(found, target):
    channel = Channel(target.removeprefix("grpc://"), found.messages)
    return judge.missing_cases(channel, *found.meta["ops_without_a_case"])


def chosen(found, only):
    """Name -> function(target) of what the archive has, and the names of the
    scenarios, which it has not."""
    covers = {name: [name] for name in found.meta["ops"]}
    tests = {name: functools.partial(replay_op, found, name)
             for name in covers}
    if found.meta["ops_without_a_case"]:
        covers["ops_without_a_case"] = ["ops_without_a_case"]
        tests["ops_without_a_case"] = functools.partial(
            ops_without_a_case, found)
    covers.update(found.meta["scenarios"])
    names = select(covers, only)
    return ({name: tests[name] for name in names if name in tests},
            [name for name in names if name not in tests])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive")
    add_server_options(parser)
    add_run_options(parser)
    parser.add_argument("--device", choices=("cpu", "gpu"),
                        help="what the archive must have been recorded for")
    options = parser.parse_args()
    try:
        found = archive.Reader(options.archive)
        if options.device not in (None, found.meta["device"]):
            raise archive.Damaged("recorded for a " + found.meta["device"])
    except archive.Damaged as error:
        print("%s: %s\n0 passed, 1 failed, 0 skipped" % (
            options.archive, error))
        return 1
    if options.captures and found.meta["device"] != "gpu":
        parser.error("--captures is for an archive of a GPU")
    TOLERANCE.update(found.meta["tolerance"])
    if found.meta["device"] == "gpu" and not CARDS_ARE_NAMED:
        del os.environ["CUDA_VISIBLE_DEVICES"]
    tests, scenarios = chosen(found, options.only)
    if options.tensorflow:  # it has ten times as many ops
        tests.pop("ops_without_a_case", None)
    if options.list:
        print("\n".join(tests))
        return 0
    report = run_tests(tests, options, server_from(options))
    if scenarios:
        report.skip(len(scenarios),
                    "%d scenarios need TensorFlow's client" % len(scenarios))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
