"""Collectives among sessions: every worker has one of its own, whose graph holds
its member alone, so that the masters must number their steps alike."""
from concurrent.futures import ThreadPoolExecutor
import contextlib

from tests.cluster.client import graph, np, plain_config, tf
from tests.cluster.cluster import Cluster
from tests.cluster.mixed.test_collectives import (
    SIZE, keys, on_every_mix, raw, value)
from tests.cluster.raw import Raw, code_of
from tests.cluster.suite import test

LATE = tf.RunOptions(timeout_in_ms=10000)


def member(cluster, rank, make):
    """A session of this worker, and what to run in it."""
    built = tf.Graph()
    with built.as_default(), tf.device("/job:worker/task:%d" % rank):
        fed = tf.placeholder(tf.float32, [None])
        node = make(rank, fed)
    session = tf.Session(cluster.target("worker", rank), graph=built,
                         config=plain_config())
    return session, node, fed


@contextlib.contextmanager
def members(cluster, make, options=LATE):
    """step(base) runs one in every session at once; what they give."""
    all_of = [member(cluster, rank, make) for rank in range(SIZE)]

    def one(rank, base):
        session, node, fed = all_of[rank]
        return session.run(node, {fed: value(rank, (9,)) + base}, options)

    with ThreadPoolExecutor(SIZE) as threads:
        yield lambda base: list(threads.map(one, range(SIZE), [base] * SIZE))
    for session, _, _ in all_of:
        session.close()


def total(base):
    return sum(value(rank, (9,)) + base for rank in range(SIZE))


def reduces_alone(fed):
    return raw.CollectiveReduce(
        input=fed, subdiv_offsets=[0], merge_op="Add", final_op="Id",
        **dict(keys(), group_size=1))


def reduces(version, key):
    fixed = dict(key, merge_op="Add", final_op="Id")
    if version == 1:
        return lambda rank, fed: raw.CollectiveReduce(
            input=fed, subdiv_offsets=[0], **fixed)
    return lambda rank, fed: raw.CollectiveReduceV2(
        input=fed, ordering_token=[], **fixed)


@on_every_mix()
def sessions_step_together(cluster):
    for version in (1, 2):
        with members(cluster, reduces(version, keys())) as step:
            for base in range(20):
                for got in step(base):
                    np.testing.assert_array_equal(got, total(base))


@on_every_mix()
def a_session_that_comes_later_counts_on(cluster):
    """Worker 2 is a new session each time; the others go on."""
    make = reduces(1, keys())
    with members(cluster, make) as step, ThreadPoolExecutor(SIZE) as threads:
        for got in step(1):
            np.testing.assert_array_equal(got, total(1))
        for base in range(3):
            others = [member(cluster, rank, make) for rank in range(SIZE)]
            waiting = [threads.submit(
                session.run, node, {fed: value(rank, (9,)) + base}, LATE)
                for rank, (session, node, fed) in enumerate(others)]
            for one in waiting:
                np.testing.assert_array_equal(one.result(), total(base))
            for session, _, _ in others:
                session.close()


def steps_again(step, base):
    """Those who know a task that is gone fail once or twice."""
    for attempt in range(4):
        try:
            return step(base)
        except tf.errors.OpError:
            if attempt == 3:
                raise


@test(limit=120, tfd_only=True)
def sessions_after_a_restart(server):
    """Of a member, and of the leader, which counts anew."""
    with Cluster(server, worker=SIZE) as cluster:
        make = reduces(2, keys())
        for restarted in (None, 2, 0):
            if restarted is not None:
                cluster["worker", restarted].kill()
                cluster.start("worker", restarted)
            for base in range(2):
                def new(base):
                    with members(cluster, make) as step:
                        return step(base)
                for got in steps_again(new, base):
                    np.testing.assert_array_equal(got, total(base))


