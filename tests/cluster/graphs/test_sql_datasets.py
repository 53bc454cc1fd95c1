"""What a query of SqlDataset may and may not: databases outside the roots, that
are written at the moment, or that it would change itself."""
import os
import sqlite3
import tempfile

from tests.cluster.client import expect, graph, kept_session, run, tf
from tests.cluster.cluster import Cluster
from tests.cluster.suite import test
from tests.cluster.watch import resident, wait_metric

PATIENCE = tf.RunOptions(timeout_in_ms=300)
RUNNING = "tfd_steps_running"


def made(path, rows=(1, 2, 3), mode="delete"):
    link = sqlite3.connect(path)
    link.execute("pragma journal_mode=" + mode)
    link.execute("create table t(i integer)")
    link.executemany("insert into t values(?)", [(i,) for i in rows])
    link.commit()
    return link


def element(path, query="select i from t", kind=tf.int64):
    return tf.data.make_one_shot_iterator(tf.data.experimental.SqlDataset(
        "sqlite", path, query, (kind,))).get_next()[0]


def first(cluster, path, query="select i from t", kind=tf.int64):
    with graph():
        return run(cluster.target(), element(path, query, kind))


def content(path):
    with open(path, "rb") as file:
        return file.read()


@test(worker=1, tfd_only=True)
def a_query_changes_nothing(cluster):
    """TensorFlow's would: it opens a database to write it."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/d"
        made(path).close()
        before = content(path)
        for query in ("insert into t values(9) returning i",
                      "update t set i = 9 returning i",
                      "delete from t returning i"):
            with expect(tf.errors.FailedPreconditionError, "readonly"):
                first(cluster, path, query)
        assert first(cluster, folder + "/none", "select 5") == 5
        assert content(path) == before and os.listdir(folder) == ["d"]


@test(worker=1, tfd_only=True)
def settings_of_all_queries_stay(cluster):
    for query in ("pragma hard_heap_limit=1", "pragma soft_heap_limit=1",
                  "pragma temp_store_directory='/tmp'", "pragma mmap_size=1",
                  "pragma writable_schema=1", "pragma journal_mode=wal",
                  "pragma wal_checkpoint", "pragma trusted_schema=1"):
        with expect(tf.errors.PermissionDeniedError, "not authorized"):
            first(cluster, ":memory:", query)
    with expect(tf.errors.UnknownError, "fts3tokenize disabled"):
        first(cluster, ":memory:",
              "select fts3_tokenizer('simple', x'4141414141414141')", tf.string)


@test(tfd_only=True)
def databases_outside_the_roots_are_not_read(server):
    with tempfile.TemporaryDirectory() as folder:
        root, outside = folder + "/root", folder + "/outside"
        os.mkdir(root)
        made(outside).close()
        made(root + "/inside").close()
        os.symlink(outside, root + "/link")
        # Of a log that leads out nothing is read, either.
        logged = made(root + "/logged", mode="wal")
        logged.execute("insert into t values(4)")
        logged.commit()
        for name, copy in (("/logged", root + "/copy"),
                           ("/logged-wal", folder + "/log")):
            with open(copy, "wb") as file:
                file.write(content(root + name))
        os.symlink(folder + "/log", root + "/copy-wal")
        with Cluster(server, ["--file_root=" + root], worker=1) as cluster:
            assert first(cluster, root + "/inside") == 1
            for path in (outside, root + "/../outside", root + "/link",
                         "file:%s?vfs=unix" % outside,
                         "file:" + root + "/%2e%2e/outside"):
                with expect(tf.errors.PermissionDeniedError):
                    first(cluster, path)
            with expect(tf.errors.UnknownError):
                first(cluster, root + "/none?vfs=unix")
            with expect(tf.errors.InvalidArgumentError):
                first(cluster, root + "/copy")
            for query in ("attach '%s' as b", "vacuum into '%s2'"):
                with expect(tf.errors.InvalidArgumentError):
                    first(cluster, root + "/inside", query % outside)
            assert not os.path.exists(outside + "2")
        logged.close()


@test(worker=1)
def what_a_writer_has_begun_is_not_read(cluster):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/d"
        link = made(path)
        link.isolation_level = None
        link.execute("begin immediate")
        link.execute("insert into t values(4)")
        assert first(cluster, path, "select count(*) from t") == 3
        link.execute("commit")
        assert first(cluster, path, "select count(*) from t") == 4
        link.execute("begin exclusive")
        with expect(tf.errors.UnavailableError, "database is locked"):
            first(cluster, path)
        link.execute("rollback")
        link.execute("pragma busy_timeout=0")
        with graph():  # a query that is not at its end keeps writers out
            fetch = element(path)
            session = kept_session(cluster.target())
            assert session.run(fetch) == 1
            try:
                link.execute("insert into t values(5)")
                raise AssertionError("a row was written under a query")
            except sqlite3.OperationalError as error:
                assert "locked" in str(error), error
            assert [session.run(fetch) for _ in range(3)] == [2, 3, 4]
            with expect(tf.errors.OutOfRangeError):
                session.run(fetch)
            link.execute("insert into t values(5)")
            session.close()
        link.close()


@test(worker=1, tfd_only=True)
def a_log_is_read_when_its_writers_are_gone(cluster):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/d"
        link = made(path, mode="wal")
        link.execute("pragma wal_autocheckpoint=0")
        link.execute("insert into t values(4)")
        link.commit()
        with expect(tf.errors.UnavailableError, "database is locked"):
            first(cluster, path)
        for name in ("d", "d-wal"):  # as a writer that was killed leaves it
            with open(folder + "/copy" + name[1:], "wb") as file:
                file.write(content(folder + "/" + name))
        link.close()
        names = sorted(os.listdir(folder))
        count = "select count(*) from t"
        assert first(cluster, folder + "/copy", count) == 4
        assert first(cluster, path, count) == 4
        assert sorted(os.listdir(folder)) == names


@test(worker=1, tfd_only=True)
def a_database_that_a_dead_writer_left_is_refused(cluster):
    """TensorFlow would roll it back, which writes."""
    with tempfile.TemporaryDirectory() as folder:
        link = made(folder + "/d", range(2000))
        link.execute("pragma cache_size=2")
        link.execute("pragma cache_spill=2")
        link.execute("update t set i = 7")
        for name in ("d", "d-journal"):
            with open(folder + "/copy" + name[1:], "wb") as file:
                file.write(content(folder + "/" + name))
        link.rollback()
        link.close()
        with expect(tf.errors.FailedPreconditionError, "readonly"):
            first(cluster, folder + "/copy")
        assert first(cluster, folder + "/d") == 0


@test(worker=1, limit=60)
def a_query_without_end_is_cancelled(cluster):
    query = ("with recursive n(x) as (select 1 union all select x + 1 from n) "
             "select x from n where x < 3 or x > 1000000000000")
    with graph():
        fetch = element(":memory:", query)
        session = kept_session(cluster.target())
        assert [session.run(fetch) for _ in range(2)] == [1, 2]
        with expect(tf.errors.DeadlineExceededError if cluster.server.is_tfd
                    else tf.errors.OpError):
            session.run(fetch, options=PATIENCE)
        session.close()
    if cluster.server.is_tfd:
        wait_metric(cluster["worker", 0], RUNNING, 0, 15)


@test(worker=1, tfd_only=True)
def functions_that_nothing_could_stop_are_refused(cluster):
    for call in ("instr('aab', 'b')", "replace('a', 'b', 'c')", "trim('a ')",
                 "rtrim('a', 'b')"):
        with expect(tf.errors.UnknownError, "not authorized"):
            first(cluster, ":memory:", "select " + call, tf.string)
    assert first(cluster, ":memory:", "select length('abc')") == 3


@test(worker=1, limit=60, tfd_only=True)
def queries_have_a_bound_of_memory(cluster):
    sort = ("with recursive n(x) as (select 1 union all select x + 1 from n "
            "limit 100000) select hex(randomblob(50000)) || x from n order by 1")
    before = resident(cluster["worker", 0])  # other tests used it
    with expect(tf.errors.UnavailableError, "out of memory"):
        first(cluster, ":memory:", sort, tf.string)
    with expect(tf.errors.ResourceExhaustedError, "too big"):
        first(cluster, ":memory:", "select zeroblob(900000000)", tf.string)
    assert resident(cluster["worker", 0]) - before < 400 << 20
    assert first(cluster, ":memory:", "select 3") == 3
