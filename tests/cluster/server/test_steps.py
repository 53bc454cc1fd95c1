"""The last steps: /steps, the flight recorder, steps slow for their plan."""
import json
import os
import signal
import tempfile

from tests.cluster.client import expect, failing_op, graph, kept_session, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.server.test_log import JSON, events, wait_event
from tests.cluster.suite import test

SOON = 20


def steps(task):
    """What /steps says, the newest first."""
    status, headers, body = wire.get(task.port, "/steps")
    assert status == 200 and headers["content-type"] == "application/json"
    said = json.loads(body)
    assert said["version"] == 1 and len(said["kept"]) <= 1000, said
    return said["kept"]


def recorded(path):
    """The steps of a file, once it is there."""
    wait_until(lambda: os.path.exists(path), SOON, path)
    with open(path) as file:
        return json.load(file)["kept"]


@test(limit=60, tfd_only=True)
def steps_are_told_by_phase(server):
    with Cluster(server, [JSON], ps=1, worker=1) as cluster, graph():
        worker, ps = cluster["worker", 0], cluster["ps", 0]
        fed = tf.placeholder(tf.float32, [256], name="fed")
        with tf.device("/job:ps"):
            doubled = tf.multiply(fed, 2.0, name="doubled")
        broken = failing_op("broken")
        with tf.Session(worker.target) as session:
            session.run(doubled, {fed: [1.0] * 256})
            with expect(tf.errors.NotFoundError):
                session.run(broken)
            bad, good = steps(worker)
            assert not steps(ps), "it is no master of these"
            opened = wait_event(worker, "session_open")
            failed = wait_event(worker, "step_failed")
        assert good["name"] == "doubled:0", good
        assert (good["parts"], good["outcome"], good["error"]) == (2, "OK", "")
        assert good["slowest"] == "/job:ps/replica:0/task:0", good
        assert good["fed_bytes"] == good["fetched_bytes"] == 1024, good
        assert good["session"] == opened["session"], (good, opened)
        # The first step waits for its plan.
        assert 0 < good["plan_us"] <= good["total_us"], good
        assert 0 < good["others_us"] <= good["total_us"], good
        assert (bad["outcome"], bad["name"]) == ("NOT_FOUND", "broken"), bad
        assert "/no/such/file" in bad["error"], bad
        assert bad["step"] == failed["step"], (bad, failed)
        assert bad["begun_us"] > good["begun_us"] > 1.6e15


