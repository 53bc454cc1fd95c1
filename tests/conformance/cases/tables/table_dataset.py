"""Cases of kernels/tables/table_dataset.c.  Elements of other types or shapes
are not among them: they make TensorFlow itself end."""
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (failing, note, numbers,
                                                    plain, raw, variant)
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

L, S = tf.int64, tf.string


def pairs(n=4):
    return numbers(n).map(lambda x: (x, tf.as_string(x * 10)))


def again(x):
    return x % 2, tf.as_string(x % 2)


def clash(x):
    return x % 2, tf.as_string(x)


def late(n):
    return plain(numbers(n).map(failing(3)).map(
        lambda x: (x, tf.as_string(x))))


def several(keys, values):
    """An element of unknown shape that has several keys."""
    return numbers(1).map(lambda x: (keys, values))


MAKERS = {
    "pairs": pairs,
    "same twice": lambda: numbers(5).map(again),
    "plain": lambda: plain(pairs()),
    "none": lambda: pairs(0),
    "clash": lambda: numbers(5).map(clash),
    "fails": lambda: late(6),
    "several": lambda: several(hidden(np.array([1, 2])),
                               hidden(np.array(["a", "b"], object))),
}


def told_of(session, table):
    keys, values = raw.LookupTableExportV2(table_handle=table, Tkeys=L,
                                           Tvalues=S)
    order = tf.argsort(keys)
    return told(session, [tf.gather(keys, order), tf.gather(values, order)])


@scenario("InitializeTableFromDataset HashTableV2 LookupTableFindV2")
@fresh_graph
def tables_of_datasets(side):
    out, made = {}, {}
    for name, make in MAKERS.items():
        table = raw.HashTableV2(key_dtype=L, value_dtype=S)
        made[name] = (
            table, raw.InitializeTableFromDataset(
                table_handle=table, dataset=variant(make())),
            raw.LookupTableFindV2(
                table_handle=table, keys=tf.range(6, dtype=L),
                default_value="?"))
    with side.session() as session:
        for name, (table, fill, find) in made.items():
            note(out, name, told(session, fill))
            note(out, name + " found", told(session, find))
            note(out, name + " again", told(session, fill))
            note(out, name + " all", told_of(session, table))
    return out


@scenario("InitializeTableFromDataset InitializeTableV2 MutableHashTableV2")
@fresh_graph
def tables_of_datasets_refused(side):
    out = {}
    full = raw.HashTableV2(key_dtype=L, value_dtype=S)
    mutable = raw.MutableHashTableV2(key_dtype=L, value_dtype=S)
    fetches = [
        ("mutable", raw.InitializeTableFromDataset(
            table_handle=mutable, dataset=variant(pairs()))),
        ("no dataset", raw.InitializeTableFromDataset(
            table_handle=full, dataset=raw.OptionalNone())),
        ("no table", raw.InitializeTableFromDataset(
            table_handle=raw.DummySeedGenerator(), dataset=variant(pairs()))),
        ("fill", raw.InitializeTableV2(
            table_handle=full, keys=tf.constant([7], L), values=["x"])),
        ("filled", raw.InitializeTableFromDataset(
            table_handle=full, dataset=variant(pairs()))),
        ("filled by none", raw.InitializeTableFromDataset(
            table_handle=full, dataset=variant(pairs(0)))),
        ("size", raw.LookupTableSizeV2(table_handle=full)),
    ]
    with side.session() as session:
        for name, fetch in fetches:
            found = told(session, fetch)
            if isinstance(found, str):  # tables are counted in each process
                found = re.sub("_[0-9]+_", "_N_", found.replace(
                    "worker", "localhost"))
                found = found.split(" using the wrong type")[0]
            note(out, name, found)
    return out
