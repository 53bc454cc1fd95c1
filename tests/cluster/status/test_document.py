"""/status.json: what there is, as one document that has a schema."""
import copy
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from tests.cluster.client import graph, kept_session, np, plain_config, tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.eager.contexts import context, give, run
from tests.cluster.faults import wire
from tests.cluster.faults.test_kills import outcome
from tests.cluster.status.document import SIZE_MAX, read, states
from tests.cluster.status.schema import wrongs
from tests.cluster.suite import test

TFD = dict(tfd_only=True)
ONE = dict(tfd_only=True, worker=1)


def rows(document, section, **wanted):
    return [row for row in document[section]["list"]
            if all(row.get(k) == v for k, v in wanted.items())]


@test(**ONE)
def an_idle_task_says_who_it_is(cluster):
    document, body = read(cluster["worker", 0])
    assert (document["job"], document["task"]) == ("worker", 0), document
    assert document["state"] == "up"
    (own,) = document["cluster"]["tasks"]
    assert own["self"] and own["state"] == "up", own
    assert document["steps"]["list"] == []
    assert len(body) < 100000, len(body)


@test(**ONE)
def a_schema_that_is_not_met_is_told(cluster):
    """The checker itself, or every other test here would prove nothing."""
    good, _ = read(cluster["worker", 0])
    for path, value in ((("version",), 2), (("task",), "0"), (("job",), None),
                        (("cluster", "count"), -1), (("cluster", "count"), True),
                        (("cluster", "tasks", 0, "state"), "well"),
                        (("cluster", "tasks", 0, "more"), 1),
                        (("history", 0), [1, 2])):
        bad = copy.deepcopy(good)
        at = bad
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        assert list(wrongs(bad)), path
    del good["plans"]
    assert list(wrongs(good)) == ["$: plans is missing"]


