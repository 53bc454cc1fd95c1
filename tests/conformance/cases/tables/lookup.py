"""Cases of kernels/tables/lookup.c: tables filled, read, changed, taken out."""
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

raw = tf.raw_ops
S, I, L, F, D, B = (tf.string, tf.int32, tf.int64, tf.float32, tf.float64,
                    tf.bool)
STATIC = ([(S, v) for v in (S, L, I, F, D, B)] +
          [(L, v) for v in (S, L, I, F, D)] + [(I, v) for v in (S, I, F, D)])
MUTABLE = [(S, L), (S, I), (S, F), (S, D), (S, B), (L, S), (L, L), (L, I),
           (L, F), (L, D), (I, I), (I, F), (I, D)]
OPS = ("LookupTableFind LookupTableSize LookupTableExport LookupTableInsert "
       "LookupTableImport InitializeTable")
V2 = " ".join(op + "V2" for op in OPS.split()) + " LookupTableRemoveV2"


def said(session, fetch):
    """told(), without the container and the number of a table's own name."""
    found = told(session, fetch)
    return re.sub(r"Table \w+ _\d+_", "Table ", found) if isinstance(
        found, str) else found


class Table:
    """A table of a session, by handle or (old) by reference."""

    def __init__(self, session, make, old=False, **attributes):
        self.session, self.v = session, "" if old else "V2"
        self.handle = getattr(raw, make + ("" if old or "Anon" in make else "V2"))(
            **attributes)

    def op(self, name, **inputs):
        inputs = {key: value if isinstance(value, (list, tf.DType))
                  else hidden(value) for key, value in inputs.items()}
        return getattr(raw, name + self.v)(table_handle=self.handle, **inputs)

    def told(self, name, **inputs):
        return said(self.session, self.op(name, **inputs))

    def fill(self, keys, values, name="LookupTableImport"):
        return self.told(name, keys=keys, values=values)

    def find(self, keys, default):
        return self.told("LookupTableFind", keys=keys, default_value=default)

    def size(self):
        return self.told("LookupTableSize")

    def remove(self, keys):
        return self.told("LookupTableRemove", keys=keys)

    def all(self, keys, values):
        """Keys in their order, as TensorFlow's is no order."""
        found = self.told("LookupTableExport", Tkeys=keys, Tvalues=values)
        if isinstance(found, str):
            return found
        order = np.argsort(found[0])
        return [found[0][order], found[1][order]]


def numbered(values):
    return {"%02d %02d" % (i, j): part for i, value in enumerate(values)
            for j, part in enumerate(tf.nest.flatten(value))}


def some(dtype, n, start=1):
    numbers = np.arange(start, start + n)
    if dtype == S:
        return np.array([b"item %d" % i * (1 + i % 3) for i in numbers],
                        object)
    return (numbers % 2 if dtype == B else numbers * 3).astype(
        dtype.as_numpy_dtype)


def texts(*values):
    return np.array(values, object)


def longs(*values):
    return np.array(values, np.int64)


@scenario("HashTableV2 AnonymousHashTable " + V2, tol=0)
@fresh_graph
def static_tables_of_every_type(side):
    out = []
    with side.session() as session:
        for key, value in STATIC:
            t = Table(session, "HashTable", key_dtype=key, value_dtype=value)
            keys, values, other = some(key, 9), some(value, 9), some(value, 1)[0]
            out += [t.size(), t.fill(keys[:6], values[:6]), t.size(),
                    t.find(keys, other), t.find(keys.reshape(3, 1, 3), other),
                    t.find(keys[0], other), t.find(keys[:0], other),
                    t.find(np.reshape(keys[:0], (2, 0, 1)), other),
                    t.all(key, value)]
    return numbered(out)


