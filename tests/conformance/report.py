"""Runs tests in child processes against one server and reports on each."""
import contextlib
import dataclasses
import functools
import inspect
import shlex
import time

from tests.cluster.cluster import Cluster
from tests.cluster.runner import run_children
from tests.conformance.devices import PLACES, TITLES, column_text
from tests.conformance.facts import KINDS, Facts

OP_SECONDS = 120
SHOWN = 6  # failures of an op that are printed


def add_run_options(parser):
    parser.add_argument("--target", default="",
                        help="a server that runs already")
    parser.add_argument("--jobs", type=int, default=2,
                        help="ops tested at a time")
    parser.add_argument("--captures", default="", metavar="CMD",
                        help="of a GPU: a second server, which captures graphs "
                        "and is asked on its card what has a kernel there")


def select(covers, only):
    """The names in covers, name -> what it is of, that are of one of only, a
    list with commas; all for an empty one."""
    wanted = set(filter(None, only.split(",")))
    return [name for name, of in covers.items()
            if not wanted or wanted & set(of)]


class Report:
    """Prints a line an op and adds the cases up."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.rows = dict.fromkeys(PLACES, 0)  # of ops and types
        self.facts = Facts.found()
        self.without = dict.fromkeys(KINDS, 0)  # a kernel of the GPU

    def add(self, name, outcome):
        """outcome.value: how many cases passed, what failed, and the device
        column, where there is one: of an op's rows, or a scenario's text."""
        passed, failures, *column = outcome.value or (0, [outcome.text])
        self.passed += passed
        self.failed += len(failures)
        print("%-4s %-40s %4d of %4d (%.1f s)%s" % (
            "FAIL" if failures else "ok", name, passed,
            passed + len(failures), outcome.seconds,
            "".join(self._column(name, part) for part in column)), flush=True)
        for text in failures[:SHOWN]:
            print("     " + text)
        if len(failures) > SHOWN:
            print("     and %d more" % (len(failures) - SHOWN))

    def _column(self, name, column):
        if isinstance(column, str):
            return "  " + column
        for place, kinds in column.items():
            self.rows[place] += len(kinds)
        for has, kinds in self.facts.split(
                name, column.get("cpu", ())).items():
            self.without[has] += len(kinds)
        return "  " + column_text(column, name, self.facts)

    def skip(self, count, why):
        print("  skip: " + why)
        self.skipped += count

    def close(self):
        if any(self.rows.values()):
            print("rows of ops and types: " + ", ".join(
                "%d %s" % (self.rows[place], TITLES[place])
                for place in PLACES) + self._without())
        print("%d passed, %d failed, %d skipped" % (
            self.passed, self.failed, self.skipped))
        return 1 if self.failed or not self.passed else 0

    def _without(self):
        """Of the rows of a CPU alone, where something is known of them."""
        known = ["%d %s" % (self.without[has], text)
                 for has, text in KINDS.items() if text and self.without[has]]
        return " (%s)" % ", ".join(known) if known else ""


def run_tests(tests, options, server):
    """A Report on tests, name -> function(target), of the server that runs
    already or else of one that is started.  Those that take the target of the
    one that captures, too, are given it where there is one."""
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        clusters = [] if options.target else [server]
        if options.captures:
            clusters.append(dataclasses.replace(
                server, command=shlex.split(options.captures)))
        report = _run_all(tests, options, [
            stack.enter_context(Cluster(s, worker=1)) for s in clusters])
    print("%d ops and scenarios in %.0f s" % (
        len(tests), time.monotonic() - start))
    return report


def _run_all(tests, options, clusters):
    """Runs the tests; what a dying server cut short runs again, alone."""
    report, again = Report(), {}
    for name, outcome in _run_some(tests, options, clusters, options.jobs):
        if clusters and "ServerGone" in outcome.text and options.jobs > 1:
            again[name] = tests[name]
        else:
            report.add(name, outcome)
    for name, outcome in _run_some(again, options, clusters, 1):
        report.add(name, outcome)
    return report


def _run_some(tests, options, clusters, jobs):
    """Yields (name, Outcome); a server of our own that died is restarted."""
    targets = [options.target] if options.target else []
    targets += [cluster.target() for cluster in clusters]
    calls = [functools.partial(test, *targets[:takes(test)])
             for test in tests.values()]
    limit = OP_SECONDS * options.slow * len(targets)
    names = list(tests)
    for index, outcome in run_children(calls, limit, jobs):
        for cluster in clusters:
            if not cluster.alive():
                print("the server died\n" + cluster.logs(), flush=True)
                cluster.start_all()
        yield names[index], outcome


def takes(test):
    """How many targets."""
    return len(inspect.signature(test).parameters)
