"""tfdctl traces the steps of clients that know nothing of it."""
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time

import grpc

from tests.cluster.client import expect, graph, kept_session, np, tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.ctl.ctl import (DONE, NO, PROGRAM, REFUSED, UNREACHABLE,
                                   USAGE, bad, call, document, good,
                                   on_terminal)
from tests.cluster.ctl.test_ctl_answers import answering
from tests.cluster.ctl.test_ctl_server import at, check_trace
from tests.cluster.eager.contexts import (context, drop, function, give,
                                          operation, run)
from tests.cluster.raw import message
from tests.cluster.runner import WITH_PARENT
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
DEVICES = {"/job:%s/replica:0/task:%d/device:CPU:0" % task
           for task in (("ps", 0), ("worker", 0), ("worker", 1))}
MASTER = "/job:worker/replica:0/task:0"
NODES = ["product", "other", "count"]


def training_graph():
    """A step with a part on each task; it counts itself."""
    with tf.device("/job:ps/task:0"):
        count = tf.Variable(0, name="total", dtype=tf.int64)
        weights = tf.Variable(tf.ones([50, 50]), name="weights")
    with tf.device("/job:worker/task:1"):
        other = tf.tanh(weights, name="other")
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(other, weights, name="product")
    with tf.device("/job:ps/task:0"):
        update = weights.assign(product / tf.norm(product))
        with tf.control_dependencies([update]):
            return count.assign_add(1, name="count")


class Training:
    """A client in a thread of its own, which trains until it is told to end."""

    def __init__(self, target):
        self.step = training_graph()
        self.session = kept_session(target)
        self.session.run(tf.global_variables_initializer())
        self.stop, self.counts, self.error = threading.Event(), [], None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.stop.is_set():
                self.counts.append(int(self.once()))
        except tf.errors.OpError as error:
            self.error = error

    def once(self):
        return self.session.run(self.step)

    def end(self):
        self.stop.set()
        self.thread.join()


@contextlib.contextmanager
def training(target, kind=Training):
    with graph():
        client = kind(target)
        try:
            yield client
        finally:
            client.end()


@contextlib.contextmanager
def out_file():
    with tempfile.TemporaryDirectory() as folder:
        yield folder + "/out.json"


@contextlib.contextmanager
def tracing(cluster, out, *arguments):
    """tfdctl that waits, as the server says in its log."""
    task = cluster["worker", 0]
    before = task.log_text().count(" trace_steps ")
    process = subprocess.Popen(
        WITH_PARENT + [PROGRAM, "trace", at(cluster), "--out=" + out,
                       *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: task.log_text().count(" trace_steps ") > before, 20,
                   "a trace")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process, code, *words):
    said, complained = process.communicate(timeout=30)
    assert process.returncode == code, (process.returncode, said, complained)
    for word in words:
        assert word in complained, "%r is not in: %s" % (word, complained)
    return said


def check_clients(out, steps, begin, end):
    """The file has these nodes of each step, in order, within this time."""
    found, work, names = check_trace(out, steps, DEVICES, NODES)
    spans = {e["args"]["step"]: e for e in work if e["cat"] == "step"}
    assert set(spans) == set(range(steps)), spans
    assert {names[e["pid"]] for e in spans.values()} == {MASTER + "/steps"}
    assert set(found["otherData"]["clock_shift_us"].values()) == {0}, found[
        "otherData"]
    for e in work:
        span = spans[e["args"]["step"]]
        assert begin <= span["ts"] and span["ts"] + span["dur"] <= end, span
        assert e["ts"] >= span["ts"], (e, span)
        assert e["ts"] + e["dur"] <= span["ts"] + span["dur"], (e, span)
    for step in range(steps):
        first, then, last = (
            next(e for e in work if e["name"] == name
                 and e["args"]["step"] == step)
            for name in ("other", "product", "count"))
        assert names[first["pid"]].startswith("/job:worker/replica:0/task:1")
        assert names[then["pid"]].startswith(MASTER)
        assert names[last["pid"]].startswith("/job:ps")
        assert first["ts"] <= then["ts"] + then["dur"] and (
            then["ts"] <= last["ts"] + last["dur"]), (first, then, last)
        moved = [e for e in work if e["cat"] == "transfer"
                 and e["args"]["step"] == step]
        assert len({names[e["pid"]] for e in moved}) == 3, moved
        assert all(" from /job:" in e["args"]["label"] for e in moved), moved
    return spans


