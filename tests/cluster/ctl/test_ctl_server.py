"""tfdctl and live servers: tfd, and what TensorFlow's own can tell."""
import json
import os
import re
import subprocess
import tempfile
import time
from urllib.request import urlopen

import grpc

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.ctl.ctl import (DONE, NO, PROGRAM, REFUSED, UNREACHABLE,
                                   USAGE, bad, call, document, good)
from tests.cluster.ports import free_ports
from tests.cluster.runner import WITH_PARENT
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)


def page(task, path):
    with urlopen("http://" + task.address + path, timeout=10) as answer:
        return answer.read().decode()


def at(cluster, job="worker", index=0):
    return "--target=" + cluster[job, index].address


@test(**PAIR)
def devices_are_those_that_a_session_lists(cluster):
    with tf.Session(cluster.target()) as session:
        want = {d.name: d for d in session.list_devices()}
    found = document("devices", at(cluster))["devices"]
    assert sorted(d["name"] for d in found) == sorted(want), found
    for d in found:
        assert d["memory_bytes"] == want[d["name"]].memory_limit_bytes, d
        assert int(d["incarnation"], 16) == want[
            d["name"]].incarnation % 2**64, d
    text = good("devices", at(cluster))
    assert len(text.splitlines()) == 4 and "/job:ps/" in text, text


