"""Staging areas whose tuples have keys: parts, blocking, limits, mistakes."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.stage import numbered
from tests.conformance.cases.state.waiting import told, Waiting
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops
F, S = tf.float32, tf.string
NAMES = " ".join(kind + op for kind in ("Map", "OrderedMap") for op in (
    "Stage Peek Unstage UnstageNoKey Size IncompleteSize Clear".split()))


def number(value, dtype):
    return hidden(np.array(value, dtype))


class Area:
    def __init__(self, session, kind, name, types=(F, S), **options):
        self.session, self.types = session, list(types)
        self.kind, self.options = kind, dict(options, shared_name=kind + name)

    def op(self, name, types=None, **inputs):
        return getattr(raw, self.kind + name)(
            dtypes=self.types if types is None else types,
            **dict(self.options, **inputs))

    def putting(self, key, indices, *values, **options):
        return self.op("Stage", key=number(key, np.int64), indices=number(
            indices, np.int32), values=list(values), **options)

    def put(self, *args, **options):
        return told(self.session, self.putting(*args, **options))

    def taking(self, op, indices, types=None, key=None):
        if key is not None:
            return self.op(op, types, key=number(key, np.int64),
                           indices=number(indices, np.int32))
        return self.op(op, types, indices=number(indices, np.int32))

    def peek(self, key, indices=(0, 1), types=None):
        return told(self.session, self.taking("Peek", indices, types, key))

    def get(self, key, indices=(0, 1), types=None):
        return told(self.session, self.taking("Unstage", indices, types, key))

    def any(self, indices=(0, 1), types=None):
        found = told(self.session, self.taking("UnstageNoKey", indices, types))
        return found if isinstance(found, str) else list(found)

    def sizes(self):
        return told(self.session, [self.op("Size"), self.op("IncompleteSize")])

    def clear(self):
        return told(self.session, self.op("Clear"))


def both(name, out, story, **options):
    """Adds the story's answers of either kind; story(area) gives them."""
    def run(session):
        for kind in ("Map", "OrderedMap"):
            out.extend(story(Area(session, kind, name, **options)))
    return run


def told_by(side, *stories, **options):
    out = []
    with side.session() as session:
        for i, story in enumerate(stories):
            both("%s %d" % (story.__name__, i), out, story,
                 **options)(session)
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def maps_of_every_type(side):
    out = []
    with side.session() as session:
        for dtype in (F, tf.int8, tf.string):
            def story(a):
                return [a.put(5, (0, 1), sample(dtype, (2,)), "x"),
                        a.put([-6], (0,), sample(dtype, (3,))), a.sizes(),
                        a.put(-6, (1,), "y"), a.sizes(), a.peek(-6), a.any()
                        if a.kind == "OrderedMap" else a.get(-6),
                        a.get(5, (1,), [S]), a.sizes(), a.any((0,), [dtype]),
                        a.sizes()]
            both("of " + dtype.name, out, story, types=(dtype, S))(session)
    return numbered(out)


def keys(a):
    """In the order of the keys where there is one."""
    found = [a.put(key, (0, 1), float(key), "v%d" % key)
             for key in (7, -3, 12, 5)]
    if a.kind == "OrderedMap":
        found += [a.any(), a.any(), a.any((1,), [S]), a.peek(7),
                  a.get(7, (0,), [F]), a.any(), a.sizes()]
    else:
        found += [a.get(key) for key in (12, -3, 7, 5)]
    return found + [a.sizes()]


def again(a):
    """The older tuple of a key stays."""
    return [a.put(1, (0, 1), 1.0, "a"), a.put(1, (0, 1), 2.0, "b"), a.get(1),
            a.sizes()]


def cleared(a):
    return [a.put(1, (0, 1), 1.0, "a"), a.put(2, (0,), 1.0), a.sizes(),
            a.clear(), a.sizes(), a.put(2, (1,), "x"), a.sizes()]


@scenario(NAMES, tol=0)
@fresh_graph
def maps_by_key(side):
    return told_by(side, keys, again, cleared)


def wrong_parts(a):
    return [a.put(1, (1, 0), "x", 1.0), a.put(1, (0, 0), 1.0, 2.0),
            a.put(1, (1,), "x"), a.put(1, (1,), "x"), a.put(1, (2,), "x"),
            a.put(1, (-1,), "x"), a.put(2, (2,), "x"), a.put([1, 2], (0,), 1.0),
            a.put([], (0,), 1.0), a.sizes(), a.put(1, (0,), 1.0), a.get(1), a.sizes()]


def wrong_wishes(a):
    return [a.put(1, (0, 1), 1.0, "x"), a.peek(1, (1, 0)), a.peek(1, (0, 0)),
            a.peek(1, (2,), [S]), a.peek(1, (-1,), [S]), a.peek(1, (), [F]),
            a.peek([1]), a.peek([1, 2]), a.get(1, (5,), [F]), a.peek(1, (0,)).split(":")[0],
            a.peek(1, (0,), [S]).split(":")[0], a.sizes(),
            a.get(1, (0,), [F]), a.peek(1), a.get(1, (1,), [S]),
            a.sizes()]


def no_types(a):
    none = Area(a.session, a.kind, "none", ())
    return [none.sizes(), none.put(1, (0, 1), 1.0, "x"), none.sizes()]


@scenario(NAMES, tol=0)
@fresh_graph
def mistakes_with_maps(side):
    return told_by(side, wrong_parts, wrong_wishes, no_types)


def waits(a):
    peeking = Waiting(a.session, a.taking("Peek", (0, 1), key=4))
    found = [a.put(4, (1,), "four"), a.put(6, (0, 1), 6.0, "six"),
             a.put(4, (0,), 4.0), peeking.result(), a.get(4)]
    getting = Waiting(a.session, a.taking("Unstage", (1,), [S], 5))
    found += [a.put(5, (0, 1), 5.0, "five"), getting.result(), a.get(6),
              a.get(5, (0,), [F])]
    taking = Waiting(a.session, a.taking("UnstageNoKey", (0, 1)))
    a.put(8, (0, 1), 8.0, "eight")
    value = taking.result()
    return found + [value if isinstance(value, str) else list(value), a.sizes()]


@scenario(NAMES, tol=0)
@fresh_graph
def who_wants_a_key_waits_for_it(side):
    return told_by(side, waits)


def full(a):
    found = [a.put(1, (0, 1), 1.0, "x"), a.put(2, (0,), 2.0), a.sizes()]
    waiting = Waiting(a.session, a.putting(3, (0, 1), 3.0, "z"))
    found += [a.get(1), waiting.result(), a.sizes()]
    return found + [a.put(2, (1,), "y"), a.sizes(), a.get(3), a.get(2)]


def heavy(a):
    """Only the last tensor counts."""
    a = Area(a.session, a.kind, "heavy", memory_limit=30)
    return [a.put(1, (0, 1), [1.0] * 10, "x"), a.sizes(),
            a.put(2, (0,), [1.0] * 10), a.put(2, (0, 1), 1.0, "1234567"),
            a.sizes(), a.get(1), a.sizes()]


@scenario(NAMES, tol=0)
@fresh_graph
def maps_hold_no_more_than_they_may(side):
    return told_by(side, full, heavy, capacity=1)