@scenario("HashTable MutableHashTable MutableHashTableOfTensors " + OPS, tol=0)
@fresh_graph
def old_tables_by_reference(side):
    out = []
    with side.session() as session:
        for name in ("LookupTableImport", "InitializeTable"):
            t = Table(session, "HashTable", True, key_dtype=S, value_dtype=L)
            out += [t.find(texts(b"a"), np.int64(4)), t.size(),
                    t.fill(texts(b"a", b"b"), longs(1, 2), name), t.size(),
                    t.find(texts(b"a", b"c"), np.int64(-1)), t.all(S, L),
                    t.fill(longs(1), longs(1), name),
                    t.fill(texts(b"a"), longs(1), name),
                    t.fill(texts(b"a", b"b", b"c"), longs(1), name)]
        t = Table(session, "MutableHashTable", True, key_dtype=L, value_dtype=F)
        out += [t.fill(longs(1, 2), np.float32([.5, 1]), "LookupTableInsert"),
                t.find(longs(1, 3), np.float32(7)), t.all(L, F),
                t.fill(longs(1), np.float32([.5]), "InitializeTable")]
        t = Table(session, "MutableHashTableOfTensors", True, key_dtype=L,
                  value_dtype=F, value_shape=[2])
        pairs = np.float32([[1, 2], [3, 4]])
        out += [t.fill(longs(1, 2), pairs, "LookupTableInsert"), t.size(),
                t.find(longs(2, 5), pairs[0]), t.all(L, F),
                t.fill(longs(1), pairs[:, 0], "LookupTableInsert"),
                t.find(longs(2), np.float32(1))]
    return numbered(out)


@scenario("HashTableV2 LookupTableImportV2 InitializeTableV2", tol=0)
@fresh_graph
def static_tables_are_filled_once(side):
    out = []
    with side.session() as session:
        for name in ("LookupTableImport", "InitializeTable"):
            def made(key=L, value=L):
                return Table(session, "HashTable", key_dtype=key,
                             value_dtype=value)
            for value, first, second in ((L, 2, 3), (S, b"x", b"y"),
                                         (F, 1.5, 1e-10), (D, 1 / 3, 1e100),
                                         (I, -5, 7), ):
                t = made(value=value)
                kind = object if value == S else value.as_numpy_dtype
                out += [t.fill(longs(1, 8, 1), np.array(
                    [first, first, second], kind), name), t.size(),
                    t.fill(longs(5), np.array([second], kind), name),
                    t.size(), t.find(longs(1, 5, 8, 9),
                                     np.array(second, kind))]
            t = made(S, B)
            out += [t.fill(texts(b"k", b"k"), np.array([True, False]), name)]
            t = made()
            out += [t.fill(longs(1, 1), longs(2, 2), name), t.size(),
                    t.fill(longs(1, 1), longs(2, 2), name)]
            t = made()
            out += [t.fill(longs(1, 2), longs(3, 4), name),
                    t.fill(longs(2, 1), longs(4, 3), name),
                    t.fill(longs(1, 2), longs(3, 5), name),
                    t.fill(longs(1), longs(3), name),
                    t.fill(longs(1, 2, 9), longs(3, 4, 5), name),
                    t.fill(longs(), longs(), name), t.all(L, L)]
            t = made()
            out += [t.fill(longs(), longs(), name),
                    t.fill(longs(1, 2), longs(2), name),
                    t.fill(longs(1, 2), longs(2, 3).reshape(1, 2), name),
                    t.fill(longs(1, 2).reshape(2, 1),
                           longs(2, 3).reshape(2, 1), name),
                    t.fill(np.int64(77), np.int64(78), name), t.size()]
    return numbered(out)


@scenario("HashTableV2 " + V2, tol=0)
@fresh_graph
def wrong_uses_of_static_tables(side):
    out = []
    with side.session() as session:
        t = Table(session, "HashTable", key_dtype=S, value_dtype=L)
        out += [t.find(texts(b"a"), np.int64(1)), t.all(S, L),
                t.find(texts(b"a"), longs(1, 2))]
        t.fill(texts(b"a", b"b"), longs(1, 2))
        out += [t.find(texts(b"a", b"z"), longs(5, 6)),
                t.find(texts(b"a", b"z"), longs(5)),
                t.find(texts(b"a", b"z"), longs(5, 6).reshape(1, 2)),
                t.find(longs(1), np.int64(1)),
                t.find(texts(b"a"), np.int32(1)),
                t.find(texts(b"a"), texts(b"b")),
                t.fill(texts(b"c"), longs(1), "LookupTableInsert"),
                t.fill(texts(b"c"), longs(1, 2), "LookupTableInsert"),
                t.remove(texts(b"a")), t.remove(longs(1)),
                t.fill(longs(1), longs(1)), t.fill(texts(b"c"), texts(b"c")),
                t.size()]
    return numbered(out)


