"""What a program asks of its session, and how long each answer takes.

Calls of Session.run() are told apart by graph, fetches and feeds.  The first
of a kind makes the server build its graph, so it is a time of its own; from
the second on they are steps.  A few steps are no measurement: the second is
done over and over for a while, unless it takes from a queue, saves a file or
the like, which can be done only as often as the program does it."""
import re
import statistics
import threading
import time

# Ops that wait for another step, or leave something behind.
ONCE = re.compile(
    "Queue|Barrier|Accumulator|Save|MergeV2Checkpoints|Stage|CountUpTo|"
    "Destroy|PyFunc|Summary(?!$)|WriteFile")


def names_of(value):
    """The names in a structure of fetches or feeds, in order."""
    if isinstance(value, dict):
        return [name for part in value.values() for name in names_of(part)]
    if isinstance(value, (list, tuple)):
        return [name for part in value for name in names_of(part)]
    return [getattr(value, "name", str(value))]


def kinds_behind(graph, names):
    """The types of the ops that these fetches need."""
    todo = []
    for name in names:
        try:
            found = graph.as_graph_element(name, allow_tensor=True)
            todo.append(getattr(found, "op", found))
        except (KeyError, ValueError, TypeError):
            return {"Queue"}  # what it is nobody knows
    seen = set(todo)
    while todo:
        op = todo.pop()
        more = ({t.op for t in op.inputs} | set(op.control_inputs)) - seen
        todo += more
        seen |= more
    return {op.type for op in seen}


def can_repeat(graph, names):
    return not any(ONCE.search(kind) for kind in kinds_behind(graph, names))


class Calls:
    """The calls of one run of a program."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.first, self.later, self.counts = {}, {}, {}
        self.lock = threading.Lock()

    def run(self, original, session, fetches, feed_dict=None, options=None,
            run_metadata=None):
        names = names_of(fetches)
        key = (id(session.graph), tuple(names), tuple(sorted(
            names_of(list(feed_dict or {})))))
        start = time.perf_counter()
        result = original(session, fetches, feed_dict, options, run_metadata)
        taken = time.perf_counter() - start
        with self.lock:
            count = self.counts[key] = self.counts.get(key, 0) + 1
            times = self.later.setdefault(key, []) if count > 1 else None
            if times is None:
                self.first[key] = taken
            else:
                times.append(taken)
        if count == 2 and can_repeat(session.graph, names):
            self._repeat(times, lambda: original(
                session, fetches, feed_dict, options, run_metadata))
        return result

    def _repeat(self, times, call):
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)


def rates(runs):
    """(steps a second or None, calls a second) of several runs of a program on
    one server: a step takes what the median of its kind takes, and counts as
    often as the program does it; calls are those of the quickest run."""
    steps, seconds = 0, 0
    for place, key in enumerate(runs[0].counts):
        times = []
        for run in runs:  # graphs are new in each run, their calls are not
            keys = list(run.counts)
            if place < len(keys):
                times += run.later.get(keys[place], [])
        if times:
            steps += runs[0].counts[key] - 1
            seconds += (runs[0].counts[key] - 1) * statistics.median(times)
    whole = max(sum(run.counts.values()) / (
        sum(run.first.values()) + sum(
            (run.counts[key] - 1) * statistics.median(times)
            for key, times in run.later.items())) for run in runs)
    return steps / seconds if seconds else None, whole