@test(**TFD)
def sessions_plans_and_variables_are_told(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            v = tf.Variable(np.zeros((3, 5), np.float32), name="weights",
                            use_resource=True)
            old = tf.Variable(7.0, name="old", use_resource=False)
            queue = tf.queue.FIFOQueue(10, [tf.float32], shapes=[[4]],
                                       name="waiting", shared_name="waiting")
            put = queue.enqueue([tf.ones([4])])
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run([v.initializer, old.initializer])
            for _ in range(3):
                session.run(put)
            for _ in range(5):
                session.run(v)
            document, _ = read(cluster["worker", 0])
            (row,) = document["sessions"]["list"]
            assert row["steps_done"] == 9 and row["steps_failed"] == 0, row
            assert row["state"] == "open" and row["tasks"] == 2, row
            plans = {p["fetches"][0]: p for p in document["plans"]["list"]
                     if p["fetches"]}
            (name,) = [n for n in plans if "weights" in n]
            plan = plans[name]
            assert plan["steps_ended"] == 5 and plan["parts"] >= 1, plan
            assert 0 < plan["mean_us"] < 10000000, plan
            assert plan["p99_us"] > 0 and plan["nodes"] > 0, plan
            there, _ = read(cluster["ps", 0])
            (weights,) = rows(there, "resources", name="weights")
            assert weights["bytes"] == 60 and weights["dtype"] == "float"
            assert weights["shape"] == "[3,5]", weights
            assert weights["kind"] == "variable", weights
            assert rows(there, "resources", name="old", bytes=4)
            (row,) = rows(there, "resources", kind="queue")
            assert (row["count"], row["capacity"], row["bytes"]) == (3, 10, 48)
            assert row["name"] == "waiting" and not row["takes_wait"], row
            sizes = [r["bytes"] for r in there["resources"]["list"]]
            assert sizes == sorted(sizes, reverse=True), sizes
            assert there["worker"]["steps_done"] >= 9, there["worker"]
        document, _ = read(cluster["worker", 0])
        assert document["sessions"]["list"] == []


@test(**TFD)
def a_running_step_says_what_it_waits_for_on_which_task(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        with tf.device("/job:ps"):
            queue = tf.queue.FIFOQueue(1, [tf.float32], shared_name="empty")
            take = queue.dequeue()
        session = kept_session(cluster.target(), config=plain_config())
        thread, errors = outcome(session, take)

        def step():
            return read(cluster["worker", 0])[0]["steps"]["list"]

        (row,) = wait_until(step, 10, "the step")
        assert row["parts_running"] >= 1, row
        assert any("/job:ps/" in w["task"] for w in row["waits"]), row

        def cause():
            """What the ps says its part waits for, heard by the worker."""
            return [w["text"] for s in step() for w in s["waits"]
                    if "/job:ps/" in w["task"] and "text" in w]

        (text,) = wait_until(cause, 10, "the cause")
        assert "QueueDequeue" in text and "queue empty" in text, text
        assert "(0 of 1)" in text, text
        (said,) = [w for t in read(cluster["worker", 0])[0]["cluster"]["tasks"]
                   if t["job"] == "ps" for w in t["waiting"]]
        assert said["step"] == row["step"] and said["waits"] == text, said
        there, _ = read(cluster["ps", 0])
        (row,) = rows(there, "resources", kind="queue")
        assert row["takes_wait"] and not row["puts_wait"], row
        tasks = read(cluster["worker", 0])[0]["cluster"]["tasks"]
        own = next(t for t in tasks if t["self"])
        assert own["oldest_step_seconds"] > 0, own
        session.close()
        thread.join(10)
        assert errors, "the step ended well"


@test(**ONE)
def contexts_of_coordinators_are_told(cluster):
    task = cluster["worker", 0]
    number = (1 << 62) + 5  # no double has it
    with context(cluster, number) as c:
        c.enqueue(give(1, [[1, 2], [3, 4]]),
                  run(2, "MatMul", 1, 1, T=tf.float32))
        assert c.value(2) == [[7, 10], [15, 22]]
        document, _ = read(task)
        (row,) = document["contexts"]["list"]
        assert row["context"] == str(number), row
        assert row["values"] == 2 and row["runs_done"] >= 1, row
        assert row["client"] and row["age_seconds"] >= row["idle_seconds"]
        (own,) = document["cluster"]["tasks"]
        assert own["contexts"] == 1, own
    assert read(task)[0]["contexts"] == {"list": [], "count": 0, "more": 0}


@test(limit=60, **TFD)
def dead_silent_and_unknown_peers_are_told_apart(server):
    with Cluster(server, start=False, ps=2, worker=2) as cluster:
        cluster.spec["worker"].append("no-such-host.invalid:2222")
        for key in (("ps", 0), ("worker", 0), ("worker", 1)):
            cluster.start(*key)
        assert states(read(cluster["worker", 0])[0]) == {
            ("ps", 0): "up", ("ps", 1): "refused", ("worker", 0): "up",
            ("worker", 1): "up", ("worker", 2): "unresolved"}
        cluster["ps", 0].signal(signal.SIGSTOP)
        wait_until(lambda: states(read(cluster["worker", 0])[0])["ps", 0]
                   == "silent", 10, "that it is silent")
        start = time.monotonic()
        document, _ = read(cluster["worker", 0])
        assert time.monotonic() - start < 0.9, "a silent task is waited for"
        (row,) = [t for t in document["cluster"]["tasks"]
                  if t["state"] == "silent"]
        assert row["why"] and row["heard_seconds"] > 0, row
        cluster["ps", 0].signal(signal.SIGCONT)
        wait_until(lambda: states(read(cluster["worker", 0])[0])["ps", 0]
                   == "up", 10, "that it is back")


@test(**TFD)
def a_task_behind_the_wrong_address_is_told(server):
    with Cluster(server, start=False, worker=3) as cluster:
        cluster.start("worker", 0)
        spec = cluster.spec["worker"]
        cluster.spec["worker"] = [spec[0], spec[2], spec[1]]
        cluster.start("worker", 2, wait=False)  # listens at 1's address
        wait_until(lambda: states(read(cluster["worker", 0])[0])["worker", 1]
                   == "another task", 10, "that it is another one")


@test(**TFD)
def hostile_names_stay_texts(server):
    names = ["a" * 3000, 'q"uote\\', "<script>alert(1)</script>",
             "\u202eright", "line\nbreak\x1b[2J", "caf\u00e9 \U0001f600"]
    with Cluster(server, worker=1) as cluster, graph():
        queues = [tf.queue.FIFOQueue(1, [tf.int32], shared_name=n, name="q")
                  for n in names]
        with tf.Session(cluster.target()) as session:
            session.run([q.size() for q in queues])
            document, body = read(cluster["worker", 0])
    found = {r["name"] for r in document["resources"]["list"]}
    for name in names[1:]:
        assert name in found, (name, found)
    assert any(n.startswith("aaaa") and n.endswith("...") for n in found)
    assert b"\x1b" not in body and b"\n" not in body[:-1]


class Pretender:
    """Listens as a task would, and answers each connection with `answer`, again
    and again if `endless`."""

    def __init__(self, answer, endless):
        self.answer, self.endless = answer, endless
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(connection,),
                             daemon=True).start()

    def talk(self, connection):
        try:
            connection.sendall(self.answer)
            while self.endless:
                connection.sendall(self.answer)
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass


@test(limit=90, **TFD)
def peers_that_answer_anything_harm_nobody(server):
    answers = [(b"", False), (b"garbage\r\n" * 100, False),
               (b"x" * 65536, True), (b"HTTP/1.1 200 OK\r\n\r\n{}", False),
               (b"\0" * 4096, True), (b"\xff" * 4096, True)]
    with Cluster(server, start=False, worker=1) as cluster:
        liars = [Pretender(*answer) for answer in answers]
        cluster.spec["worker"] += ["127.0.0.1:%d" % p.port for p in liars]
        cluster.start("worker", 0)
        for _ in range(4):
            start = time.monotonic()
            document, _ = read(cluster["worker", 0])
            assert time.monotonic() - start < 5, "it is held up"
            told = states(document)
            assert told["worker", 0] == "up"
            assert not [k for k, s in told.items()
                        if s == "up" and k != ("worker", 0)], told
        with graph(), tf.Session(cluster.target(), config=tf.ConfigProto(
                device_filters=["/job:worker/task:0"])) as session:
            assert session.run(tf.constant(2)) == 2


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def text_field(tag, value):
    return varint(tag << 3 | 2) + varint(len(value)) + value


class Speaker(grpc.GenericRpcHandler):
    """A gRPC server that answers GetTaskState with these bytes: as a task may
    that is of another version, or nobody's friend.  None: it never answers."""

    def __init__(self, answer):
        self.answer, self.end = answer, threading.Event()
        self.server = grpc.server(ThreadPoolExecutor(4), handlers=[self],
                                  options=[("grpc.max_send_message_length",
                                            -1)])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, details):
        if not details.method.endswith("/GetTaskState"):
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self.reply(), bytes, bytes)

    def reply(self):
        if self.answer is None:
            self.end.wait(20)
            return b""
        return self.answer

    def stop(self):
        self.end.set()
        self.server.stop(0)


