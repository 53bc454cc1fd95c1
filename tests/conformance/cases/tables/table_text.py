"""Cases of kernels/tables/table_text.c: files by line, column and number."""
import os

from tests.cluster.client import tf
from tests.conformance.cases.tables.lookup import (
    B, D, F, I, L, numbered, S, said, Table)
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

WHOLE, NUMBER = -2, -1
PAIRS = "a,1\nb,2\n"
CASES = [
    (S, L, "red\ngreen\nblue\n", WHOLE, NUMBER, {}),
    (S, L, "red\ngreen", WHOLE, NUMBER, {}),
    (S, L, "r\red\r\ngreen\r\n", WHOLE, NUMBER, {}),
    (L, S, "red\ngreen\nblue\n", NUMBER, WHOLE, {}),
    (S, L, "a\t1\nb\t-2\n", 0, 1, {}),
    (S, F, "a,1.5\nb, 2 \n", 0, 1, {"delimiter": ","}),
    (S, D, "a,1.5\nb,2e3\n", 0, 1, {"delimiter": ","}),
    (S, I, PAIRS, 0, 1, {"delimiter": ","}),
    (S, S, PAIRS, 1, 0, {"delimiter": ","}),
    (S, S, PAIRS, WHOLE, WHOLE, {"delimiter": ","}),
    (L, S, "1,u\n2,v\n", 0, 1, {"delimiter": ","}),
    (L, L, "1\n", WHOLE, NUMBER, {}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"vocab_size": 2}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"vocab_size": 3}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"offset": 5}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"offset": -1, "vocab_size": 2}),
    # What is refused.
    (S, L, "a,1\nb,x\n", 0, 1, {"delimiter": ","}),
    (S, F, "a,1\nb,1.5x\n", 0, 1, {"delimiter": ","}),
    (S, I, "a,1\nb,99999999999\n", 0, 1, {"delimiter": ","}),
    (S, B, PAIRS, 0, 1, {"delimiter": ","}),
    (S, L, "a,1\nb\n", 0, 1, {"delimiter": ","}),
    (S, L, "a\na\n", WHOLE, NUMBER, {}),
    (S, L, "a\n\nb\n", WHOLE, NUMBER, {}),
    (S, L, "a\n\n", WHOLE, NUMBER, {}),
    (S, L, "", WHOLE, NUMBER, {}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"vocab_size": 5}),
    (S, L, "a\nb\nc\n", WHOLE, NUMBER, {"vocab_size": 0}),
    (S, L, PAIRS, 0, 1, {"delimiter": "ab"}),
    (S, L, PAIRS, 0, 1, {"delimiter": ""}),
    (S, S, PAIRS, WHOLE, NUMBER, {}),
    (S, F, PAIRS, WHOLE, NUMBER, {}),
    (S, L, PAIRS, NUMBER, WHOLE, {}),
    (I, S, PAIRS, NUMBER, WHOLE, {}),
]


def read(table, side, name, key_index, value_index, **attributes):
    path = hidden(name) if isinstance(name, list) else side.path(name)
    op = "InitializeTableFromTextFile" + table.v
    found = said(table.session, getattr(tf.raw_ops, op)(
        table_handle=table.handle, filename=path, key_index=key_index,
        value_index=value_index, **attributes))
    return found.replace(side.folder, "") if isinstance(found, str) else found


def write(side, name, text):
    with open(side.path(name), "w", newline="") as file:
        file.write(text)


@scenario("InitializeTableFromTextFileV2 InitializeTableFromTextFile", tol=0)
@fresh_graph
def tables_from_files(side):
    out = []
    with side.session() as session:
        for i, (key, value, text, *index, attributes) in enumerate(CASES):
            name = "words%d" % i
            write(side, name, text)
            for old in (False, True):
                t = Table(session, "HashTable", old, key_dtype=key,
                          value_dtype=value)
                out += [read(t, side, name, *index, **attributes),
                        t.size(), t.all(key, value)]
            os.remove(side.path(name))
    return numbered(out)


@scenario("InitializeTableFromTextFileV2", tol=0)
@fresh_graph
def files_that_are_wrong(side):
    write(side, "one", "a\nb\n")
    write(side, "two", "a\nb\nc\n")
    with side.session() as session:
        t = Table(session, "HashTable", key_dtype=S, value_dtype=L)
        m = Table(session, "MutableHashTable", key_dtype=S, value_dtype=L)
        return numbered([
            read(t, side, "none", WHOLE, NUMBER),
            read(t, side, [side.path("one")] * 2, WHOLE, NUMBER),
            read(m, side, "one", WHOLE, NUMBER),
            read(t, side, "one", WHOLE, NUMBER), t.size(),
            read(t, side, "one", WHOLE, NUMBER),
            read(t, side, "two", WHOLE, NUMBER), t.size()])