def next_step(cluster, key):
    """What worker 0, the leader, says of this graph key."""
    response = Raw(cluster["worker", 0].address).worker(
        "GetStepSequence", graph_key=[key])
    assert [q.graph_key for q in response.step_sequence] == [key], response
    return response.step_sequence[0].next_step_id


def named(key):
    options = tf.RunOptions(timeout_in_ms=10000)
    options.experimental.collective_graph_key = key
    return options


@test(limit=60, worker=2)
def a_run_names_the_sequence_of_its_steps(cluster):
    """Of a graph with or without collectives; the first run of a signature
    decides, as in TensorFlow's master."""
    built = tf.Graph()
    with built.as_default(), tf.device("/job:worker/task:0"):
        fed = tf.placeholder(tf.float32, [])
        plain, other = fed + 1, fed + 2
        reduced = reduces_alone(fed)
    first = {key: next_step(cluster, key) for key in range(100, 104)}

    def moved():
        return [next_step(cluster, key) - first[key] for key in first]
    with tf.Session(cluster.target("worker", 0), graph=built,
                    config=plain_config()) as session:
        for count, (node, key, want) in enumerate((
                (plain, 100, [1, 0, 0, 0]), (plain, 100, [2, 0, 0, 0]),
                (plain, 101, [3, 0, 0, 0]), (plain, 0, [4, 0, 0, 0]),
                (other, 0, [4, 0, 0, 0]), (other, 101, [4, 0, 0, 0]),
                (reduced, 102, [4, 0, 1, 0]), (reduced, 103, [4, 0, 2, 0]))):
            got = session.run(node, {fed: count}, named(key))
            assert got >= count, got
            assert moved() == want, (count, moved(), want)


@on_every_mix()
def sessions_of_a_named_sequence_step_together(cluster):
    """The graph's own key would be another."""
    with members(cluster, reduces(1, keys()), named(90)) as step:
        for base in range(5):
            for got in step(base):
                np.testing.assert_array_equal(got, total(base))


@test(limit=60, tfd_only=True, worker=2)
def sequences_without_end(cluster):
    """A peer that asks for ever more of them; one with steps stays."""
    raw = Raw(cluster["worker", 0].address)
    with tf.Graph().as_default(), tf.Session(
            cluster.target("worker", 0), config=plain_config()) as session:
        with tf.device("/job:worker/task:0"):
            node = tf.constant(1.) + 1.
        session.run(node, options=named(99))
        used = next_step(cluster, 99)
        for first in range(1 << 20, (1 << 20) + 20000, 1000):
            told = raw.worker("GetStepSequence",
                              graph_key=range(first, first + 1000))
            assert len(told.step_sequence) == 1000
        assert next_step(cluster, 99) == used
        session.run(node, options=named(99))
        assert next_step(cluster, 99) == used + 1


@test(limit=60, tfd_only=True, worker=2)
def the_leader_alone_says_which_step_is_next(cluster):
    leader, other = (Raw(cluster["worker", i].address) for i in range(2))
    path = "/tensorflow.WorkerService/GetStepSequence"

    def ask(raw, *asked):
        request = b"".join(b"\x08" + bytes([key]) for key in asked)
        return raw.bytes(path, request)
    first, again = ask(leader, 5, 6), ask(leader, 5, 6)
    assert first == again and len(first) > 20, first
    packed = leader.bytes(path, b"\x0a\x02\x05\x06")
    assert packed == first, packed
    assert ask(leader) == b""
    for request in (b"\x0a\x02\x85\x86", b"\x08", b"\x0a\x05\x01"):
        assert code_of(leader.bytes, path, request) == (
            "INTERNAL", "Unable to parse request"), request
    code, text = code_of(leader.bytes, path, b"\x08\x05" * 30000)
    assert code == "INVALID_ARGUMENT" and "60000 bytes" in text, (code, text)
    code, text = code_of(other.bytes, path, b"\x08\x05")
    assert code == "INTERNAL" and "non-group-leader" in text, (code, text)