@test(limit=90, **TFD)
def what_peers_say_of_themselves_is_kept_small(server):
    def name(index):
        return text_field(1, b"/job:worker/replica:0/task:%d" % index)

    huge = varint(9 << 3) + varint((1 << 64) - 1)  # steps_done
    answers = [name(1) + text_field(2, b"<b>\xff\"" + b"v" * 100000) + huge,
               b"\xff" * 50, b"", name(5), None, name(6) + b"\x48",
               name(7) + text_field(2000, b"later")]
    states_wanted = ["up", "unreachable", "another task", "another task",
                     "silent", "unreachable", "up"]
    speakers = [Speaker(answer) for answer in answers]
    large = Speaker(text_field(2, b"x" * (64 << 20)))
    try:
        with Cluster(server, start=False, worker=1) as cluster:
            cluster.spec["worker"] += ["127.0.0.1:%d" % s.port
                                       for s in speakers + [large]]
            cluster.start("worker", 0)
            for _ in range(3):
                document, body = read(cluster["worker", 0])
                assert len(body) < 50000, len(body)
            told = states(document)
            assert [told["worker", i + 1] for i in range(len(answers))] \
                == states_wanted, told
            first = document["cluster"]["tasks"][1]
            assert first["version"].startswith("<b>\ufffd\"vv"), first
            assert first["steps_done"] == 1 << 53, first
    finally:
        for speaker in speakers + [large]:
            speaker.stop()


