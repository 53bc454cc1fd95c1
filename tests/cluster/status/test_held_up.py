"""What a page does not wait for, and what does not wait for a page."""
import json
import os
import socket
import tempfile
import threading

from tests.cluster.client import graph, plain_config, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.status.document import read
from tests.cluster.suite import test

ONE = dict(tfd_only=True, worker=1)


def fill_table(cluster, path, errors):
    """Reads a table's lines from a file for as long as they come."""
    with graph():
        table = tf.raw_ops.HashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
        fill = tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=path, key_index=-2, value_index=-1)
        with tf.Session(cluster.target(), config=plain_config()) as session:
            try:
                session.run(fill)
                errors.append(None)
            except tf.errors.OpError as error:
                errors.append(error)


@test(limit=60, **ONE)
def a_table_that_is_filled_holds_no_page_up(cluster):
    """A page is read while the lines come, which takes seconds."""
    task, ended = cluster["worker", 0], []

    def told_while_filled():
        rows = [row for row in read(task)[0]["resources"]["list"]
                if row["name"] == "words" and row["count"] is None]
        assert rows or not ended, "no page was written before the table was"
        return rows

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "words")
        with open(path, "w") as file:
            file.writelines("word%d\n" % i for i in range(4000000))
        thread = threading.Thread(target=fill_table, args=(cluster, path, ended))
        thread.start()
        (row,) = wait_until(told_while_filled, 20, "a page")
        assert row["kind"] == "table" and row["bytes"] is None, row
        thread.join(40)
    assert ended == [None], ended
    (row,) = [row for row in read(task)[0]["resources"]["list"]
              if row["kind"] == "table"]
    assert row["count"] == 4000000, row


@test(limit=60, tfd_only=True)
def readers_that_wait_together_are_told_the_same(server):
    """One document for all of them, or 64 of a large task stop its loop."""
    with Cluster(server, start=False, worker=2) as cluster, \
            socket.create_server(("127.0.0.1", 0)) as silent, graph():
        cluster.spec["worker"][1] = "127.0.0.1:%d" % silent.getsockname()[1]
        cluster.start("worker", 0)
        task = cluster["worker", 0]
        only = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        queues = [tf.queue.FIFOQueue(1, [tf.int32], shared_name="q%d" % i)
                  for i in range(1000)]
        with tf.Session(task.target, config=only) as session:
            session.run([q.size() for q in queues])
            readers = [wire.connect(task.port) for _ in range(60)]
            for reader in readers:
                reader.sendall(b"GET /status.json HTTP/1.1\r\n\r\n")
            bodies = {wire.parse_http(wire.read_to_end(reader, 20))[2]
                      for reader in readers}
        assert len(bodies) == 1, len(bodies)
        assert json.loads(bodies.pop())["resources"]["count"] >= 1000