@test(tfd_only=True, **PAIR)
def steps_of_a_running_training_are_traced_on_all_tasks(cluster):
    with training(cluster.target()) as client, out_file() as out:
        begin = time.time() * 1e6
        said = document("trace", "--steps=5", at(cluster), "--out=" + out)
        end = time.time() * 1e6
        assert said["steps"] == said["asked"] == 5 and said["why"] == "", said
        assert said["devices"] == 3 and said["nodes"] >= 15, said
        assert said["failed"] == said["too_large"] == 0, said
        check_clients(out, 5, begin, end)
        # One after another, as the client ran them.
        spans = sorted(check_clients(out, 5, begin, end).values(),
                       key=lambda e: e["args"]["step"])
        for before, after in zip(spans, spans[1:]):
            assert before["ts"] + before["dur"] <= after["ts"] + 1, spans
        text = good("trace", at(cluster), "--out=" + out)  # the old one goes
        assert "1 steps, 3 devices" in text, text
        check_clients(out, 1, end, time.time() * 1e6)
        ran = len(client.counts)
        wait_until(lambda: len(client.counts) > ran, 20, "one more step")
        client.end()
        assert client.error is None, client.error
        assert client.counts == list(range(1, len(client.counts) + 1))


class Asking(Training):
    """Asks for something else in each step, and keeps what it is told."""

    asked = [{}, dict(output_partition_graphs=True), dict(trace_level=3),
             dict(trace_level=1)]

    def __init__(self, target):
        self.told = []
        super().__init__(target)

    def once(self):
        options = self.asked[len(self.told) % len(self.asked)]
        metadata = tf.RunMetadata()
        value = self.session.run(self.step, options=tf.RunOptions(**options),
                                 run_metadata=metadata)
        self.told.append((options, metadata))
        return value


@test(tfd_only=True, **PAIR)
def a_client_is_told_what_it_asked_for_and_nothing_else(cluster):
    with training(cluster.target(), Asking) as client, out_file() as out:
        document("trace", "--steps=12", at(cluster), "--out=" + out)
        with open(out) as f:
            names = [e["name"] for e in json.load(f)["traceEvents"]]
        client.end()
        assert client.error is None and len(client.told) >= 12
        assert names.count("product") == 12, names.count("product")
        for options, told in client.told:
            assert bool(told.step_stats.dev_stats) == (
                options.get("trace_level") == 3), (options, told)
            assert bool(told.partition_graphs) == bool(
                options.get("output_partition_graphs")), (options, told)
            assert not told.cost_graph.node, told
        traced = next(told for options, told in client.told
                      if options.get("trace_level") == 3)
        for device in traced.step_stats.dev_stats:  # once, not twice
            seen = [n.node_name for n in device.node_stats
                    if n.node_name in NODES]
            assert len(seen) == len(set(seen)), seen


@test(tfd_only=True, **PAIR)
def a_plain_client_gets_no_metadata(cluster):
    class Plain(Asking):
        asked = [{}]

        def once(self):
            metadata = tf.RunMetadata()
            value = self.session.run(self.step, run_metadata=metadata)
            self.told.append(({}, metadata))
            return value

    with training(cluster.target(), Plain) as client, out_file() as out:
        document("trace", "--steps=3", at(cluster), "--out=" + out)
        client.end()
        assert client.error is None
        assert {told.SerializeToString() for _, told in client.told} == {b""}