@test(limit=60, **TFD)
def a_tensorflow_server_among_them_is_up(server):
    others = {("worker", 1): tensorflow_server(server.slow)}
    with Cluster(server, others=others, worker=2) as cluster:
        told = wait_until(
            lambda: states(read(cluster["worker", 0])[0])["worker", 1] == "up",
            20, "that it is up")
        assert told
        document, _ = read(cluster["worker", 0])
        (row,) = [t for t in document["cluster"]["tasks"] if not t["self"]]
        assert row["protocol"] == "grpc" and "version" not in row, row


@test(limit=60, **TFD)
def readers_that_leave_while_it_is_written_do_no_harm(server):
    with Cluster(server, start=False, worker=2) as cluster:
        silent = socket.create_server(("127.0.0.1", 0))
        cluster.spec["worker"][1] = "127.0.0.1:%d" % silent.getsockname()[1]
        cluster.start("worker", 0)
        port = cluster["worker", 0].port
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", port)) as reader:
                reader.sendall(b"GET /status.json HTTP/1.1\r\n\r\n")
        assert wire.get(port, "/healthz")[0] == 200
        assert states(read(cluster["worker", 0])[0])["worker", 1] == "silent"
        silent.close()


@test(limit=60, **TFD)
def a_task_stops_while_readers_wait(server):
    with Cluster(server, start=False, worker=2) as cluster:
        silent = socket.create_server(("127.0.0.1", 0))
        cluster.spec["worker"][1] = "127.0.0.1:%d" % silent.getsockname()[1]
        cluster.start("worker", 0)
        task = cluster["worker", 0]
        readers = [wire.connect(task.port) for _ in range(100)]
        for reader in readers:  # beyond 64 nobody waits
            reader.sendall(b"GET /status.json HTTP/1.1\r\n\r\n")
        task.signal(signal.SIGTERM)
        assert task.exit_code() == 0, task.log_tail()
        for reader in readers:
            received = wire.read_to_end(reader, 5)
            assert received in (b"",) or b"200 OK" in received, received
            reader.close()
        silent.close()


@test(limit=120, **TFD)
def it_is_small_and_quick_with_many_tasks_and_variables(server):
    with Cluster(server, start=False, worker=1) as cluster, graph():
        spec = cluster.spec["worker"]
        spec += ["127.77.0.1:%d" % port for port in range(2001, 2200)]
        cluster.start("worker", 0)
        config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        with tf.Session(cluster.target(), config=config) as session:
            layers = [tf.Variable(np.float32(i), name="tower/layer_%d/kernel"
                                  % i, use_resource=True)
                      for i in range(1000)]
            session.run([v.initializer for v in layers])
            read(cluster["worker", 0])
            start = time.monotonic()
            document, body = read(cluster["worker", 0])
            took = time.monotonic() - start
        assert len(document["cluster"]["tasks"]) == 200
        assert document["resources"]["count"] == 1000
        assert len(rows(document, "resources", kind="variable")) == 1000
        print("%d bytes in %.0f ms" % (len(body), took * 1000))
        assert len(body) < SIZE_MAX, len(body)
        assert took < 2 * server.slow, took


@test(**ONE)
def more_than_a_list_holds_is_counted(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        queues = [tf.queue.FIFOQueue(1, [tf.int32], shared_name="q%d" % i)
                  for i in range(1600)]
        session.run([q.size() for q in queues])
        found = read(cluster["worker", 0])[0]["resources"]
    assert found["count"] >= 1600, found["count"]
    assert len(found["list"]) == 1500, len(found["list"])
    assert found["more"] == found["count"] - 1500, found["more"]


@test(limit=60, **TFD)
def warnings_of_the_log_are_kept(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        read(cluster["worker", 0])
        cluster["ps", 0].kill()
        found = wait_until(
            lambda: read(cluster["worker", 0])[0]["warnings"]["list"], 10,
            "the warning")
        assert found[0]["level"] == "warn", found
        assert found[0]["text"].startswith("peer_lost task=/job:ps"), found
