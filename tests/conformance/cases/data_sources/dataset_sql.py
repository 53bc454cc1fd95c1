"""Cases of kernels/data_sources/dataset_sql.c."""
import os
import sqlite3

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, elements, hidden,
                                                    made)
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

ROWS = [(1, 1.5, "a", b"x\0y"), (300, -2.25, "b", b""),
        (None, None, None, None), (2**40, 1e300, "12", b"9"),
        (-70000, 2.5, "-3.7z", b"\xff\xfe")]
TYPES = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.bool,
         tf.float64, tf.string)
OVERFLOW = "abs(-9223372036854775807 - 1)"


def database(side, name="d", mode="delete"):
    path = side.path(name)
    link = sqlite3.connect(path)
    link.execute("pragma journal_mode=" + mode)
    link.execute("create table t(i integer, r real, s text, b blob)")
    link.executemany("insert into t values(?, ?, ?, ?)", ROWS)
    link.execute("create table large(i integer primary key, s text)")
    link.executemany("insert into large values(?, ?)",
                     [(i, "%d " % i * 40) for i in range(900)])
    link.execute("create table long(b blob)")
    link.execute("insert into long values(?)", (bytes(range(256)) * 4000,))
    link.commit()
    link.close()
    return path


def sql(path, query, types, driver="sqlite", shapes=None):
    return made("SqlDataset", hidden(driver), hidden(path), hidden(query),
                types=types, shapes=shapes or [[]] * len(types))


def without_folder(side, found):
    return {name: value.replace(side.path(""), "D/")
            if isinstance(value, str) else value
            for name, value in found.items()}


@scenario("SqlDataset ExperimentalSqlDataset")
@fresh_graph
def data_sql(side):
    path, logged = database(side), database(side, "logged", "wal")
    makers = {"as %s" % t.name: lambda t=t: sql(
        path, "select i, r, s, b from t", [t] * 4) for t in TYPES}
    one = [tf.int64]
    for name, query in {
            "order": "select i from t order by r desc",
            "where": "select i from t where i > 5",
            "none": "select i from t where i > 5 and i < 4",
            "count": "select count(*) from large",
            "join": "select large.i from t, large where large.i = t.i",
            "sorted": "select i from large order by s desc limit 7",
            "group": "select count(*) from large group by i % 3",
            "numbers": "with recursive n(x) as (select 1 union all select "
                       "x + 1 from n limit 6) select x from n",
            "two": "select 1; select 2", "comment": "select 1 -- one",
            "pragma": "pragma user_version",
            "columns": "select cid from pragma_table_info('t')"}.items():
        makers[name] = lambda q=query: sql(path, q, one)
    makers.update({
        "long": lambda: sql(path, "select b from long", [tf.string]),
        "second name": lambda: aliased(
            sql(path, "select i from t", one), "ExperimentalSqlDataset"),
        "with a log": lambda: sql(logged, "select i from t", one),
        "memory": lambda: sql(":memory:", "select 7", one),
        "nothing": lambda: sql("", "select 7", one),
        "uri": lambda: sql("file:%s?mode=ro" % path, "select i from t", one),
        "uri with host": lambda: sql("file://%s#x" % path, "select i from t",
                                     one),
        "uri in hex": lambda: sql("file:%s%%64" % path[:-1], "select i from t",
                                  one),
        "twice": lambda: sql(path, "select i from t", one).repeat(2).batch(3),
    })
    return elements(side, makers, limit=12, passes=2)


@scenario("SqlDataset")
@fresh_graph
def data_sql_refused(side):
    path = database(side)
    with open(path, "rb") as file:
        good = file.read()
    names = {"junk": b"junk" * 400, "empty": b"", "short": good[:50],
             "cut": good[:4096], "cut page": good[:-3000],
             "magic": b"s" + good[1:], "size": good[:16] + b"\0\7" + good[18:],
             "page": good[:4096] + b"\xff" * 4096 + good[8192:]}
    one = [tf.int64]
    makers = {name: lambda n=name, c=content: sql(
        write(side, n.replace(" ", "_"), c), "select i from t", one)
              for name, content in names.items()}
    for name, query in {
            "columns": "select i, r from t", "no query": "",
            "column": "select x from t", "word": "selec",
            "table": "select i from none", "overflow": "select " + OVERFLOW,
            "overflow later": "select i from t union all select " + OVERFLOW,
            "insert": "insert into t values(1, 2, 3, 4)",
            "attach": "attach '%s' as b" % side.path("other"),
            "vacuum": "vacuum into '%s'" % side.path("other"),
            "library": "select load_extension('x')",
            "letters": "select '\u00e9' from none"}.items():
        makers[name] = lambda q=query: sql(path, q, one)
    makers.update({
        "driver": lambda: sql(path, "select 1", one, "mysql"),
        "drivers": lambda: sql(path, "select 1", one, ["sqlite"]),
        "paths": lambda: sql([path], "select 1", one),
        "queries": lambda: sql(path, ["select 1"], one),
        "float32": lambda: sql(path, "select 1", [tf.float32]),
        "uint32": lambda: sql(path, "select 1", [tf.int64, tf.uint32]),
        "vector": lambda: sql(path, "select 1", one, shapes=[[1]]),
        "any": lambda: sql(path, "select 1", one, shapes=[None]),
        "missing": lambda: sql(side.path("missing"), "select 1 from t", one),
    })
    found = elements(side, makers, limit=9, passes=2)
    if side.target:
        found.update(elements(side, {"folder": lambda: sql(
            side.path("no/missing"), "select 1", one)}, limit=1))
    else:  # TensorFlow says so in its log, and its process ends
        found["folder 0"] = ("InvalidArgumentError: Sqlite::Open(D/no/missing) "
                             "failed: unable to open database file")
    out = without_folder(side, found)
    out["other"] = os.path.exists(side.path("other"))
    return out
