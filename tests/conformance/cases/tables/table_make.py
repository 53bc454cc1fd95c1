"""Cases of kernels/tables/table_make.c: tables by name, and without one."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.tables.lookup import (
    F, I, L, longs, numbered, raw, S, Table, texts)
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

NAMES = "HashTableV2 MutableHashTableV2 MutableHashTableOfTensorsV2"


@scenario(NAMES + " HashTable", tol=0)
@fresh_graph
def tables_are_shared_by_name(side):
    name = tf.get_default_graph().get_name_scope()
    types = {"key_dtype": S, "value_dtype": L}
    with side.session() as session:
        def named(make, old=False, shared_name=name, **attributes):
            return Table(session, make, old, shared_name=shared_name,
                         **attributes)
        one = named("HashTable", **types)
        out = [one.fill(texts(b"a"), longs(1)),
               named("HashTable", **types).find(texts(b"a", b"b"),
                                                np.int64(9)),
               named("HashTable", True, **types).size(),
               named("MutableHashTable", **types).size(),
               named("MutableHashTable", **types).fill(
                   texts(b"b"), longs(1), "LookupTableInsert"),
               named("HashTable", key_dtype=L, value_dtype=S).size(),
               named("MutableHashTable", key_dtype=S, value_dtype=F).size(),
               named("HashTable", shared_name="_" + name, **types).size()]
        alone = Table(session, "HashTable", **types)
        out += [alone.fill(texts(b"x", b"y"), longs(1, 2)), alone.size(),
                Table(session, "HashTable", **types).size()]
        node = Table(session, "HashTable", use_node_name_sharing=True, **types)
        out += [node.fill(texts(b"x", b"y"), longs(1, 2)), node.size(),
                named("HashTable", shared_name=node.handle.op.name,
                      **types).size()]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def shapes_of_values_are_vectors(side):
    with side.session() as session:
        return numbered([
            Table(session, "MutableHashTableOfTensors", key_dtype=L,
                  value_dtype=I, value_shape=shape).size()
            for shape in ([3], [], [2, 2], [None], [1, 0])])


@scenario("AnonymousHashTable AnonymousMutableHashTable "
          "AnonymousMutableHashTableOfTensors", tol=0)
@fresh_graph
def tables_without_a_name(side):
    """Each step makes its own."""
    out = []
    with side.session() as session:
        for op, extra, values, default in (
                (raw.AnonymousHashTable, {}, longs(4, 5), np.int64(0)),
                (raw.AnonymousMutableHashTable, {}, longs(4, 5), np.int64(0)),
                (raw.AnonymousMutableHashTableOfTensors, {"value_shape": [2]},
                 longs(4, 5, 6, 7).reshape(2, 2), longs(0, 1))):
            handle = op(key_dtype=S, value_dtype=L, **extra)
            filled = raw.LookupTableImportV2(
                table_handle=handle, keys=["a", "b"], values=values)
            with tf.control_dependencies([filled]):
                found = raw.LookupTableFindV2(
                    table_handle=handle, keys=["b", "c"],
                    default_value=default)
            out += [told(session, found), told(session, found),
                    told(session, raw.LookupTableSizeV2(table_handle=handle))]
    return numbered(out)
