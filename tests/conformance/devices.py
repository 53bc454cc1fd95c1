"""Which rows a server's GPU has kernels for, and the verdict on both devices.

A trial whose op, and variables, have a kernel of a GPU runs twice, with soft
placement off: pinned to GPU:0, where it must end as TensorFlow says, and pinned
to CPU:0 of the same server, where it must end as on the GPU.  The others run on
CPU:0 alone.  Scenarios: pinned.py.  Nothing here needs TensorFlow.
"""
import dataclasses
import functools
import http.client

from tests.conformance.facts import KINDS, Facts
from tests.conformance.judge import Judge

SECONDS = 10
CPU, GPU = "/device:CPU:0", "/device:GPU:0"
# Where a row's arguments are: on a GPU; in host memory, though the op is placed
# on a GPU; there is no kernel of a GPU.
PLACES = ("gpu", "host", "cpu")
TITLES = {"gpu": "gpu", "host": "host memory", "cpu": "cpu only"}
# As numpy calls them.
NAMES = {"float": "float32", "double": "float64", "half": "float16"}


class Kernels:
    """What a server says of its kernels (daemon/status/kernels_page.h)."""

    def __init__(self, page):
        self.ops = {}  # op -> [(place, attribute or "", types)]
        for line in page.splitlines():
            op, device, memory, types = line.split(" ")
            place = "cpu" if device == "CPU" else {
                "device": "gpu", "host": "host"}[memory]
            attr, _, names = types.rpartition("=")
            self.ops.setdefault(op, []).append(
                (place, attr, set(names.split(","))))

    @classmethod
    def of(cls, target):
        connection = http.client.HTTPConnection(
            target.removeprefix("grpc://"), timeout=SECONDS)
        try:
            connection.request("GET", "/kernels")
            reply = connection.getresponse()
            page = reply.read().decode()
        finally:
            connection.close()
        if reply.status != 200:
            raise ValueError("/kernels: %d: %s" % (reply.status, page))
        return cls(page)

    def has_on_card(self, ops):
        """Whether one of them has a row of a GPU, in host memory or not."""
        return any(place != "cpu" for op in ops
                   for place, _, _ in self.ops.get(op, ()))

    def place(self, node):
        """(place, type) of a NodeDef; the type is None where it makes no
        difference to the server."""
        rows = [row for row in self.ops.get(node.op, []) if row[0] != "cpu"]
        key = next((attr for _, attr, _ in self.ops.get(node.op, []) if attr),
                   None)
        kind = _type(node.attr[key]) if key and key in node.attr else None
        for place, _, types in rows:
            if "*" in types or kind in types:
                return place, kind
        return "cpu", kind


def _type(attr):
    """The name of the type that an AttrValue is."""
    number = attr.type
    enum = attr.DESCRIPTOR.fields_by_name["type"].enum_type
    return enum.values_by_number[number].name.removeprefix("DT_").lower()


class Column:
    """Place -> types, of one op."""

    def __init__(self):
        self.types = {place: {} for place in PLACES}

    def add(self, place, kind):
        self.types[place][NAMES.get(kind, kind)] = True

    def rows(self):
        """Place -> types, as reports and archives have it."""
        return {place: sorted(types) for place, types in self.types.items()
                if types}


def column_text(rows, op="", facts=Facts()):
    """The column of an op; facts: what TensorFlow has of it."""
    return "; ".join(
        " ".join(filter(None, [title, *kinds]))
        for place in PLACES if place in rows
        for title, kinds in _titled(place, rows[place], op, facts))


def _titled(place, kinds, op, facts):
    """(title, types) of a place."""
    if place != "cpu":
        return [(TITLES[place], kinds)]
    return [(", ".join(filter(None, [TITLES[place], KINDS[has]])), some)
            for has, some in facts.split(op, kinds).items()]


class Verdict:
    """Of the trials of one op."""

    def __init__(self, trials, kernels, node_of, open_side, cards_alone=False):
        """node_of(x): the NodeDef of what trials have in pinned;
        open_side(devices): a Side whose graph has these, (x, device);
        cards_alone: nothing is run on CPUs."""
        self.cards_alone = cards_alone
        self.trials, self.kernels, self.node_of = trials, kernels, node_of
        self.open_side = open_side
        self.column, self.failures, self.passed = Column(), [], 0

    def rows(self):
        """The column, where nothing is run."""
        for trial in self.trials:
            self._place(trial)
        return self.column.rows()

    def run(self):
        places = {id(trial): self._place(trial) for trial in self.trials}
        there = [trial for trial in self.trials
                 if places[id(trial)] != "cpu" and trial.on != "cpu"]
        here = [trial for trial in self.trials
                if trial.on != "gpu" and not self.cards_alone]
        gpu = self._judge(GPU, there, here)
        cpu = self._judge(CPU, [
            self._as_on_gpu(trial, gpu) for trial in here], there)
        self.failures = gpu.failures + cpu.failures
        self.passed = len({trial.label for trial in here + there} -
                          gpu.failed - cpu.failed)
        return self

    def _place(self, trial):
        """Where it is best run; "cpu" too when its variables have no other."""
        found = [self.kernels.place(self.node_of(x)) for x in trial.pinned]
        place, kind = found[0]
        if any(other == "cpu" for other, _ in found):
            place = "cpu"
        self.column.add(place, kind or trial.kind)
        return place

    def _judge(self, device, trials, others):
        """others: their nodes are in the graph, and go where they may."""
        pins = {x: "" for trial in others for x in trial.pinned}
        pins.update({x: device for trial in trials for x in trial.pinned})
        judge = Judge(functools.partial(self.open_side, pins), trials, device)
        return judge.run() if trials else judge

    def _as_on_gpu(self, trial, gpu):
        """With the GPU's answer instead of TensorFlow's, where it is right."""
        if trial.on or trial.error or trial.label not in gpu.answers:
            return trial
        return dataclasses.replace(trial, want=gpu.answers[trial.label])


def captured(failures):
    """Those of the server that captures graphs."""
    return ["captures: " + text for text in failures]


def both_verdicts(trials, node_of, side_on, target, captures,
                  kernels_of=Kernels.of):
    """The Verdict on a server; with what one that captures graphs, unless it
    is "", adds to its counts: what is captured is the card's alone, so nothing
    is run on its CPU.  side_on(target): the open_side of a Verdict.  The one
    that captures comes first, as the other places all operations anew."""
    more = captures and Verdict(trials, kernels_of(captures), node_of,
                                side_on(captures), cards_alone=True).run()
    verdict = Verdict(trials, kernels_of(target), node_of,
                      side_on(target)).run()
    if more:
        verdict.passed += more.passed
        verdict.failures += captured(more.failures)
        verdict.failures += captured(placed_otherwise(
            more.column.rows(), verdict.column.rows()))
    return verdict


def placed_otherwise(rows, wanted):
    """A failure, where a server that found no card, as when another one has
    all of its memory, would be asked for nothing, and so be right."""
    if rows == wanted:
        return []
    return ["it has kernels on %s, not on %s" % (
        column_text(rows), column_text(wanted))]