@scenario("MutableHashTableV2 " + V2, tol=0)
@fresh_graph
def mutable_tables_of_every_type(side):
    out = []
    with side.session() as session:
        for key, value in MUTABLE:
            t = Table(session, "MutableHashTable", key_dtype=key,
                      value_dtype=value)
            keys, values = some(key, 40), some(value, 40)
            put = "LookupTableInsert"
            out += [t.size(), t.find(keys[:3], values[0]),
                    t.find(keys[:3], values[1:4]), t.all(key, value),
                    t.fill(keys, values, put), t.size(), t.all(key, value),
                    t.fill(keys[5:9], values[15:19], put),
                    t.fill(keys[0], values[7], put),
                    t.find(keys[:10].reshape(5, 2), values[0]),
                    t.remove(keys[3:30:2]), t.remove(keys[3]), t.size(),
                    t.find(keys, values[1]), t.all(key, value),
                    t.fill(keys[2:20], values[2:20], put), t.all(key, value),
                    t.fill(keys[20:22], values[20:22]), t.all(key, value),
                    t.remove(keys), t.size(), t.fill(keys[:0], values[:0]),
                    t.all(key, value)]
    return numbered(out)


@scenario("MutableHashTableV2 " + V2, tol=0)
@fresh_graph
def wrong_uses_of_mutable_tables(side):
    put = "LookupTableInsert"
    with side.session() as session:
        t = Table(session, "MutableHashTable", key_dtype=L, value_dtype=S)
        return numbered([
            t.fill(longs(1, 2, 1), texts(b"a", b"b", b"c"), put), t.all(L, S),
            t.fill(longs(1, 2), texts(b"a"), put),
            t.fill(longs(1, 2), texts(b"a", b"b").reshape(2, 1), put),
            t.fill(longs(1), longs(1), put),
            t.fill(texts(b"a"), texts(b"a"), put),
            t.fill(longs(1, 2), texts(b"a")), t.remove(texts(b"a")),
            t.find(longs(1, 2), texts(b"d")),
            t.size()])


@scenario("MutableHashTableOfTensorsV2 " + V2, tol=0)
@fresh_graph
def tables_of_vectors(side):
    out, put = [], "LookupTableInsert"
    with side.session() as session:
        for key, value in MUTABLE:
            t = Table(session, "MutableHashTableOfTensors", key_dtype=key,
                      value_dtype=value, value_shape=[2])
            keys, values = some(key, 20), some(value, 40).reshape(20, 2)
            out += [t.find(keys[:3], values[0]), t.find(keys[:3], values[:3]),
                    t.find(keys[:0], values[0]), t.find(keys[:3], values[0][0]),
                    t.fill(keys, values, put), t.all(key, value), t.size(),
                    t.fill(keys[:2], values[:2, :1], put),
                    t.fill(keys[:2], values[:2, 0], put),
                    t.remove(keys[:17:2]), t.all(key, value),
                    t.find(keys[:6].reshape(2, 1, 3), values[1]),
                    t.fill(keys[:2], values[:2]), t.all(key, value)]
        t = Table(session, "MutableHashTableOfTensors", key_dtype=L,
                  value_dtype=F, value_shape=[0])
        none = np.zeros((3, 0), np.float32)
        out += [t.fill(longs(1, 2, 3), none, put), t.size(),
                t.find(longs(1, 9), none[0]), t.remove(longs(1)), t.all(L, F)]
    return numbered(out)
