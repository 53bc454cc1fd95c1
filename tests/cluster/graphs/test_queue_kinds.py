"""Padding, shuffling and priority queues on a ps, shared by name between
sessions of two workers.

Each scenario runs with two sessions on a cluster and with one in process, and
all that they answer, errors too, must be the same."""
import contextlib
import re

from tests.cluster.client import expect, graph, np, plain_config, tf
from tests.cluster.cluster import wait_until
from tests.cluster.suite import test
from tests.cluster.graphs.test_queues import PAIR, PS, Waiting

KINDS = {
    "PaddingFIFOQueue": dict(shapes=[[None]]),
    "RandomShuffleQueue": dict(shapes=[[]], min_after_dequeue=2, seed=3,
                               seed2=5),
    "PriorityQueue": dict(shapes=[[]]),
}
F = tf.float32
SOON = tf.RunOptions(timeout_in_ms=300)


class Queue:
    """A queue of floats of one kind, as one client sees it."""

    def __init__(self, kind, suffix, device, name, capacity=4):
        self.kind, self.suffix, self.device = kind, suffix, device
        self.name = "%s%s_%s" % (kind, suffix, name)
        types = [F]
        fed = self.fed = [tf.placeholder(F)]
        if kind == "PriorityQueue":
            types, fed = [tf.int64, F], [tf.placeholder(tf.int64)] + self.fed
            self.fed = fed
        self.padded = kind == "PaddingFIFOQueue"
        self.q = self.make(capacity=capacity)
        self.types = types
        taken = dict(handle=self.q, component_types=types)
        self.put = self.op("QueueEnqueue", handle=self.q, components=fed)
        self.put_many = self.op("QueueEnqueueMany", handle=self.q,
                                components=fed)
        self.one = self.op("QueueDequeue", **taken)
        self.three = self.op("QueueDequeueMany", n=3, **taken)
        self.rest = self.op("QueueDequeueUpTo", n=9, **taken)
        self.size = self.op("QueueSize", handle=self.q)
        self.close = self.op("QueueClose", handle=self.q)
        self.cancel = self.op("QueueClose", handle=self.q,
                              cancel_pending_enqueues=True)

    def op(self, name, **arguments):
        with tf.device(self.device):
            return getattr(tf.raw_ops, name + self.suffix)(**arguments)

    def make(self, kind="", **changed):
        """The op of the queue, or one that differs from it."""
        kind = kind or self.kind
        arguments = dict(KINDS.get(kind, {}), component_types=[F], capacity=4,
                         shared_name=self.name)
        arguments.update(changed)
        return self.op(kind, **arguments)

    def element(self, value):
        """value times itself where rows are padded; two by two have one
        priority, larger ones come first."""
        row = [value] * int(value) if self.padded else value
        return dict(zip(self.fed[::-1], (row, -(int(value) // 2))))

    def elements(self, *values):
        rows = [[v, v] if self.padded else v for v in values]
        return dict(zip(self.fed[::-1], (rows, [-(v // 2) for v in values])))

    def fill(self, session, *values):
        for value in values:
            session.run(self.put, self.element(value))

    def drain(self, session):
        return [told(session, self.one) for _ in range(session.run(self.size))]

    def wait_size(self, session, size):
        wait_until(lambda: session.run(self.size) == size, 10, "size %d" % size)


def told(session, fetches, feeds=None, options=None):
    """The values as lists, or the class of the error and what it says."""
    try:
        return plain(session.run(fetches, feeds, options))
    except tf.errors.OpError as error:
        return said(error)


def plain(value):
    if isinstance(value, list):
        return [plain(part) for part in value]
    return None if value is None else np.asarray(value).tolist()


def said(error):
    """What the kernel said: the rest of the text names tasks and nodes, and
    says when a step was late."""
    kind = type(error).__name__
    if isinstance(error, tf.errors.DeadlineExceededError):
        return kind
    lines = error.message.split("\n")
    at = next((i for i, line in enumerate(lines) if "[[{{node" in line), 0)
    return "%s: %s" % (kind, re.sub("(['\" ])_[0-9]+_", "\\1", lines[at - 1]))


def outcome(waiting):
    waiting.end()
    return plain(waiting.value) if waiting.error is None else said(
        waiting.error)


@contextlib.contextmanager
def two_sessions(cluster):
    with graph():
        sessions = [tf.Session(cluster.target("worker", i), config=
                               plain_config()) for i in range(2)]
        yield sessions
        for session in sessions:
            session.close()


def as_in_process(scenario):
    """Registers the test that scenario(queue, first, second) gives the same
    dictionary on a cluster as in process, for every kind in both forms."""
    def run(cluster):
        for kind in KINDS:
            for suffix in ("V2", ""):
                with graph(), tf.Session(config=plain_config()) as session:
                    want = scenario(Queue(kind, suffix, "/cpu:0", "q"),
                                    session, session)
                with two_sessions(cluster) as sessions:
                    got = scenario(Queue(kind, suffix, PS, "q"), *sessions)
                differ = {key: (got.get(key), want[key]) for key in want
                          if got.get(key) != want[key]}
                assert want and not differ, (kind, suffix, differ)
    run.__name__, run.__module__ = scenario.__name__, scenario.__module__
    test(limit=60, **PAIR)(run)
    return scenario


@as_in_process
def elements_come_in_the_same_order(q, first, second):
    """Who waits is served as elements come, by whomever they are put."""
    kept = 2 if q.kind == "RandomShuffleQueue" else 0
    out = {}
    waits = Waiting(first, q.three)
    q.fill(second, 1, 2, 3)
    q.wait_size(first, kept)
    if kept:
        q.fill(first, 4, 5)
    out["three"] = outcome(waits)
    q.wait_size(second, kept)
    q.fill(first, 3)
    q.fill(second, 2)
    out["one"] = told(second, q.one)
    out["more"] = told(first, q.one)
    second.run(q.put_many, q.elements(7, 3))
    out["size"] = told(first, q.size)
    second.run(q.close)
    if q.kind == "PriorityQueue":  # TensorFlow would lose the rest
        out["rest"] = q.drain(first)
    else:
        out["rest"] = told(first, q.rest)
    out["none"] = told(second, q.rest)
    return out


@as_in_process
def a_full_queue_makes_who_puts_wait(q, first, second):
    out = {}
    q.fill(first, 1, 2, 3, 4)
    out["late"] = told(second, q.put, q.element(5), SOON)
    out["size"] = told(first, q.size)
    waits = Waiting(first, q.put, q.element(6))
    out["one"] = told(second, q.one)
    out["put"] = outcome(waits)
    waits = Waiting(second, q.put_many, q.elements(7, 8))
    out["two"] = [told(first, q.one)]
    q.wait_size(first, 4)
    out["two"].append(told(first, q.one))
    out["many"] = outcome(waits)
    out["full"] = told(first, q.size)
    second.run(q.close)
    out["rest"] = q.drain(second)
    return out


@as_in_process
def an_empty_queue_makes_who_takes_wait(q, first, second):
    out = {"none": told(first, q.three, None, SOON)}
    q.fill(second, 1, 2)
    if q.kind == "RandomShuffleQueue":  # as good as empty
        out["few"] = [told(first, fetch, None, SOON)
                      for fetch in (q.one, q.three)]
        out["size"] = told(first, q.size)
        q.fill(first, 3)
    out["one"] = told(first, q.one)
    second.run(q.close)
    out["rest"] = q.drain(first)
    return out


@as_in_process
def closing_ends_who_takes(q, first, second):
    kept = 2 if q.kind == "RandomShuffleQueue" else 0
    out = {}
    waits = Waiting(first, q.three)
    for value in range(1, kept + 3):
        q.fill(second, value)
        # The order in which a shuffling queue gives its elements depends on
        # how many there were when each was taken.
        if value > kept and q.kind != "PriorityQueue":  # all at once
            q.wait_size(second, kept)
    second.run(q.close)
    out["waits"] = outcome(waits)
    out["size"] = told(second, q.size)
    for name, fetch in (("put", q.put), ("many", q.put_many)):
        feeds = q.element(5) if fetch is q.put else q.elements(5, 6)
        out[name] = told(first, fetch, feeds)
    out["rest"] = q.drain(first)
    out["none"] = [told(session, fetch) for session in (first, second)
                   for fetch in (q.one, q.three, q.rest)]
    out["again"] = [told(first, q.close), told(second, q.cancel)]
    return out


@as_in_process
def closing_may_end_who_puts(q, first, second):
    """A close that lets them be comes after them; one that does not, at
    once."""
    out = {}
    q.fill(second, 1, 2, 3)
    puts = Waiting(first, q.put_many, q.elements(4, 5, 6))
    q.wait_size(second, 4)
    closes = Waiting(second, q.close)
    out["one"] = told(second, q.one)
    q.wait_size(second, 4)
    second.run(q.cancel)
    out["cancelled"] = outcome(puts)
    # It may have waited for them, or come only now.
    assert re.match("CancelledError: Enqueue operation was cancelled|"
                    "CancelledError: Queue '.*' is already closed",
                    outcome(closes)), said(closes.error)
    out["put"] = told(second, q.put, q.element(7))
    out["rest"] = q.drain(first)
    return out


@as_in_process
def elements_of_another_form_are_refused(q, first, second):
    """And change nothing."""
    q.fill(first, 2)
    value, out = q.fed[-1], {}

    def tries(name, put, *fed):
        out[name] = told(second, put, dict(zip(q.fed[::-1], fed)))

    tries("rank", q.put, [[1.0]], 1)
    tries("rows", q.put_many, [[[1.0]]], [1])
    if q.kind == "PriorityQueue":
        tries("batches", q.put_many, [1.0, 2.0], [1])
        tries("priority", q.put, 1.0, [1])
    inputs = q.fed[:-1]
    for name, parts in (("type", inputs + [tf.cast(value, tf.int32)]),
                        ("count", inputs + [value, value]),
                        ("none", [tf.constant("a")])):
        out[name] = told(second, q.op("QueueEnqueue", handle=q.q,
                                      components=parts), q.element(1))
    for name, types in (("taken", [tf.int32]), ("two taken", [F] * 3)):
        out[name] = told(second, q.op("QueueDequeue", handle=q.q,
                                      component_types=types))
    out["size"] = told(first, q.size)
    second.run(q.close)
    out["rest"] = q.drain(first)
    return out


@as_in_process
def another_queue_of_that_name_is_refused(q, first, second):
    first.run(q.size)
    others = {
        "types": dict(component_types=[tf.int32]),
        "count": dict(component_types=[F, F], shapes=[[]] * 2),
        "capacity": dict(capacity=5), "shapes": dict(shapes=[[2]]),
        "FIFOQueue": dict(kind="FIFOQueue", shapes=[[]])}
    others.update({kind: dict(kind=kind) for kind in KINDS if kind != q.kind})
    if q.kind == "RandomShuffleQueue":
        others.update(min=dict(min_after_dequeue=3), seed=dict(seed=4),
                      seed2=dict(seed2=4))
    out = {key: told(second, q.make(**changed).op)
           for key, changed in others.items()}
    q.fill(second, 1)
    out["size"] = told(first, q.size)
    return out


def taken_in_part(q, first, second, end):
    """Elements that first has of the three it wants when end() ends it are
    back: TensorFlow loses them."""
    kept = 2 if q.kind == "RandomShuffleQueue" else 0
    waits = Waiting(first, q.three)
    there = list(range(1, kept + 3))
    q.fill(second, *there)
    if q.kind != "PriorityQueue":  # which hands out all at once
        q.wait_size(second, kept)
    end()
    assert waits.end().error is not None
    q.wait_size(second, len(there))
    second.run(q.close)
    rest = second.run(q.rest)[-1]
    assert sorted(np.max(rest, -1) if q.padded else rest) == there, rest
    return waits.error


@test(tfd_only=True, **PAIR)
def a_waiting_client_that_leaves_takes_nothing(cluster):
    for kind in KINDS:
        with two_sessions(cluster) as (first, second):
            q = Queue(kind, "V2", PS, "left")
            error = taken_in_part(q, first, second, first.close)
            assert isinstance(error, tf.errors.CancelledError), error


@test(tfd_only=True, **PAIR)
def a_waiting_client_that_is_late_takes_nothing(cluster):
    for kind in KINDS:
        with two_sessions(cluster) as (first, second):
            q = Queue(kind, "V2", PS, "late")
            q.fill(first, 1, 2)
            late = told(second, q.three, None, SOON)
            assert late == "DeadlineExceededError", late
            q.wait_size(first, 2)
            first.run(q.close)
            rest = told(second, q.rest)[-1]
            assert len(rest) == 2, rest