@test(tfd_only=True, **PAIR)
def callables_and_partial_runs_are_steps_too(cluster):
    with graph(), out_file() as out, tf.Session(cluster.target()) as session:
        p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with tf.device("/job:ps/task:0"):
            double = tf.multiply(p, 2.0, name="double")
        with tf.device("/job:worker/task:1"):
            total = tf.add(double, q, name="total_of_both")
        call = session.make_callable(total, [p, q])
        with tracing(cluster, out, "--steps=2", "--wait=20s") as waiting:
            assert call(1.0, 5.0) == 7.0
            handle = session.partial_run_setup([double, total], [p, q])
            assert session.partial_run(handle, double, {p: 3.0}) == 6.0
            assert session.partial_run(handle, total, {q: 1.0}) == 7.0
            assert "2 steps, 3 devices" in ended(waiting, DONE)
        with open(out) as f:
            names = [e["name"] for e in json.load(f)["traceEvents"]]
        assert names.count("double") == names.count("total_of_both") == 2, names
        assert call(2.0, 5.0) == 9.0


def handles(cluster):
    return {s["session"] for s in document("sessions", at(cluster))["sessions"]}


@test(tfd_only=True, limit=60)
def steps_of_one_session_alone_are_traced(server):
    with Cluster(server, **PAIR) as cluster, out_file() as out, \
            training(cluster.target()) as first:
        known = handles(cluster)
        with training(cluster.target()) as second:
            mine, = handles(cluster) - known
            document("trace", "--steps=4", "--session=" + mine, at(cluster),
                     "--out=" + out)
            with open(out) as f:
                labels = [e["args"]["label"] for e in
                          json.load(f)["traceEvents"] if e.get("cat") == "step"]
            assert labels == [mine] * 4, (labels, mine)
            for none in "nope", "x" * 3000, mine + "x", mine[:-1]:
                bad(REFUSED, ["is not found", none[:40]], "trace",
                    "--session=" + none, at(cluster), "--out=" + out + "2")
            assert not os.path.exists(out + "2")
            # Steps of others do not count.
            second.end()
            with tracing(cluster, out + "3", "--session=" + mine,
                         "--wait=20s") as waiting:
                ran = len(first.counts)
                wait_until(lambda: len(first.counts) > ran + 3, 20, "steps")
                second.session.close()
                ended(waiting, NO, "0 of 1 steps", "session was closed")
            assert not os.path.exists(out + "3")
        assert first.error is None


@test(tfd_only=True, **PAIR)
def what_there_is_is_answered_when_the_time_is_over(cluster):
    with out_file() as out:
        bad(NO, ["0 of 2 steps", "time to wait is over"], "trace", "--steps=2",
            "--wait=200ms", at(cluster), "--out=" + out)
        assert not os.path.exists(out)
        with open(out, "w") as f:
            f.write("mine")
        bad(NO, ["0 of 1 steps"], "trace", "--wait=200ms", at(cluster),
            "--out=" + out)
        with open(out) as f:
            assert f.read() == "mine"
        with graph(), tracing(cluster, out, "--steps=3", "--wait=2s",
                              "--json") as waiting:
            count = training_graph()
            with tf.Session(cluster.target()) as session:
                # The first has no part on a worker but the master's.
                session.run(tf.global_variables_initializer())
                assert session.run(count) == 1
            said = json.loads(ended(waiting, NO, "2 of 3 steps",
                                    "time to wait is over"))
        assert said["steps"] == 2 and said["asked"] == 3, said
        assert "over" in said["why"], said
        with open(out) as f:
            names = [e["name"] for e in json.load(f)["traceEvents"]]
        assert names.count("product") == 1, names


