"""Cases of kernels/tables/dense_make.c and table_dense.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.tables.lookup import (
    B, D, F, I, L, longs, numbered, raw, S, said, some, Table, texts)
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

TYPES = ([(S, v) for v in (L, I, F, D, B)] + [(L, v) for v in (L, I, F, D, B)] +
         [(I, v) for v in (I, F, D)])
OPS = ("MutableDenseHashTableV2 LookupTableFindV2 LookupTableSizeV2 "
       "LookupTableExportV2 LookupTableInsertV2 LookupTableImportV2 "
       "LookupTableRemoveV2")
PUT = "LookupTableInsert"


class Dense(Table):
    """By a handle whose types the client's own checks cannot see."""

    def __init__(self, session, empty, deleted, value_dtype=L, buckets=8,
                 key_dtype=L, make=raw.MutableDenseHashTableV2, **attributes):
        kind = object if key_dtype == S else key_dtype.as_numpy_dtype
        self.session, self.v = session, "V2"
        self.handle = tf.placeholder_with_default(make(
            empty_key=hidden(np.array(empty, kind)),
            deleted_key=hidden(np.array(deleted, kind)),
            value_dtype=value_dtype, initial_num_buckets=buckets,
            **attributes), None)

    def buckets(self, keys=L, values=L):
        """In their order, which is part of what is saved."""
        return self.told("LookupTableExport", Tkeys=keys, Tvalues=values)


def unused(key):
    return (b"", b"-") if key == S else (-1, -2)


@scenario(OPS, tol=0)
@fresh_graph
def dense_tables_of_every_type(side):
    out = []
    with side.session() as session:
        for key, value in TYPES:
            t = Dense(session, *unused(key), value_dtype=value, key_dtype=key)
            keys, values, other = some(key, 40), some(value, 40), some(value, 1)
            out += [t.size(), t.buckets(key, value), t.fill(keys, values, PUT),
                    t.size(), t.buckets(key, value),
                    t.fill(keys[5:9], values[15:19], PUT),
                    t.fill(keys[0], values[7], PUT),
                    t.find(keys[:10], other[0]), t.find(keys[3], other[0]),
                    t.find(keys[:10].reshape(10, 1), other[0]),
                    t.remove(keys[3:30:2]), t.size(), t.buckets(key, value),
                    t.find(keys, other[0]), t.find(keys[:0], other[0]),
                    t.fill(keys[2:20], values[2:20], PUT),
                    t.buckets(key, value), t.remove(keys), t.size()]
    return numbered(out)


@scenario(OPS, tol=0)
@fresh_graph
def buckets_of_dense_tables(side):
    out = []
    with side.session() as session:
        t = Dense(session, -1, -2)
        out += [t.fill(longs(1, 9, 17, 2), longs(1, 2, 3, 4), PUT), t.buckets(),
                t.remove(longs(9, 77)), t.buckets(), t.size(),
                # It takes the freed bucket, and is there twice.
                t.fill(longs(17), longs(5), PUT), t.buckets(), t.size(),
                t.find(longs(17, 9), np.int64(0)),
                t.fill(longs(25, 33, 41), longs(6, 7, 8), PUT), t.buckets()]
        found = t.buckets()
        other = Dense(session, -1, -2)
        out += [other.fill(found[0], found[1]), other.size(), other.buckets(),
                other.find(longs(17, 25, 9), np.int64(0)),
                other.fill(longs(*range(50)), longs(*range(50)), PUT),
                other.buckets()]
        for factor in (0.01, 0.5, 0.99):
            t = Dense(session, -1, -2, max_load_factor=factor)
            out += [t.fill(longs(i), longs(i), PUT) for i in range(7)]
            out += [t.buckets()]
        t = Dense(session, -1, -2, max_load_factor=0.99)
        out += [t.fill(longs(3, 3, 3), longs(1, 2, 3), PUT), t.buckets(),
                t.fill(longs(), longs(), PUT), t.remove(longs())]
    return numbered(out)


@scenario(OPS, tol=0)
@fresh_graph
def dense_tables_of_vectors(side):
    pairs, rows = longs(1, 2, 3, 4, 5, 6).reshape(3, 2), np.float32(
        [[1, 2], [3, 4], [5, 6]])
    names = np.array([[b"a", b"bb"], [b"", b"c"], [b"dd", b"e"]], object)
    out = []
    with side.session() as session:
        t = Dense(session, -1, -2, value_dtype=F, value_shape=[2])
        out += [t.fill(longs(1, 2, 3), rows, PUT), t.buckets(L, F),
                t.find(longs(2, 9), rows[2]), t.find(longs(9, 2), rows[1:]),
                t.find(longs(9), np.float32(1)),
                t.fill(longs(1, 2), rows[0], PUT),
                t.fill(longs(1, 2), rows[:, :1], PUT)]
        t = Dense(session, [-1, -1], [-2, -2])
        out += [t.fill(pairs, longs(7, 8, 9), PUT), t.buckets(), t.size(),
                t.find(pairs[1:], np.int64(0)), t.find(pairs[0], np.int64(0)),
                t.find(longs(1, 2, 9), np.int64(0)),
                t.find(pairs.reshape(1, 3, 2), np.int64(0)),
                t.fill(pairs, longs(7), PUT), t.fill(pairs[0], longs(7), PUT),
                t.fill(pairs[0], np.int64(7), PUT),
                t.fill(longs(-1, -1, 1, 1).reshape(2, 2), longs(1, 2), PUT),
                t.fill(longs(-1, -2).reshape(1, 2), longs(3), PUT),
                t.remove(pairs[1:2]), t.remove(longs(1, 2, 3)), t.buckets()]
        t = Dense(session, [b"", b""], [b"-", b"-"], key_dtype=S, buckets=4)
        out += [t.fill(names, longs(1, 2, 3), PUT), t.buckets(S, L),
                t.find(names[::-1], np.int64(0)), t.remove(names[:1]),
                t.buckets(S, L)]
        t = Dense(session, -1, -2, value_shape=[0])
        out += [t.fill(longs(1, 2), np.zeros((2, 0), np.int64), PUT), t.size(),
                t.find(longs(1), np.zeros(0, np.int64)), t.buckets()]
    return numbered(out)


