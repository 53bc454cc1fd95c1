"""Cases of kernels/control/batching.c: steps of several threads that wait for each
other.  Batches end when they are full; a time that a batch waits is either none, or
so long that nobody waits for it."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import TYPES, Waiting
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
LONG_US = 1800 * 1000000
SHORT_MS = 200


def batch(inputs, rows=4, timeout=LONG_US, name=None, threads=1, **attrs):
    if name is None:
        name = tf.get_default_graph().unique_name("batch").replace("/", "_")
    b = raw.Batch(in_tensors=inputs, num_batch_threads=threads, max_batch_size=rows,
                  batch_timeout_micros=timeout, grad_timeout_micros=0,
                  shared_name=name, **attrs)
    return [*b.batched_tensors, b.batch_index, b.id]


def plain(results):
    """What steps got, the one with the rows first; ids are numbers from 1 on."""
    if any(isinstance(found, str) for found in results):
        return {str(i): found for i, found in enumerate(sorted(map(str, results)))}
    ids = {}
    results = sorted(results, key=lambda found: -found[-2].size)
    for found in results:
        for row in found[-2]:
            ids[row[0]] = len(ids) + 1
    out = {}
    for i, found in enumerate(results):
        index = found[-2].copy()
        for row in index:
            row[0] = ids[row[0]]
        out.update({"%d %d" % (i, j): value for j, value in enumerate(found[:-2])})
        out["%d index" % i] = index
        out["%d id" % i] = found[-1] in ids if i else ids[found[-1]]
    return out


def together(side, build, feeds, dtype=tf.float32):
    """Steps of so many threads and two sessions, with these values; TensorFlow's own
    sessions share nothing, so that it has one."""
    x = tf.placeholder(dtype, None)
    fetches = build(x)
    with side.session() as one, side.session() as other:
        sessions = (one, other if side.target else one)
        steps = [Waiting(sessions[i % 2], fetches, {x: value})
                 for i, value in enumerate(feeds)]
        return plain([step.result() for step in steps])


def alone(side, fetches):
    with side.session() as session:
        return plain([told(session, fetches)])


@scenario("Batch", tol=0)
@fresh_graph
def two_clients_fill_a_batch(side):
    return together(side, lambda x: batch([x]), [[1.0, 1.0], [1.0, 1.0]])


@scenario("Batch", tol=0)
@fresh_graph
def many_clients_fill_a_batch(side):
    return together(side, lambda x: batch([x, x + 1], rows=8, threads=4),
                    8 * [np.ones((1, 3))])


@scenario("Batch", tol=0)
@fresh_graph
def a_batch_of_each_type(side):
    out = {}
    for dtype in TYPES:
        value = tf.constant(sample(dtype), dtype)
        found = alone(side, batch([value], timeout=0, allowed_batch_sizes=[3, 4]))
        out.update({dtype.name + " " + key: what for key, what in found.items()})
    return out


@scenario("Batch", tol=0)
@fresh_graph
def batches_of_one_step(side):
    return {name + " " + key: what for name, fetches in {
        "in time": batch([[1.0, 2.0]], timeout=0),
        "full": batch([[1.0, 2.0]], rows=2),
        "filled up": batch([[1.0, 2.0]], timeout=0, allowed_batch_sizes=[1, 4]),
        "exactly": batch([[1.0, 2.0]], timeout=0, allowed_batch_sizes=[2, 4]),
        "sizes below": batch([[1.0]], timeout=0, allowed_batch_sizes=[-1, 4]),
        "no limit": batch([[1.0]], timeout=0, rows=-1),
        "no line": batch([[1.0]], timeout=0, max_enqueued_batches=0),
        "rows of nothing": batch([np.zeros((2, 0))], timeout=0),
        "several": batch([[[1, 2]], [b"a"]], timeout=0, allowed_batch_sizes=[3, 4]),
        "queue": batch([[1.0]], timeout=0, batching_queue="q"),
    }.items() for key, what in alone(side, fetches).items()}


@scenario("Batch", tol=0)
@fresh_graph
def steps_without_rows(side):
    with side.session() as session:
        return {"%s %d" % (name, i): value for name, fetches in {
            "one": batch([np.zeros(0)]), "two": batch([np.zeros((0, 3)), np.zeros((0, 2))]),
        }.items() for i, value in enumerate(session.run(fetches))}


@scenario("Batch", tol=0)
@fresh_graph
def batches_that_are_refused(side):
    with side.session() as session:
        return {name: str(told(session, fetches)).split(". Below")[0] for name, fetches in {
            "scalar": batch([hidden(1.0)]),
            "too many": batch([np.ones(5)]),
            "unlike": batch([hidden([1.0]), hidden([1.0, 2.0])])[0],
            "no rows": batch([[1.0]], rows=0),
            "no threads": batch([[1.0]], threads=0),
            "fewer threads": batch([[1.0]], threads=-1),
            "past": batch([[1.0]], timeout=-1),
            "far": batch([[1.0]], timeout=2**31),
            "too large": batch([[1.0]], rows=2**31),
            "descending": batch([[1.0]], allowed_batch_sizes=[3, 2]),
            "twice": batch([[1.0]], allowed_batch_sizes=[4, 4]),
            "another end": batch([[1.0]], allowed_batch_sizes=[2, 3]),
            "large size": batch([[1.0]], allowed_batch_sizes=[2**33]),
            "quantised": batch([tf.bitcast(tf.constant([1], tf.int8), tf.qint8)],
                               timeout=0)[1],
        }.items()}


def until_one_ends(steps):
    """That one first."""
    while all(step.is_alive() for step in steps):
        steps[0].join(0.01)
    return sorted(steps, key=lambda step: step.is_alive())


@scenario("Batch", tol=0)
@fresh_graph
def a_line_that_is_full_refuses_a_step(side):
    """One batch may wait, which has no room for another step; a third fills it."""
    x = tf.placeholder(tf.float32, None)
    fetches = batch([x], max_enqueued_batches=1)
    with side.session() as session:
        refused, waits = until_one_ends(
            [Waiting(session, fetches, {x: np.ones(3)}) for _ in range(2)])
        last = told(session, fetches, {x: np.ones(1)})
        out = plain([waits.result(), last])
        return {**out, "refused": refused.result()}


@scenario("Batch", tol=0)
@fresh_graph
def a_batch_goes_when_the_next_begins(side):
    """Three rows go, as three more have no room, which wait for another one."""
    x = tf.placeholder(tf.float32, None)
    fetches = batch([x])
    with side.session() as session:
        goes, waits = until_one_ends(
            [Waiting(session, fetches, {x: np.ones(3)}) for _ in range(2)])
        last = told(session, fetches, {x: np.ones(1)})
        out = {"goes " + key: value for key, value in plain([goes.result()]).items()}
        return {**out, **plain([waits.result(), last])}


@scenario("Batch", tol=0)
@fresh_graph
def a_batch_that_waits_ends_with_its_step(side):
    """TensorFlow waits on, and tells one step alone of parts that do not fit: what
    is right is said here."""
    if not side.target:
        return {"late": "DeadlineExceededError", "0": "Dimensions", "1": "Dimensions",
                "ranks 0": "Ranks", "ranks 1": "Ranks"}
    options = tf.RunOptions(timeout_in_ms=SHORT_MS)
    x, out = tf.placeholder(tf.float32, None), {}
    with side.session() as session:
        try:
            out["late"] = str(session.run(batch([[1.0]]), options=options))
        except tf.errors.OpError as error:
            out["late"] = type(error).__name__
        for name, other in ("", np.ones((2, 2))), ("ranks ", [1.0, 2.0]):
            fetches = batch([x])
            steps = [Waiting(session, fetches, {x: np.ones((2, 3))}),
                     Waiting(session, fetches, {x: other})]
            for i, step in enumerate(steps):
                found = str(step.result()).split(": ", 1)
                out["%s%d" % (name, i)] = found[-1].split(" ")[0]
    return out
