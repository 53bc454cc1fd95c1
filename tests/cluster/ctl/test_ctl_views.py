"""What tfdctl shows of the pages of a live cluster."""
import json
import subprocess
import tempfile
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.ctl.ctl import PROGRAM, document, good, on_terminal
from tests.cluster.runner import WITH_PARENT
from tests.cluster.suite import Skip, test
from tests.cluster.terminal import Terminal

PAIR = dict(ps=1, worker=1)


def page(task, path):
    """A page of JSON; a server that has none has nothing to be shown."""
    try:
        with urlopen("http://" + task.address + path, timeout=10) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code == 404:
            raise Skip("this server has no " + path) from error
        raise


def at(task):
    return "--target=" + task.address


@test(tfd_only=True, **PAIR)
def status_is_the_document_and_its_tasks(cluster):
    task = cluster["worker", 0]
    want, found = page(task, "/status.json"), document("status", at(task))
    assert found.keys() == want.keys(), (found.keys(), want.keys())
    for key in "version", "job", "task", "state", "build":
        assert found[key] == want[key], key
    text = good("status", at(task))
    for t in want["cluster"]["tasks"]:
        assert t["name"] in text and t["address"] in text, text
    assert "build.version" in text and "memory." in text, text


@test(tfd_only=True, **PAIR)
def sessions_and_variables_are_those_of_the_clients(cluster):
    task, ps = cluster["worker", 0], cluster["ps", 0]
    page(task, "/status.json")
    with graph():
        with tf.device("/job:ps"):
            v = tf.get_variable("of_my_own", initializer=np.zeros(
                (100, 7), np.float32))
        with tf.Session(task.target) as session:
            session.run(v.initializer)
            found = document("sessions", at(task))
            assert [s["steps_done"] >= 1 for s in found["sessions"]] == [True]
            handle = found["sessions"][0]["session"]
            assert handle in good("sessions", at(task))
            rows = document("variables", at(ps))["resources"]
            mine = [r for r in rows if "of_my_own" in r["name"]]
            assert len(mine) == 1 and mine[0]["bytes"] == 2800, rows
            text = good("variables", at(ps))
            assert "2.7 KiB" in text and "of_my_own" in text, text
        assert document("sessions", at(task))["sessions"] == []
        assert "none" in good("sessions", at(task))


@test(tfd_only=True, **PAIR)
def what_sessions_cost_is_shown(cluster):
    task = cluster["worker", 0]
    page(task, "/status.json")
    with graph():
        x = tf.placeholder(tf.float32)
        size = tf.size(x) + tf.size(tf.constant(np.random.rand(1 << 18)))
        with tf.Session(task.target) as session:
            session.run(size, {x: np.zeros(3 << 18, np.float32)})
            (row,) = document("sessions", at(task))["sessions"]
            assert 5 << 20 <= row["received_bytes"] < 6 << 20, row
            assert 0 < row["sent_bytes"] < 1 << 20, row
            assert 2 << 20 <= row["memory_bytes"] < 8 << 20, row
            head, line = good("sessions", at(task)).splitlines()[1:3]
            columns = head.split()[-3:]
            assert columns == ["MEMORY", "RECEIVED", "SENT"], head
            assert line.count("MiB") == 2 and row["session"] in line, line
            for columns, there in ((80, False), (200, True)):
                shown = on_terminal("sessions", at(task), columns=columns)[0]
                assert b"MEMORY" in shown and b"2.0 MiB" in shown, shown
                assert (b"RECEIVED" in shown) == there, shown
    found = document("sessions", at(task))
    assert found == {"sessions": [], "contexts": []}, found


@test(tfd_only=True, **PAIR)
def steps_are_kept_with_their_times_and_ends(cluster):
    task = cluster["worker", 0]
    page(task, "/steps")
    with graph():
        x = tf.placeholder(tf.float32, name="x")
        y = tf.identity(x, name="y_of_mine")
        z = tf.debugging.check_numerics(x, "odd", name="z_of_mine")
        with tf.Session(task.target) as session:
            session.run(y, {x: 1})
            with expect(tf.errors.InvalidArgumentError, "odd"):
                session.run(z, {x: float("nan")})
        kept = document("steps", at(task))["kept"]
        by_name = {s["name"]: s for s in kept}
        assert by_name["y_of_mine:0"]["outcome"] == "OK", kept
        assert by_name["z_of_mine:0"]["outcome"] == "INVALID_ARGUMENT", kept
        assert by_name["y_of_mine:0"]["total_us"] > 0
        assert len(document("steps", "--steps=1", at(task))["kept"]) == 1
        text = good("steps", at(task))
        assert "y_of_mine:0" in text and "INVALID_ARGUMENT" in text, text


@test(limit=60, tfd_only=True)
def a_step_that_waits_says_for_whom(server):
    with Cluster(server, flags=["--drain_timeout=1s"], **PAIR) as cluster, \
            tempfile.TemporaryDirectory() as folder, graph() as g:
        task = cluster["worker", 0]
        page(task, "/status.json")
        with tf.device("/job:ps"):
            tf.FIFOQueue(1, [tf.int32], shared_name="q").dequeue("taken")
        path = tf.io.write_graph(g, folder, "q.pb", False)
        step = subprocess.Popen(
            WITH_PARENT + [PROGRAM, "run", path, at(task), "--fetch=taken"],
            stderr=subprocess.DEVNULL)
        try:
            row = wait_until(lambda: document("steps", at(task))["running"],
                             20, "a step")[0]
            assert any("/job:ps" in json.dumps(w) for w in row["waits"]), row
            wait_until(lambda: any("q" in w["waits"] for w in document(
                "steps", at(task))["waiting"]), 30, "what it waits for")
            text = good("steps", at(task))
            assert "waiting: " in text and row["step"] in text, text
            text = good("top", "--once", at(task))
            assert "/job:ps/replica:0/task:0" in text, text
        finally:
            step.kill()
            step.wait(10)


@test(limit=60, tfd_only=True)
def a_dead_task_is_seen_and_top_goes_on(server):
    with Cluster(server, **PAIR) as cluster:
        task = cluster["worker", 0]
        page(task, "/status.json")
        with graph(), tf.Session(task.target) as session:
            session.run(tf.constant(1))
        cluster["ps", 0].kill()

        def state():
            return {t["name"]: t["state"] for t in document(
                "status", at(task))["cluster"]["tasks"]}

        wait_until(lambda: state()["/job:ps/replica:0/task:0"] != "up", 40,
                   "the ps is not up")
        assert state()["/job:worker/replica:0/task:0"] == "up"
        screen = Terminal([PROGRAM, "top", at(task)])
        try:
            screen.read(b"\x1b[H\x1b[2J")
            screen.bytes = screen.bytes.partition(b"\x1b[H\x1b[2J")[2]
            data = screen.read(b"\x1b[H\x1b[2J")  # the second time
            assert b"/job:ps" in data, data
        finally:
            screen.process.kill()
            screen.process.wait()