@scenario(OPS, tol=0)
@fresh_graph
def wrong_uses_of_dense_tables(side):
    out = []
    with side.session() as session:
        for more in ([dict(buckets=n) for n in (-4, 0, 1, 2, 3, 4, 7, 12)] +
                     [dict(max_load_factor=f) for f in (-1, 0, 1, 2)] +
                     [dict(value_shape=s) for s in ([2, 2], [None], None)] +
                     [dict(deleted=-1), dict(deleted=[-2]), dict(empty=[[1]]),
                      dict(empty=[[1]], deleted=[[2]]),
                      dict(buckets=1 << 62)]):
            out += [Dense(session, **{"empty": -1, "deleted": -2, **more}).size()]
        t = Dense(session, -1, -2)
        for key in (-1, -2):
            out += [t.fill(longs(5, key), longs(1, 2), PUT), t.size(),
                    t.remove(longs(5, key)), t.size(),
                    t.find(longs(5, key), np.int64(0))]
        out += [t.find(longs(1, 2, 3), longs(7, 8)),
                t.find(longs(1), np.int32(7)), t.find(np.int32([1]), np.int64(7)),
                t.find(longs(1, 2).reshape(1, 2), np.int64(7)),
                t.fill(longs(1, 2), longs(1), PUT),
                t.fill(longs(1), np.int32([1]), PUT),
                t.fill(longs(1, 2).reshape(1, 2), longs(3, 4).reshape(1, 2), PUT),
                t.fill(longs(1, 2), longs(3, 4)),
                t.fill(longs(), longs()), t.remove(np.int32([1])),
                t.remove(longs(1, 2).reshape(1, 2)),
                t.fill(longs(1), longs(1), "InitializeTable"),
                t.buckets(I, L), t.size(), t.buckets()]
    return numbered(out)


@scenario(OPS + " AnonymousMutableDenseHashTable MutableDenseHashTable", tol=0)
@fresh_graph
def dense_tables_by_name(side):
    name = tf.get_default_graph().get_name_scope()
    out = []
    with side.session() as session:
        one = Dense(session, -1, -2, shared_name=name)
        out += [one.fill(longs(1), longs(2), PUT),
                Dense(session, -3, -4, shared_name=name, buckets=16).buckets(),
                Dense(session, -1, -2, shared_name=name, value_dtype=F).size(),
                Dense(session, -1, -1, shared_name=name).size(),
                Table(session, "MutableHashTable", key_dtype=L, value_dtype=L,
                      shared_name=name).find(longs(1), np.int64(0)),
                Dense(session, -1, -2, use_node_name_sharing=True).size()]
        handle = raw.AnonymousMutableDenseHashTable(
            empty_key=longs(-1)[0], deleted_key=longs(-2)[0], value_dtype=L,
            initial_num_buckets=8)
        filled = raw.LookupTableInsertV2(
            table_handle=handle, keys=longs(1, 2), values=longs(3, 4))
        with tf.control_dependencies([filled]):
            found = raw.LookupTableExportV2(table_handle=handle, Tkeys=L,
                                            Tvalues=L)
        out += [told(session, found), told(
            session, raw.LookupTableSizeV2(table_handle=handle))]
        old = raw.MutableDenseHashTable(empty_key=longs(-1)[0], value_dtype=L)
        out += [said(session, raw.LookupTableSize(table_handle=old))]
    return numbered(out)


@scenario(OPS, tol=0)
@fresh_graph
def dense_tables_are_saved(side):
    """By the client's own class, as programs do it."""
    out = []
    with side.session() as session:
        def made():
            return tf.lookup.experimental.DenseHashTable(
                S, F, -1.0, "", "-", initial_num_buckets=8, checkpoint=True,
                name=tf.get_default_graph().unique_name("saved"))
        one, two = made(), made()
        filled = one.insert(tf.constant([str(i) for i in range(20)]),
                            tf.range(20, dtype=F))
        out += [told(session, filled), told(session, one.erase(tf.constant(["3", "7"]))),
                told(session, one.size())]
        both = tf.train.Saver({"table": one})
        path = told(session, tf.constant(side.path("dense")))
        both.save(session, path.decode(), write_meta_graph=False)
        tf.train.Saver({"table": two}).restore(session, path.decode())
        out += [told(session, two.size()), told(session, two.lookup(
            tf.constant(["1", "3", "19", "x"])))]
        out += [np.sort(told(session, two.export())[1].ravel())]
    return numbered(out)