@test(tfd_only=True, **PAIR)
def one_trace_at_a_time_and_a_caller_who_goes_ends_it(cluster):
    with out_file() as out:
        with tracing(cluster, out, "--steps=7") as waiting:
            bad(REFUSED, ["unix:", "traces the next 7 steps", MASTER,
                          "one trace at a time"], "trace", at(cluster),
                "--out=" + out + "2")
            # Another task has a master of its own.
            bad(NO, ["0 of 1 steps"], "trace", "--wait=100ms",
                at(cluster, "worker", 1), "--out=" + out + "2")
            waiting.kill()
        def free():
            return call("trace", "--wait=50ms", at(cluster),
                        "--out=" + out + "2")[0] == NO
        wait_until(free, 20, "the end of the trace")
        with training(cluster.target()) as client:
            begin = time.time() * 1e6
            document("trace", at(cluster), "--out=" + out)
            check_clients(out, 1, begin, time.time() * 1e6)
            client.end()
            assert client.error is None


@test(tfd_only=True, limit=60)
def a_worker_that_dies_fails_a_step_and_not_the_trace(server):
    with Cluster(server, **PAIR) as cluster, graph(), out_file() as out:
        with tf.device("/job:worker/task:1"):
            taken = tf.FIFOQueue(1, [tf.int32], shared_name="q").dequeue("take")
        with tf.device("/job:worker/task:0"):
            used = tf.identity(taken, "used")
        session = kept_session(cluster.target())
        failed = []

        def wait():
            with expect(tf.errors.OpError):
                session.run(used)
            failed.append(True)

        with tracing(cluster, out, "--json", "--wait=30s") as waiting:
            thread = threading.Thread(target=wait, daemon=True)
            thread.start()
            wait_until(lambda: "take" in json.dumps(document(
                "steps", at(cluster, "worker", 1))), 20, "a step that waits")
            cluster["worker", 1].kill()
            said = json.loads(ended(waiting, DONE, "1 of the steps failed"))
        thread.join()
        assert failed and said["failed"] == 1 and said["nodes"] == 0, said
        with open(out) as f:
            spans = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
        assert len(spans) == 1 and spans[0]["cat"] == "step", spans
        assert spans[0]["args"]["label"], spans


@test(tfd_only=True, limit=120)
def a_worker_of_tensorflow_is_in_the_trace_of_its_master(server):
    real = tensorflow_server()
    with Cluster(server, others={("worker", 1): real}, **PAIR) as cluster, \
            training(cluster.target()) as client, out_file() as out:
        said = document("trace", "--steps=2", at(cluster), "--out=" + out)
        assert said["steps"] == 2 and said["devices"] == 3, said
        check_trace(out, 2, DEVICES, NODES)
        client.end()
        assert client.error is None


@test(tfd_only=True, limit=60)
def a_server_that_drains_ends_the_trace(server):
    with Cluster(server, worker=1) as cluster, out_file() as out:
        with tracing(cluster, out, "--steps=2") as waiting:
            good("shutdown", at(cluster))
            ended(waiting, NO, "0 of 2 steps", "the server stops")
        assert cluster["worker", 0].exit_code() == 0
        bad(UNREACHABLE, [cluster["worker", 0].address], "trace", at(cluster),
            "--out=" + out)
        assert not os.path.exists(out)


@test(tfd_only=True, **PAIR)
def what_cannot_be_traced_is_refused_by_name(cluster):
    here = at(cluster)
    with out_file() as out:
        to = "--out=" + out
        for code, words, arguments in [
                (USAGE, ["--out"], [here]),
                (2, ["/no/such", "No such file"], ["--out=/no/such/f", here]),
                (2, ["directory"], ["--out=/", here]),
                (USAGE, ["GRAPH"], ["--fetch=y", to, here]),
                (USAGE, ["--session"], ["g.pb", "--session=s", to, here]),
                (REFUSED, ["1001", "1 to 1000"], ["--steps=1001", to, here]),
                (REFUSED, ["1000000"], ["--steps=1000000", to, here]),
                (REFUSED, ["90000000 ms"], ["--wait=25h", to, here]),
                (USAGE, ["--session"], ["--session=" + "x" * 5000, to, here])]:
            bad(code, words, "trace", *arguments)
            assert not os.path.exists(out), arguments
        shown, code = on_terminal("trace", "--wait=50ms", to, here)
        assert code == NO and b"Ctrl-C" in shown and b"50 ms" in shown, shown


