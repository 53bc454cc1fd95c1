"""The tests of this folder: how they are declared, and how a run goes."""
import argparse
import dataclasses
import functools
import sys
import time

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, add_server_options, server_from
from tests.cluster.runner import Outcome, Skip, Tally, isolated

TESTS = []


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    function: object
    limit: float
    tfd_only: bool
    missing: str  # what tfd does not have yet; "" when nothing
    flags: tuple
    rare: bool  # runs only when all are asked for
    jobs: tuple  # (job, count) of the shared cluster; () when it has its own


def test(limit=30, tfd_only=False, missing="", flags=(), rare=False, **jobs):
    """Registers a test, named by its function.

    With jobs, as in test(ps=1, worker=2), the function gets a Cluster that
    other tests use too, and whose processes are not its children; without,
    the Server to start clusters with.  tfd_only marks what tfd adds to, or
    does better than, TensorFlow; missing names what tfd lacks for the test. Rare
    ones take long, or much memory, and run with --all."""
    def register(function):
        module = function.__module__.rpartition(".")[2].replace("test_", "")
        TESTS.append(Test("%s.%s" % (module, function.__name__), function,
                          limit, tfd_only, missing, tuple(flags),
                          rare, tuple(jobs.items())))
        return function
    return register


class Shared:
    """Clusters that several tests use, started when first asked for."""

    def __init__(self, server):
        self.server, self.running = server, {}

    def get(self, wanted):
        key = (wanted.jobs, wanted.flags)
        cluster = self.running.get(key)
        if cluster is None or not cluster.alive():
            self.drop(wanted)
            cluster = Cluster(self.server, wanted.flags, **dict(wanted.jobs))
            self.running[key] = cluster
        return cluster

    def drop(self, wanted):
        """Forgets a cluster that may be damaged; returns its last words."""
        cluster = self.running.pop((wanted.jobs, wanted.flags), None)
        if cluster is None:
            return ""
        logs = cluster.logs()
        for task in cluster.tasks.values():
            task.kill()
        cluster.folder.cleanup()
        return logs

    def close(self, tally):
        """Stops all; that they stop as they should is a test of its own."""
        for (jobs, _), cluster in self.running.items():
            name = "shared cluster stops (%s)" % dict(jobs)
            try:
                cluster.close()
                tally.add("ok", name)
            except AssertionError as error:
                tally.add("FAIL", name, str(error))


def on_fresh_state(function, cluster):
    """Calls function on a cluster without variables of earlier tests."""
    tf.Session.reset(next(iter(cluster.tasks.values())).target)
    function(cluster)


def run_one(wanted, server, shared):
    """The Outcome of one test."""
    if wanted.tfd_only and not server.is_tfd:
        return Outcome("skip", "only tfd does this", 0)
    if wanted.missing and server.is_tfd:
        return Outcome("skip", "tfd has no %s" % wanted.missing, 0)
    limit = wanted.limit * server.slow
    if not wanted.jobs:
        return isolated(functools.partial(wanted.function, server), limit)
    try:
        cluster = shared.get(wanted)
    except (AssertionError, OSError) as error:
        return Outcome("FAIL", "no cluster: %s" % error, 0)
    call = functools.partial(on_fresh_state, wanted.function, cluster)
    outcome = isolated(call, limit)
    if outcome.verdict == "FAIL":
        outcome.text += "\n" + shared.drop(wanted)
    return outcome


def room_of(wanted):
    """The folder that its module lies in."""
    return wanted.function.__module__.split(".")[-2]


def names(text):
    return set(filter(None, text.split(",")))


def chosen(options):
    """The tests that are asked for; a room that is not there is an error."""
    rooms = {room_of(t) for t in TESTS}
    only, but = names(options.rooms) or rooms, names(options.but)
    unknown = (only | but) - rooms
    if unknown:
        sys.exit("no room %s; there are %s" % (
            ", ".join(sorted(unknown)), ", ".join(sorted(rooms))))
    return [t for t in TESTS
            if any(part in t.name for part in options.only.split(","))
            and room_of(t) in only - but
            and (options.all or not t.rare)]


def main(description):
    parser = argparse.ArgumentParser(description=description)
    add_server_options(parser)
    parser.add_argument("--all", action="store_true",
                        help="run the rare ones too")
    parser.add_argument("--rooms", default="", metavar="NAME,...",
                        help="run what lies in these folders")
    parser.add_argument("--but", default="", metavar="NAME,...",
                        help="leave out what lies in these")
    options = parser.parse_args()
    wanted = chosen(options)
    if options.list:
        print("\n".join(t.name for t in wanted))
        return 0
    server, tally, start = server_from(options), Tally(), time.monotonic()
    shared = Shared(server)
    for one in wanted:
        outcome = run_one(one, server, shared)
        tally.add(outcome.verdict, one.name, outcome.text, outcome.seconds)
    shared.close(tally)
    print("%.0f s" % (time.monotonic() - start))
    return tally.close()


__all__ = ["Skip", "main", "test"]