@test(limit=60, tfd_only=True)
def a_step_under_way_is_told(server):
    with Cluster(server, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(1, tf.float32)
        taken, put = queue.dequeue(name="taken"), queue.enqueue(1.0)
        session = kept_session(worker.target)
        call = session.make_callable(taken)
        waiting = tf.train.Coordinator()
        runner = tf.train.LooperThread(waiting, None, target=lambda: (
            call(), waiting.request_stop()))
        runner.start()
        wait_until(lambda: steps(worker), SOON, "the step")
        only, = steps(worker)
        assert (only["name"], only["outcome"]) == ("taken:0", "RUNNING"), only
        session.run(put)
        runner.join()
        assert [one["outcome"] for one in steps(worker)] == ["OK", "OK"]


@test(limit=60, tfd_only=True)
def a_thousand_steps_are_kept(server):
    with Cluster(server, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        one, other = tf.constant(1.0) + 1, tf.constant(2.0) + 1
        with tf.Session(worker.target) as session:
            session.run(other)
            run = session.make_callable(one)
            for _ in range(1000):
                run()
        kept = steps(worker)
        assert len(kept) == 1000, len(kept)
        assert {step["name"] for step in kept} == {kept[0]["name"]}
        assert len({step["step"] for step in kept}) == 1000


# ---- The flight recorder ----------------------------------------------------

@test(limit=60, tfd_only=True)
def the_recorder_writes_when_a_step_times_out(server):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.json")
        with Cluster(server, [JSON, "--flight_recorder=" + path],
                     worker=1) as cluster, graph():
            worker = cluster["worker", 0]
            taken = tf.FIFOQueue(1, tf.float32).dequeue(name="taken")
            with tf.Session(worker.target) as session:
                session.run(tf.constant(1.0) + 1)
                assert not os.path.exists(path)
                with expect(tf.errors.DeadlineExceededError):
                    session.run(taken,
                                options=tf.RunOptions(timeout_in_ms=100))
            last, first = recorded(path)
            assert last["name"] == "taken:0", last
            assert last["outcome"] in ("DEADLINE_EXCEEDED", "CANCELLED"), last
            assert last["total_us"] >= 50000 and first["outcome"] == "OK"
            told = wait_event(worker, "flight_recorder")
            assert told["path"] == path and told["steps"] == 2, told
            assert told["why"] == "a step has timed out", told
            assert os.listdir(folder) == ["steps.json"]


@test(limit=60, tfd_only=True)
def the_recorder_writes_when_it_is_asked_to(server):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.json")
        with Cluster(server, [JSON, "--flight_recorder=" + path],
                     worker=1) as cluster, graph():
            worker = cluster["worker", 0]
            worker.signal(signal.SIGUSR1)
            assert recorded(path) == []
            with tf.Session(worker.target) as session:
                session.run(tf.constant(1.0) + 1)
            worker.signal(signal.SIGUSR1)
            wait_event(worker, "flight_recorder", 2)
            assert [step["outcome"] for step in recorded(path)] == ["OK"]
            assert worker.alive()


@test(limit=60, tfd_only=True)
def the_recorder_writes_when_the_process_crashes(server):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.json")
        with Cluster(server, ["--flight_recorder=" + path],
                     worker=1) as cluster, graph():
            worker = cluster["worker", 0]
            session = kept_session(worker.target)
            session.run(tf.constant(1.0) + 1)
            worker.signal(signal.SIGSEGV)
            assert worker.process.wait(SOON) == -signal.SIGSEGV
            assert [step["outcome"] for step in recorded(path)] == ["OK"]


@test(limit=60, tfd_only=True)
def a_recorder_that_cannot_write_says_so_and_goes_on(server):
    with tempfile.TemporaryDirectory() as folder:
        inside = os.path.join(folder, "inside")
        os.mkdir(inside)
        path = os.path.join(inside, "steps.json")
        with Cluster(server, [JSON, "--flight_recorder=" + path],
                     worker=1) as cluster, graph():
            worker = cluster["worker", 0]
            os.rmdir(inside)
            worker.signal(signal.SIGUSR1)
            told = wait_event(worker, "flight_recorder")
            assert told["level"] == "error" and told["path"] == path, told
            assert "No such file" in told["error"], told
            with tf.Session(worker.target) as session:
                assert session.run(tf.constant(1.0) + 1) == 2
        with Cluster(server, [JSON, "--flight_recorder=/dev/full"],
                     worker=1) as cluster:
            worker = cluster["worker", 0]
            worker.signal(signal.SIGUSR1)
            told = wait_event(worker, "flight_recorder")
            assert "No space left" in told["error"], told
            assert worker.alive()


@test(limit=60, tfd_only=True)
def without_a_recorder_the_signal_ends_nothing(server):
    with Cluster(server, [JSON], worker=1) as cluster:
        worker = cluster["worker", 0]
        worker.signal(signal.SIGUSR1)
        told = wait_event(worker, "flight_recorder")
        assert "--flight_recorder" in told["hint"], told
        assert worker.alive()


# ---- Slow for their plan ----------------------------------------------------

def run_fast_then_slow(server, flags):
    """(the worker's step_slow events, the plan's own line of steps)"""
    with Cluster(server, [JSON, *flags], worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tf.FIFOQueue(100, tf.float32)
        put = queue.enqueue_many([[1.0] * 32])
        taken = queue.dequeue(name="taken")
        with tf.Session(worker.target) as session:
            session.run(put)
            take = session.make_callable(taken)
            for _ in range(32):
                take()
            with expect(tf.errors.DeadlineExceededError):
                session.run(taken, options=tf.RunOptions(timeout_in_ms=400))
        wait_event(worker, "session_closed")
        return events(worker, "step_slow"), steps(worker)[0]


@test(limit=60, tfd_only=True)
def a_step_that_is_slow_for_its_plan_is_told(server):
    told, last = run_fast_then_slow(server, [])
    slow = told[-1]
    assert slow["step"] == last["step"], (slow, last)
    assert (slow["plan"], slow["name"]) == (last["plan"], "taken:0"), slow
    assert slow["ms"] >= 300, slow
    assert 0 < float(slow["median_ms"]) <= slow["ms"] / 10, slow


@test(limit=60, tfd_only=True)
def factors_that_call_no_step_slow(server):
    for factor in ("0", "1000000"):
        told, _ = run_fast_then_slow(server, ["--slow_factor=" + factor])
        assert not told, told