def registers(name, **fields):
    return message("EagerItem", register_function=message(
        "EagerFunction", function_def=function(name), **fields))


@test(tfd_only=True, **PAIR)
def functions_of_a_coordinator_are_steps_of_the_task_that_runs_them(cluster):
    with context(cluster, 2001) as c, out_file() as out:
        c.enqueue(give(1, 3.0), registers("twice"),
                  registers("part", is_component_function=True))
        with tracing(cluster, out, "--steps=2", "--wait=20s") as waiting:
            c.enqueue(run(2, "AddV2", 1, 1))  # an operation is no step
            call_twice = run(3, "twice", 1)
            call_twice.operation.is_function = True
            c.enqueue(call_twice)
            c.component(operation(4, "part", 1), 0, step=-7)
            assert "2 steps, 1 devices" in ended(waiting, DONE)
        with open(out) as f:
            events = [e for e in json.load(f)["traceEvents"]
                      if e["ph"] == "X"]
        assert [e["name"] for e in events].count("sum") == 2, events
        spans = [e["name"] for e in events if e["cat"] == "step"]
        assert len(spans) == 2 and "step -7" in spans, spans
        assert c.value(3) == c.value(4) == 6.0
        # What is not traced runs as before, and so does a failing one.
        with tracing(cluster, out, "--wait=20s", "--json") as waiting:
            with contextlib.suppress(grpc.RpcError):
                c.enqueue(drop(1), give(1, [1.0, 2.0], [1.0]))
            c.component(operation(5, "part", 3), 0, step=-9)
            assert json.loads(ended(waiting, DONE))["steps"] == 1


def varint(n):
    data = b""
    n %= 2**64
    while n > 127:
        data, n = data + bytes([n & 127 | 128]), n >> 7
    return data + bytes([n])


@test(tfd_only=True, **PAIR)
def a_request_that_is_none_traces_nothing(cluster):
    task = cluster["worker", 0]
    with grpc.insecure_channel(task.address) as channel:
        trace = channel.unary_unary("/tfd.Peer/TraceSteps")
        wait = b"\x18\x64"
        for request, code in [
                (b"", "INVALID_ARGUMENT"), (b"\xff", "INTERNAL"),
                (b"\x08", "INTERNAL"), (b"\x0a\x01x", "INTERNAL"),
                (b"\x08\x01\x12\x7fx", "INTERNAL"),
                (b"\x08\x01\x12\xff\xff\xff\xff\x7f" + wait, "INTERNAL"),
                (b"\x08\x00" + wait, "INVALID_ARGUMENT"),
                (b"\x08" + varint(-1) + wait, "INVALID_ARGUMENT"),
                (b"\x08" + varint(2**63 - 1) + wait, "INVALID_ARGUMENT"),
                (b"\x08" + varint(1001) + wait, "INVALID_ARGUMENT"),
                (b"\x08\x01", "INVALID_ARGUMENT"),
                (b"\x08\x01\x18" + varint(-1), "INVALID_ARGUMENT"),
                (b"\x08\x01\x18" + varint(2**62), "INVALID_ARGUMENT"),
                (b"\x08\x01\x12\x03a\x00b" + wait, "ABORTED")]:
            try:
                raise AssertionError(trace(request, timeout=10))
            except grpc.RpcError as error:
                assert error.code().name == code, (request, error)
        # Fields of later versions are passed over.
        assert b"time to wait" in trace(
            b"\x08\x01" + wait + b"\x9a\x06\x01x\xa0\x06\x07", timeout=10)
        with contextlib.suppress(grpc.RpcError):  # gone before it is answered
            trace(b"\x08\x01\x18" + varint(60000), timeout=0.2)
        assert b"time to wait" in trace(b"\x08\x01" + wait, timeout=10)
    assert good("health", at(cluster))


