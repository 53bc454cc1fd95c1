"""What the log of a server tells."""
import datetime
import json
import signal
import time

from tests.cluster.client import expect, failing_op, graph, kept_session, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.suite import test
from tests.cluster.watch import metric, wait_metric

JSON = "--log_format=json"
SOON = 20


def events(task, name=None):
    """The objects of a task's log, each line one."""
    lines = [json.loads(line) for line in task.log_text().splitlines()]
    for line in lines:
        assert list(line)[:3] == ["time", "level", "event"], line
    return [line for line in lines if name in (None, line["event"])]


def moment(event):
    """When it was, as time.time() has it."""
    told = datetime.datetime.strptime(event["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    return told.replace(tzinfo=datetime.timezone.utc).timestamp()


def wait_event(task, name, count=1):
    """The last of them, once there are so many."""
    return wait_until(lambda: events(task, name)[count - 1:], SOON,
                      "%s in the log of %s" % (name, task.name))[-1]


@test(limit=60, tfd_only=True)
def sessions_are_told_with_their_clients(server):
    with Cluster(server, [JSON], worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        one = tf.constant(1.0) + 1
        for number in (1, 2):
            with tf.Session(worker.target) as session:
                session.run(one)
                session.run(one)
            opened = wait_event(worker, "session_open", number)
            closed = wait_event(worker, "session_closed", number)
            assert closed["session"] == opened["session"]
            assert opened["client"].startswith("127.0.0.1:"), opened
            assert closed["client"] == opened["client"]
            assert closed["steps"] == 2, closed
            assert closed["why"] == "by its client", closed
        kept = kept_session(worker.target)
        kept.run(one)
        tf.Session.reset(worker.target)
        assert wait_event(worker, "session_closed", 3)["why"] == "by a Reset"
        assert not events(worker, "step")


@test(limit=60, tfd_only=True)
def a_failed_step_is_told_with_its_op(server):
    name = "outer/does_not_work"
    with Cluster(server, [JSON], ps=1, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        with tf.device("/job:ps"):
            bad = failing_op(name)
        with tf.Session(worker.target) as session:
            with expect(tf.errors.NotFoundError):
                session.run(bad)
            failed = wait_event(worker, "step_failed")
            assert failed["op"] == name, failed
            assert failed["code"] == "NOT_FOUND", failed
            assert "/no/such/file" in failed["error"], failed
            for _ in range(200):  # as fast as it can
                with expect(tf.errors.NotFoundError):
                    session.run(bad)
        told = wait_event(worker, "session_closed")
        assert told["failed"] == told["steps"] == 201, told
        assert len(events(worker, "step_failed")) < 200
        assert not events(cluster["ps", 0], "step_failed")


@test(limit=60, tfd_only=True)
def a_lost_peer_is_told_and_when_it_is_back(server):
    with Cluster(server, [JSON], ps=1, worker=1) as cluster, graph():
        ps, worker = cluster["ps", 0], cluster["worker", 0]
        with tf.device("/job:ps"):
            one = tf.constant(1.0) + 1
        with tf.Session(worker.target) as session:
            session.run(one)
        ps.kill()
        lost = wait_event(worker, "peer_lost")
        assert lost["task"] == "/job:ps/replica:0/task:0", lost
        assert lost["address"] == ps.address and lost["why"], lost
        assert not events(worker, "peer_back")
        cluster.start("ps", 0)
        with tf.Session(worker.target) as session:
            session.run(one)
        back = wait_event(worker, "peer_back")
        assert back["task"] == lost["task"], back
        assert len(events(worker, "peer_lost")) == 1
        worker.signal(signal.SIGTERM)
        assert worker.exit_code() == 0
        # Whoever ends has lost nobody.
        assert len(events(worker, "peer_lost")) == 1


@test(limit=60, tfd_only=True)
def slow_steps_are_told_and_every_step_if_wanted(server):
    flags = [JSON, "--slow_step=50ms", "--log_level=debug"]
    with Cluster(server, flags, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(1, tf.float32)
        one = tf.constant(1.0) + 1
        with tf.Session(worker.target) as session:
            session.run(one)
            first = wait_event(worker, "step")
            assert first["code"] == "OK"
            before = float(first["ms"]) > 50  # whose own line comes behind it
            taken = queue.dequeue()
            begun = time.time()
            with expect(tf.errors.DeadlineExceededError):
                session.run(taken, options=tf.RunOptions(timeout_in_ms=200))
            slow = wait_event(worker, "step_slow", before + 1)
            # The client's deadline counts from its request.  The step counts
            # from when its graph is registered, some milliseconds later where
            # processors are busy.
            ended = moment(slow)
            assert begun + .2 - .001 <= ended <= time.time(), (slow, begun)
            assert 50 <= slow["ms"] <= (ended - begun) * 1000, (slow, begun)
            assert slow["threshold_ms"] == 50, slow
            steps = [e for e in events(worker, "step")
                     if e["step"] == slow["step"]]
            # The client's own deadline ends the call at the same instant.
            assert len(steps) == 1 and steps[0]["code"] in (
                "DEADLINE_EXCEEDED", "CANCELLED"), steps
            assert int(float(steps[0]["ms"])) == slow["ms"], steps


@test(limit=60, tfd_only=True)
def a_ps_counts_the_steps_it_takes_part_in(server):
    with Cluster(server, ps=2, worker=1) as cluster, graph():
        first, second = cluster["ps", 0], cluster["ps", 1]
        with tf.device("/job:ps/task:0"):
            one = tf.constant(1.0) + 1
        with tf.Session(cluster.target("worker")) as session:
            for _ in range(5):
                session.run(one)
        wait_metric(first, "tfd_worker_steps_total", 5, SOON)
        assert metric(second, "tfd_worker_steps_total") == 0
        assert metric(first, "tfd_steps_total") == 0


@test(limit=60, tfd_only=True)
def what_a_graph_prints_becomes_lines(server):
    with Cluster(server, [JSON], worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        value = tf.constant([1.5, 2.5, 3.5])
        told = tf.raw_ops.Print(input=value, data=[value, ["x"]], first_n=2,
                                message="at: ", summarize=2, name="told")
        forged = "one\n<3>two \x1b[2J\n" + "\u00e9" * 1000
        warned = tf.raw_ops.PrintV2(input=forged, name="warned",
                                    output_stream="log(warning)")
        with tf.Session(worker.target) as session:
            for _ in range(3):
                session.run(told.op)
            session.run(warned)
        wait_event(worker, "print", 7)
        lines = events(worker, "print")
        assert [line["node"] for line in lines] == (
            ["told"] * 2 + ["warned"] * 5), lines
        assert [line["level"] for line in lines[1:3]] == ["info", "warn"]
        assert lines[0]["text"] == "at: [1.5 2.5...][x]", lines
        assert "".join(line["text"] for line in lines[2:]) == (
            forged.replace("\n", "")), lines


@test(limit=60, tfd_only=True)
def a_print_tells_so_many_lines(server):
    with Cluster(server, [JSON], worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        told = tf.raw_ops.PrintV2(input="\n" * 5000, end="")
        with tf.Session(worker.target) as session:
            session.run(told)
        wait_event(worker, "print", 1001)
        lines = events(worker, "print")
        assert len(lines) == 1001, len(lines)
        assert (lines[-1]["text"], int(lines[-1]["left_out"])) == ("...", 4000)


@test(limit=60, tfd_only=True)
def unicode_is_a_library_of_its_first_op(server):
    def has_library():
        with open("/proc/%d/maps" % worker.process.pid) as maps:
            return "libicuuc" in maps.read()

    with Cluster(server, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        plain = tf.strings.lower(["A\u00c9"])
        with tf.Session(worker.target) as session:
            assert session.run(plain)[0] == "a\u00c9".encode()
            assert not has_library()
            wide = tf.strings.lower(["A\u00c9"], encoding="utf-8")
            assert session.run(wide)[0] == "a\u00e9".encode()
            assert has_library()