@test(limit=60)
def devices_of_a_task_whose_peer_is_away(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        cluster["ps", 0].kill()
        code, said, complained = call("devices", at(cluster), "--json",
                                      "--timeout=5s")
        names = [d["name"] for d in json.loads(said)["devices"]]
        assert code == DONE and len(names) == 1, (code, names)
        assert "not known" in complained, complained


@test(limit=60)
def health_waits_until_a_server_is_there(server):
    port, = free_ports(1)
    address = "--target=127.0.0.1:%d" % port
    bad(UNREACHABLE, ["127.0.0.1:%d" % port, "refused"], "health", address)
    bad(UNREACHABLE, ["127.0.0.1:%d" % port], "health", address,
        "--wait=300ms")
    waiting = subprocess.Popen(
        WITH_PARENT + [PROGRAM, "health", "--wait=40s", address],
        stdout=subprocess.PIPE, text=True)
    task = subprocess.Popen(
        WITH_PARENT + server.command + ["--port=%d" % port],
        stderr=subprocess.DEVNULL)
    try:
        said, _ = waiting.communicate(timeout=30)
        assert waiting.returncode == DONE and "serving" in said, said
        found = document("health", address)
        assert found["state"] == "serving" and found["health_service"], found
    finally:
        task.terminate()
        assert task.wait(20) == 0


def stuck_graph(folder):
    """Its step waits for ever."""
    with tf.device("/job:worker"):
        tf.FIFOQueue(1, [tf.int32], shared_name="q").dequeue("taken")
    return tf.io.write_graph(tf.get_default_graph(), folder, "q.pb", False)


@test(limit=60)
def a_draining_server_is_not_healthy_and_shutdown_drains(server):
    with Cluster(server, flags=["--drain_timeout=4s"], worker=1) as cluster, \
            tempfile.TemporaryDirectory() as folder, graph():
        task = cluster["worker", 0]
        step = subprocess.Popen(
            WITH_PARENT + [PROGRAM, "run", stuck_graph(folder), at(cluster),
                           "--fetch=taken"], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: re.search(
            r"(?m)^tfd_steps_running 1$", page(task, "/metrics")), 20, "a step")
        found = document("shutdown", at(cluster))["tasks"]
        assert found[0]["task"] == "/job:worker/replica:0/task:0", found
        assert found[0]["stopping"] is True, found
        assert document("health", at(cluster), code=NO)["state"] == "draining"
        found = document("shutdown", at(cluster))["tasks"]  # is no second one
        assert found[0]["stopping"] is True and task.alive(), found
        assert task.exit_code(20) == 0
        _, said = step.communicate(timeout=10)
        assert step.returncode in (REFUSED, UNREACHABLE), step.returncode
        assert "shutting down" in said, said
        assert "an operator asked for it" in task.log_text()
        bad(UNREACHABLE, [task.address], "shutdown", at(cluster))


@test(limit=60)
def shutdown_of_a_cluster_reaches_every_task(server):
    with Cluster(server, **PAIR) as cluster:
        tf_config = json.dumps(cluster.config("worker", 0))
        code, said, complained = call("shutdown", "--cluster", "--json",
                                      TF_CONFIG=tf_config)
        assert code == DONE, complained
        tasks = [t["task"] for t in json.loads(said)["tasks"]]
        assert sorted(tasks) == [
            "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0",
            "/job:worker/replica:0/task:1"], tasks
        for task in cluster.tasks.values():
            assert task.exit_code() == 0
        code, said, complained = call("shutdown", "--cluster",
                                      TF_CONFIG=tf_config)
        assert code == UNREACHABLE and len(complained.splitlines()) == 3


@test(limit=60)
def the_level_of_the_log_changes_what_is_logged(server):
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        assert good("log-level", at(cluster)) == "info\n"
        assert document("log-level", "debug", at(cluster))[
            "log_level"] == "debug"
        assert "level=debug before=info" in task.log_text()
        good("log-level", "error", at(cluster))
        before = task.log_text()
        with graph():
            with tf.Session(task.target) as session:
                session.run(tf.constant(1))
        assert task.log_text() == before
        assert good("log-level", at(cluster)) == "error\n"
        for level in "loud", "INFO", "x" * 3000, "in\nfo", "\u00fc":
            code, _, said = call("log-level", level, at(cluster))
            assert code == REFUSED and "warn" in said, (level, code, said)
        bad(USAGE, ["usage"], "log-level", "info", "debug", at(cluster))
        assert good("log-level", at(cluster)) == "error\n"


@test(limit=60)
def what_is_no_request_of_an_operator_changes_nothing(server):
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        with grpc.insecure_channel(task.address) as channel:
            operate = channel.unary_unary("/tfd.Peer/Operate")
            for request, code in [
                    (b"\xff", "INTERNAL"), (b"\x0a\x7fx", "INTERNAL"),
                    (b"\x0a\x05debug\x10", "INTERNAL"),
                    (b"\x08\x01", "INTERNAL"), (b"\x12\x01x", "INTERNAL"),
                    (b"\x0a\x05debu\x00\x10\x01", "INVALID_ARGUMENT"),
                    (b"\x0a\x04loud\x10\x01", "INVALID_ARGUMENT")]:
                try:
                    raise AssertionError(operate(request, timeout=10))
                except grpc.RpcError as error:
                    assert error.code().name == code, (request, error)
            # Fields of later versions are passed over.
            assert b"info" in operate(b"\x9a\x06\x01x\xa0\x06\x07",
                                      timeout=10)
        assert good("log-level", at(cluster)) == "info\n"
        assert task.alive()


@test(**PAIR)
def reset_forgets_variables_of_the_containers_named(cluster):
    with graph():
        with tf.container("kept"):
            kept = tf.Variable(1.0)
        with tf.container("gone"):
            gone = tf.Variable(2.0)
        with tf.Session(cluster.target()) as session:
            session.run([kept.initializer, gone.initializer])
        good("reset", "gone", at(cluster))
        with tf.Session(cluster.target()) as session:
            assert session.run(kept) == 1.0
            with expect(tf.errors.FailedPreconditionError, "ninitialized"):
                session.run(gone)
        assert document("reset", at(cluster))["reset"] is True
        with tf.Session(cluster.target()) as session:
            with expect(tf.errors.FailedPreconditionError, "ninitialized"):
                session.run(gone)


@test(**PAIR)
def bench_measures_what_it_says(cluster):
    found = document("bench", "--steps=50", at(cluster))["cases"]
    assert [c["name"] for c in found] == ["empty step", "scalar step",
                                          "megabyte step"], found
    assert [c["steps"] for c in found] == [50, 50, 5]
    for c in found:
        assert 0 < c["min_us"] <= c["median_us"] <= c["p99_us"], c
        assert c["min_us"] <= c["mean_us"] <= 1e6, c
    assert found[2]["median_us"] > found[0]["min_us"]
    assert "MEDIAN" in good("bench", "--steps=10", at(cluster))


def check_trace(path, steps, devices, nodes):
    """A file as Chrome's format has it."""
    with open(path) as f:
        found = json.load(f)
    events = found["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    work = [e for e in events if e["ph"] == "X"]
    assert devices <= set(names.values()), names
    assert {e["args"]["step"] for e in work} == set(range(steps))
    for name in nodes:
        assert sum(e["name"] == name for e in work) == steps, name
    lanes = {}
    for e in sorted(work, key=lambda e: (e["ts"], -e["dur"])):
        assert e["ph"] == "X" and e["dur"] >= 0 and e["pid"] in names, e
        lane = (e["pid"], e["tid"])
        assert e["ts"] >= lanes.get(lane, 0), "two at a time: %r" % e
        lanes[lane] = e["ts"] + e["dur"]
    return found, work, names


def traced_graph(folder):
    with tf.device("/job:ps"):
        a = tf.identity(tf.ones([200, 200]), name="a")
    with tf.device("/job:worker"):
        tf.matmul(a, a, name="product")
    return tf.io.write_graph(tf.get_default_graph(), folder, "g.pb", False)


@test(**PAIR)
def a_trace_has_all_tasks_on_one_clock(cluster):
    with tempfile.TemporaryDirectory() as folder, graph():
        path, out = traced_graph(folder), folder + "/out.json"
        before = time.time() * 1e6
        said = document("trace", path, "--fetch=product", "--steps=3",
                        "--out=" + out, at(cluster))
        assert said["steps"] == 3 and said["nodes"] > 6, said
        devices = {"/job:%s/replica:0/task:0/device:CPU:0" % j
                   for j in ("ps", "worker")}
        found, work, names = check_trace(out, 3, devices, ["a", "product"])
        assert set(found["otherData"]["clock_shift_us"].values()) == {0}
        for e in work:
            assert before - 1e3 <= e["ts"] <= time.time() * 1e6, e
        for step in range(3):  # what is computed from it comes after it
            first, = (e for e in work if e["name"] == "a"
                      and e["args"]["step"] == step)
            last, = (e for e in work if e["name"] == "product"
                     and e["args"]["step"] == step)
            assert first["ts"] <= last["ts"] + last["dur"]
            assert names[first["pid"]].startswith("/job:ps")
        bad(USAGE, ["--out"], "trace", path, "--fetch=product", at(cluster))
        bad(2, ["/no/such"], "trace", path, "--fetch=product",
            "--out=/no/such/file", at(cluster))
        bad(NO, ["nope"], "trace", path, "--fetch=nope", "--out=" + out,
            at(cluster))


@test(limit=120)
def a_server_of_tensorflow_answers_what_it_can(server):
    del server
    with Cluster(tensorflow_server(), worker=1) as cluster:
        target = at(cluster)
        found = document("devices", target)["devices"]
        assert [d["name"] for d in found] == [
            "/job:worker/replica:0/task:0/device:CPU:0"], found
        code, said, complained = call("health", target)
        assert code == DONE and "serving" in said
        assert "no health service" in complained, complained
        with tempfile.TemporaryDirectory() as folder, graph():
            x = tf.placeholder(tf.float32, [None], name="x")
            tf.identity(tf.reduce_sum(x), name="y")
            path = tf.io.write_graph(tf.get_default_graph(), folder, "g.pb",
                                     False)
            np.save(folder + "/x.npy", np.arange(5, dtype=np.float32))
            step = [path, "--feed=x=%s/x.npy" % folder, target]
            found = document("run", *step, "--fetch=y")["fetches"]
            assert found[0]["values"] == [10.0], found
            document("trace", *step, "--fetch=y", "--steps=2",
                     "--out=%s/out.json" % folder)
            check_trace(folder + "/out.json", 2, {
                "/job:worker/replica:0/task:0/device:CPU:0"}, ["y"])
            bad(REFUSED, ["TensorFlow's servers", "GRAPH"], "trace", target,
                "--out=%s/clients.json" % folder)
            assert not os.path.exists(folder + "/clients.json")
            bad(REFUSED, ["x"], "run", path, target, "--fetch=y")
        assert document("bench", "--steps=10", target)["cases"]
        assert document("reset", target)["reset"]
        for verb in (["log-level"], ["log-level", "debug"], ["shutdown"]):
            bad(REFUSED, ["TensorFlow's servers"], *verb, target)
        for verb in "status", "sessions", "variables", "steps", "top":
            bad(REFUSED, ["TensorFlow's servers"], verb, target)
        assert cluster["worker", 0].alive()
        assert os.path.exists(PROGRAM)