def field(tag, value):
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def step(begin, end, *more):
    return field(2, field(3, begin) + field(4, end) + b"".join(more))


@test(limit=60)
def an_answer_that_is_no_trace_is_refused(_):
    now = int(time.time() * 1e6)
    task = field(1, MASTER)
    with out_file() as out:
        for answer in (b"\xff", b"\x0a\x7fx", task + b"\x12\x05abc",
                       step(0, 0), step(-5, now), step(now, now - 1),
                       step(now, 2**63 - 1), step(2**62, 2**62 + 1),
                       field(2, b"\x38\x01\x3a"), step(now, now, b"\x39x"),
                       step(now, now, field(7, b"\x0a\x7f")),
                       step(now, now, field(7, b"\xff"))):
            with answering(GetStatus=b"", TraceSteps=answer) as target:
                bad(REFUSED, ["127.0.0.1"], "trace", target, "--out=" + out)
                assert not os.path.exists(out), answer
        odd = field(1, "\x1b[2J") + step(
            now, now + 5, field(1, -2**63), field(2, b"\xff\x1b"),
            field(5, 2**31 - 1), field(6, "\x1b]0;x\x07no\r\n"), field(8, 1)
            ) + field(4, 2**63 - 1) + field(3, "\x1b[2Jwhy")
        with answering(GetStatus=b"", TraceSteps=odd) as target:
            code, said, complained = call("trace", target, "--steps=2",
                                          "--out=" + out)
            assert code == NO and "1 of 2 steps" in complained, complained
            assert "too large" in complained and "failed" in complained
            assert not set(said + complained) & set("\x1b\r\x07"), complained
            with open(out) as f:
                span, = (e for e in json.load(f)["traceEvents"]
                         if e["ph"] == "X")
            assert span["dur"] == 5 and span["ts"] == now, span
        with answering(GetStatus=b"", TraceSteps=task) as target:
            bad(NO, ["0 of 1 steps"], "trace", target, "--out=" + out + "2")
        with answering(GetStatus=b"") as target:
            bad(REFUSED, ["TensorFlow's servers", "GRAPH"], "trace", target,
                "--out=" + out + "2")
        assert not os.path.exists(out + "2")


@test(limit=60)
def clocks_of_tasks_are_brought_to_the_masters(_):
    hour, asked = 3600 * 10**6, int(time.time() * 1e6)

    def stats(ahead):
        metadata = tf.RunMetadata()
        for name, start in (("/job:worker/replica:0/task:0", asked + 10),
                            ("/job:ps/replica:0/task:0", asked + 20 + ahead)):
            metadata.step_stats.dev_stats.add(
                device=name + "/device:CPU:0").node_stats.add(
                    node_name="n", all_start_micros=start,
                    all_end_rel_micros=30)
        return metadata.SerializeToString()

    answer = field(1, MASTER) + step(asked, asked + 100,
                                     field(7, stats(hour)))
    with out_file() as out, answering(GetStatus=b"",
                                      TraceSteps=answer) as target:
        document("trace", target, "--out=" + out)
        with open(out) as f:
            found = json.load(f)
    shifts = found["otherData"]["clock_shift_us"]
    assert shifts[MASTER] == 0, shifts
    assert abs(shifts["/job:ps/replica:0/task:0"] + hour) < 100, shifts
    for e in found["traceEvents"]:
        if e["ph"] == "X":
            assert asked <= e["ts"] and e["ts"] + e["dur"] <= asked + 100, e
    assert np.ptp([e["ts"] for e in found["traceEvents"]
                   if e["ph"] == "X"]) < 100
