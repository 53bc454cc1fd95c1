"""Staging areas: order, blocking, limits, wrong tuples.

In TensorFlow whatever waits holds a thread, so only one does at a time."""
from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import told, TYPES, until, Waiting
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops
F = tf.float32
NAMES = "Stage Unstage StagePeek StageSize StageClear"
SIZES = (1, 2, 3)


class Area:
    """name: of all its ops, which have nothing else in common."""

    def __init__(self, session, name, types=(F,), **options):
        self.session, self.types = session, list(types)
        self.options = dict(options, shared_name=name)
        self.count = raw.StageSize(dtypes=self.types, **self.options)

    def putting(self, *values, **options):
        return raw.Stage(values=values, **dict(self.options, **options))

    def put(self, *values, **options):
        return told(self.session, self.putting(*values, **options))

    def getting(self, types=None):
        return raw.Unstage(dtypes=types or self.types, **self.options)

    def get(self, types=None):
        return told(self.session, self.getting(types))

    def peeking(self, index, types=None):
        return raw.StagePeek(index=hidden(index), dtypes=types or self.types,
                             **self.options)

    def peek(self, index, types=None):
        return told(self.session, self.peeking(index, types))

    def size(self):
        return told(self.session, self.count)

    def clear(self):
        return told(self.session, raw.StageClear(dtypes=self.types,
                                                 **self.options))


def numbered(values):
    return {"%02d %02d" % (i, j): part for i, value in enumerate(values)
            for j, part in enumerate(tf.nest.flatten(value))}


@scenario(NAMES, tol=0)
@fresh_graph
def areas_of_every_type(side):
    out = []
    with side.session() as session:
        for dtype in TYPES[::4]:
            a = Area(session, "of " + dtype.name, (dtype, tf.string))
            for n in SIZES:
                out.append(a.put(sample(dtype, (n,)), "part %d" % n))
            out += [a.size(), a.peek(0), a.peek(2), a.get(), a.get(),
                    a.size(), a.clear(), a.size()]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def an_area_holds_no_more_than_it_may(side):
    out = []
    with side.session() as session:
        for i, limit in enumerate((dict(capacity=1), dict(memory_limit=8))):
            a = Area(session, "full %d" % i, **limit)
            out.append(a.put([1., 2.]))
            waiting = Waiting(session, a.putting([3., 4.]))
            out += [a.get(), waiting.result(), a.size()]
            waiting = Waiting(session, a.putting([5.]))
            out += [a.clear(), waiting.result(), a.get(), a.size()]
        small = Area(session, "small", memory_limit=9)
        out += [small.put([1., 2., 3.]), small.put("x"), small.size()]
        text = Area(session, "text", (tf.string,), memory_limit=27)
        out += [text.put("abc"), text.put("abcd"), text.get()]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def who_takes_waits_for_a_tuple(side):
    with side.session() as session:
        a = Area(session, "empty")
        out = []
        for i in (0, 1):
            peeking = Waiting(session, a.peeking(i))
            out += [a.put([float(i)]), peeking.result()]
        out += [a.get(), a.get()]
        taking = Waiting(session, a.getting())
        a.put([3.])
        out.append(taking.result())
        until(session, a.count, 0)
        return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def wrong_tuples(side):
    with side.session() as session:
        a = Area(session, "wrong", (F, tf.string))
        for n in SIZES:
            a.put(float(n), "x")
        # The text of a wrong type is the executor's.
        return numbered([
            a.peek(0, [F]), a.peek(0, [F, tf.string, F]),
            a.peek(0, [F, F]).split(":")[0], a.peek([0]), a.size(),
            a.get([F]), a.size(), a.get([tf.string, tf.string]).split(":")[0],
            a.size(), a.get(), Area(session, "_wrong").size()])


@scenario(NAMES, tol=0)
@fresh_graph
def areas_go_by_the_names_of_their_nodes(side):
    with side.session() as session:
        put = raw.Stage(values=[1.0], name="area")
        mine = put.name
        session.run(put)
        sizes = [raw.StageSize(dtypes=[F], shared_name=name)
                 for name in (mine, mine + "_1")]
        return numbered(session.run(sizes))
