"""Runs trials on a server, many in one step, and judges how they end.

Trials that must work share a graph, a session and a step: what is compared is
each fetch, and the variables after the step.  A failing step is taken apart,
first by type, then trial by trial, to find whose fault it was.  Trials that
must fail run alone.  Nothing here needs TensorFlow.
"""
import dataclasses

import grpc

from tests.cluster.cluster import listening
from tests.conformance.compare import difference
from tests.conformance.words import words

BATCH_MS = 20000
ALONE_MS = 8000
NOWHERE = "Cannot assign a device for operation"


class ServerGone(Exception):
    """The server does not listen any more: whatever ran last killed it."""


class Failure(Exception):
    """A step ended in an error of this class."""

    def __init__(self, kind, message):
        super().__init__(kind)
        self.kind, self.text = kind, words(message)[:600]


@dataclasses.dataclass
class Trial:
    """What is run, and what it must end in.

    Feeds, operations and tensors are of the kind that the Side takes."""

    label: str
    kind: str  # the main type, by which a failing step is taken apart
    runs: int  # how often the step runs before variables are compared
    tol: float
    check: str
    end: object  # how many outputs are defined; None: all
    feeds: dict = dataclasses.field(default_factory=dict)
    init: list = dataclasses.field(default_factory=list)
    fetches: list = dataclasses.field(default_factory=list)
    reads: list = dataclasses.field(default_factory=list)
    together: bool = True  # in one step with others
    want: list = dataclasses.field(default_factory=list)
    error: str = ""  # the class of the error that it must end in
    text: str = ""  # what TensorFlow says there
    same_words: bool = False  # that must be said
    may_work: bool = False  # TensorFlow only says that it has no answer
    # As Row.terms() says of each value; none: only tol counts.
    sizes: list = dataclasses.field(default_factory=list)
    draws: list = dataclasses.field(default_factory=list)  # (value, how)
    # Operations that devices.py gives a device: the op, then its variables.
    pinned: list = dataclasses.field(default_factory=list)
    on: str = ""  # "cpu" or "gpu": this is what it ends in there alone


class Side:
    """One session on the graph of the trials.

    Those that inherit have run(fetches, feeds, alone), which raises Failure,
    and close()."""

    def __init__(self, target):
        self.target = target

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def step(self, trials, alone=False):
        """Fetches of each run, then the variables, for each of the trials."""
        feeds = {k: v for trial in trials for k, v in trial.feeds.items()}
        init = [op for trial in trials for op in trial.init]
        if init:
            self.run([init], feeds, alone)
        fetches = [trial.fetches for trial in trials]
        runs = [self.run(fetches, feeds, alone)
                for _ in range(trials[0].runs)]
        reads = [trial.reads for trial in trials]
        if any(reads):
            runs.append(self.run(reads, {}, alone))
        return [[value for run in runs for value in run[i]]
                for i in range(len(trials))]

    def error(self, trial):
        """The class of the error that a trial ends in and its text, or None
        and its values."""
        try:
            return None, self.step([trial], alone=True)[0]
        except Failure as failure:
            self.check_alive(trial.label)
            return failure.kind, failure.text

    def check_alive(self, doing):
        port = self.target.rpartition(":")[2]
        if port and not listening(int(port)):
            raise ServerGone(doing)


class Judge:
    """The verdict on trials; open_side() makes a new Side on their graph."""

    def __init__(self, open_side, trials, where=""):
        """where: the device that the trials are pinned to, if to one."""
        self.open_side, self.trials, self.where = open_side, trials, where
        self.failures, self.passed = [], 0
        self.answers, self.failed = {}, set()  # by label: right ones; others

    def run(self):
        good = [trial for trial in self.trials if trial.together]
        with self.open_side() as side:
            worked = not good or self._together(side, good)
            for trial in self.trials:
                if not trial.together:
                    self._alone(side, trial)
        if not worked:
            self._apart(good)
        return self

    def _apart(self, trials):
        """By type; or each alone, where there is only one type.

        In sessions of their own: the failed step has left its mark on random
        streams and variables."""
        kinds = {}
        for trial in trials:
            kinds.setdefault(trial.kind, []).append(trial)
        if len(kinds) > 1:
            for some in kinds.values():
                with self.open_side() as side:
                    worked = self._together(side, some)
                if not worked:
                    self._apart(some)
            return
        for trial in trials:
            with self.open_side() as side:
                self._alone(side, trial)

    def _together(self, side, trials):
        """False when the step failed, which decides nothing."""
        try:
            values = side.step(trials)
        except Failure:
            side.check_alive("%d cases" % len(trials))
            return False
        for trial, value in zip(trials, values):
            self._compare(trial, value)
        return True

    def _alone(self, side, trial):
        kind, value = side.error(trial)
        if kind is None and not trial.error:
            self._compare(trial, value)
        elif self.where and kind and NOWHERE in value:
            self._fail(trial, kind, value)  # whatever it must end in
        elif kind == trial.error and trial.same_words and value != trial.text:
            self._fail(trial, "text", "%s, not %s" % (value, trial.text))
        elif kind == trial.error or (kind is None and trial.may_work):
            self.passed += 1
        elif trial.error:
            self._fail(trial, "%s, not %s (%s)" % (
                kind or "no error", trial.error, trial.text), value)
        else:
            self._fail(trial, kind, value)

    def _compare(self, trial, got):
        if len(got) != len(trial.want):
            return self._fail(trial, "values", "%d, not %d" % (
                len(got), len(trial.want)))
        pairs = zip(got[:trial.end], trial.want[:trial.end])
        for place, (a, b) in enumerate(pairs):
            size = trial.sizes[place] if place < len(trial.sizes) else None
            text = difference(a, b, trial.tol, trial.check, size)
            if text:
                return self._fail(trial, "value %d" % place, text)
        self.answers[trial.label] = got
        self.passed += 1

    def _fail(self, trial, what, detail):
        self.failed.add(trial.label)
        self.failures.append("%s%s: %s: %s" % (
            self.where and self.where + ": ", trial.label, what, detail))


def missing_cases(channel, names, covered, producer):
    """(passed, failures): those of the named ops that a server has are
    covered.  producer: the version of the graphs that it is asked with."""
    known = [name for name in names if _server_has(channel, name, producer)]
    missing = ["no case for " + name for name in known if name not in covered]
    return len(known) - len(missing), missing


def _server_has(channel, op_name, producer):
    """Whether a graph with that op is refused for another reason, if any."""
    graph = channel.messages("tensorflow.GraphDef")
    graph.node.add(name="n", op=op_name)
    graph.versions.producer = producer
    try:
        channel.close_session(channel.create(graph))
        return True
    except grpc.RpcError as error:
        return "Op type not registered" not in error.details()
