"""Cases of kernels/control/unbatch.c and unbatch_grad.c: steps that give each other
their rows.  A time that a step waits is either none, or so long that nobody waits for
it."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.control.batching import LONG_US, batch, until_one_ends
from tests.conformance.cases.state.waiting import TYPES, Waiting
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
NONE = np.zeros((0, 3), np.int64)
NO_ROWS = np.zeros(0, np.float32)


def place(name=None):
    """A name that no other case has."""
    return tf.get_default_graph().unique_name(name or "place").replace("/", "_")


def rows_of(*rows):
    """[id, first, behind] each."""
    return np.array(rows, np.int64).reshape(-1, 3)


def unbatch(data, index, step, name, timeout=LONG_US):
    return raw.Unbatch(batched_tensor=hidden(data), batch_index=hidden(index),
                       id=hidden(np.int64(step)), timeout_micros=timeout, shared_name=name)


def gathered(data, index, grad, step, name):
    return raw.UnbatchGrad(original_input=hidden(data), batch_index=hidden(index),
                           grad=hidden(grad), id=hidden(np.int64(step)), shared_name=name)


def floats(*values):
    return np.array(values, np.float32)


# ---- Unbatch -----------------------------------------------------------------------


@scenario("Unbatch", tol=0)
@fresh_graph
def rows_of_a_step_alone(side):
    data = floats(1, 2, 3)
    with side.session() as session:
        return {name: told(session, fetch) for name, fetch in {
            "all": unbatch(data, rows_of(7, 0, 3), 7, place()),
            "sizes count": unbatch(data, rows_of(7, 100, 102), 7, place()),
            "fewer": unbatch(data, rows_of(7, 0, 2), 7, place()),
            "none": unbatch(data, rows_of((7, 0, 0), (8, 0, 3)), 7, place()),
            "second": unbatch(np.arange(12).reshape(4, 3), rows_of((7, 0, 1), (8, 1, 4)), 8,
                              place()),
            "aligned": unbatch(np.arange(64, dtype=np.float32).reshape(4, 16),
                               rows_of((7, 0, 1), (8, 1, 3)), 8, place()),
            "rows of nothing": unbatch(np.zeros((4, 0)), rows_of((7, 0, 1), (8, 1, 4)), 8, place()),
            "no time": unbatch(data, rows_of(7, 0, 3), 7, place(), timeout=0),
            "time before": unbatch(data, rows_of(7, 0, 3), 7, place(), timeout=-1),
            "index of three": unbatch(data, rows_of(7, 0, 3).reshape(1, 3, 1), 7, place()),
        }.items()}


@scenario("Unbatch", tol=0)
@fresh_graph
def rows_of_each_type(side):
    with side.session() as session:
        return {dtype.name: told(session, raw.Unbatch(
            batched_tensor=tf.constant(sample(dtype), dtype),
            batch_index=rows_of((7, 0, 1), (8, 1, 2)), id=np.int64(8), timeout_micros=LONG_US,
            shared_name=place())) for dtype in TYPES}


@scenario("Unbatch", tol=0)
@fresh_graph
def rows_that_wait_for_their_step(side):
    name, out = place(), {}
    with side.session() as session:
        out["brings"] = told(session, unbatch(floats(1, 2, 3), rows_of((7, 0, 1), (8, 1, 3)), 7,
                                              name))
        out["again"] = told(session, unbatch(floats(4), rows_of(8, 0, 1), 9, name))
        out["takes"] = told(session, unbatch(NO_ROWS, NONE, 8, name))
    return out


@scenario("Unbatch", tol=0)
@fresh_graph
def steps_that_wait_for_their_rows(side):
    """Of two with one id the second is refused, and the first gets the rows."""
    name = place()
    with side.session() as session:
        late = unbatch(NO_ROWS, NONE, 8, name)
        brings = unbatch(floats(1, 2, 3), rows_of((7, 0, 1), (8, 1, 3)), 7, name)
        refused, waits = until_one_ends([Waiting(session, late), Waiting(session, late)])
        return {"refused": refused.result(), "brings": told(session, brings),
                "waits": waits.result()}


@scenario("Unbatch", tol=0)
@fresh_graph
def batches_are_taken_apart_again(side):
    x = tf.placeholder(tf.float32, None)
    rows, index, step = batch([x], rows=8, threads=2)
    y = raw.Unbatch(batched_tensor=rows * 2, batch_index=index, id=step,
                    timeout_micros=LONG_US, shared_name=place())
    with side.session() as session:
        steps = [Waiting(session, y, {x: np.full((1 + i % 2, 3), i)}) for i in range(5)]
        steps.append(Waiting(session, y, {x: np.full((1, 3), 9)}))
        return {str(i): step.result() for i, step in enumerate(steps)}


@scenario("Unbatch", tol=0)
@fresh_graph
def rows_that_do_not_come(side):
    with side.session() as session:
        return {name: told(session, fetch) for name, fetch in {
            "none": unbatch(NO_ROWS, NONE, 8, place(), timeout=0),
            "another's": unbatch(floats(1), rows_of(7, 0, 1), 8, place(), timeout=1000),
        }.items()}


@scenario("Unbatch", tol=0)
@fresh_graph
def rows_that_are_refused(side):
    data = floats(1, 2, 3)
    with side.session() as session:
        return {name: told(session, fetch) for name, fetch in {
            "long index": unbatch(floats(1), rows_of((7, 0, 1), (8, 1, 1)), 7, place()),
            "narrow index": unbatch(data, np.array([[7, 0]]), 7, place()),
            "deep index": unbatch(data, rows_of(7, 0, 3).reshape(1, 1, 3), 7, place()),
            "no scalar": unbatch(data, rows_of(7, 0, 3), [7], place()),
            "too many rows": unbatch(data, rows_of(7, 0, 4), 7, place()),
            "far too many": unbatch(data, rows_of((7, 0, 2**61), (8, 0, 2**61)), 7, place()),
            "one id twice": unbatch(data, rows_of((8, 0, 1), (8, 1, 3)), 7, place()),
            "far": unbatch(data, rows_of(7, 0, 3), 7, place(), timeout=2**31),
            "quantised": tf.bitcast(raw.Unbatch(
                batched_tensor=tf.bitcast(tf.constant([1], tf.int8), tf.qint8),
                batch_index=rows_of(7, 0, 1), id=np.int64(7), timeout_micros=0,
                shared_name=place()), tf.int8),
        }.items()}


@scenario("Unbatch", tol=0)
@fresh_graph
def what_ends_tensorflow_is_refused(side):
    """TensorFlow's process aborts, so that what is right is said here."""
    data = floats(1, 2, 3)
    wrong = {
        "vector": (data, np.array([7, 0, 1])),
        "scalar": (data, np.int64(7)),
        "too much": (data, np.full((1, 3, 2), 7)),
        "no rows": (np.float32(1), rows_of(7, 0, 1)),
        "backwards": (data, rows_of(7, 3, 0)),
        "overflow": (data, rows_of(7, 2**63 - 1, -2**63)),
    }
    if not side.target:
        return dict.fromkeys(wrong, "InvalidArgumentError")
    with side.session() as session:
        return {name: told(session, unbatch(value, index, 7, place())).split(":")[0]
                for name, (value, index) in wrong.items()}


@scenario("Unbatch", tol=0)
@fresh_graph
def a_step_that_waits_for_rows_is_cancelled(side):
    """TensorFlow waits on; its rows come later, and wait for the next step."""
    if not side.target:
        return {"late": "DeadlineExceededError", "brings": floats(1), "next": floats(2)}
    name = place()
    with side.session() as session:
        late = unbatch(NO_ROWS, NONE, 8, name)
        try:
            found = str(session.run(late, options=tf.RunOptions(timeout_in_ms=200)))
        except tf.errors.OpError as error:
            found = type(error).__name__
        return {"late": found, "brings": told(session, unbatch(
            floats(1, 2), rows_of((7, 0, 1), (8, 1, 2)), 7, name)), "next": told(session, late)}


# ---- UnbatchGrad -------------------------------------------------------------------


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_of_a_step_alone(side):
    data = floats(1, 2, 3)
    with side.session() as session:
        return {name: told(session, fetch) for name, fetch in {
            "own": gathered(data, rows_of(7, 0, 3), floats(4, 5, 6), 7, place()),
            "no batch": gathered(NO_ROWS, NONE, floats(5, 6), 8, place()),
            "rows": gathered(NO_ROWS, NONE, np.ones((2, 3), np.float32), 8, place()),
            "nothing in rows": gathered(np.zeros((2, 0)), rows_of(7, 0, 2), np.zeros((2, 0)), 7,
                                        place()),
            "index of three": gathered(data, rows_of(7, 0, 3).reshape(1, 3, 1), data, 7, place()),
        }.items()}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_of_each_type(side):
    with side.session() as session:
        return {dtype.name: told(session, raw.UnbatchGrad(
            original_input=tf.constant(sample(dtype), dtype), batch_index=rows_of(7, 0, 2),
            grad=tf.constant(sample(dtype), dtype), id=np.int64(7), shared_name=place()))
                for dtype in TYPES}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_of_several_steps(side):
    """Whoever comes first."""
    name, index = place(), rows_of((7, 0, 1), (8, 1, 3), (9, 3, 4))
    with side.session() as session:
        steps = {"batch": gathered(floats(1, 2, 3, 4), index, floats(5), 7, name),
                 "second": gathered(NO_ROWS, NONE, floats(6, 7), 8, name),
                 "third": gathered(NO_ROWS, NONE, floats(8), 9, name)}
        waiting = {key: Waiting(session, fetch) for key, fetch in steps.items()}
        return {key: step.result() for key, step in waiting.items()}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_that_came_before(side):
    name = place()
    with side.session() as session:
        return {str(i): told(session, fetch) for i, fetch in enumerate((
            gathered(NO_ROWS, NONE, floats(9), 9, name),
            gathered(floats(1), rows_of(9, 0, 1), floats(4), 7, name),
            gathered(floats(1), rows_of(7, 0, 1), floats(5), 10, name),
            gathered(NO_ROWS, NONE, floats(9), 10, name)))}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def two_batches_want_one_gradient(side):
    name = place()
    with side.session() as session:
        steps = [Waiting(session, gathered(floats(1, 2), rows_of((i, 0, 1), (8, 1, 2)),
                                           floats(5), i, name)) for i in (7, 9)]
        refused, waits = until_one_ends(steps)
        return {"refused": refused.result(),
                "comes": told(session, gathered(NO_ROWS, NONE, floats(6), 8, name)),
                "waits": waits.result()}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_that_are_refused(side):
    name, data = place(), floats(1, 2, 3)
    with side.session() as session:
        told(session, gathered(NO_ROWS, NONE, floats(5), 8, name))
        return {key: told(session, fetch) for key, fetch in {
            "twice": gathered(NO_ROWS, NONE, floats(5), 8, name),
            "no scalar": gathered(data, rows_of(7, 0, 3), data, [7], place()),
            "no index": gathered(data, NONE, data, 7, place()),
            "narrow index": gathered(data, np.array([[7, 0]]), data, 7, place()),
            "one id twice": gathered(data, rows_of((7, 0, 1), (7, 1, 3)), data, 7, place()),
        }.items()}


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def gradients_that_do_not_fit(side):
    """TensorFlow tells the step that came last, and the one with the batch waits for
    ever; of scalars it aborts.  What is right is said here."""
    cases = {"ranks": np.ones((1, 1), np.float32), "scalar": np.float32(1)}
    if not side.target:
        return {"ranks batch": "InvalidArgumentError", "ranks other": (0, 1),
                "scalar batch": "hangs", "scalar other": "InvalidArgumentError"}
    out = {}
    for key, grad in cases.items():
        name = place()
        with side.session() as session:
            whole = Waiting(session, gathered(floats(1, 2), rows_of((7, 0, 1), (8, 1, 2)),
                                              floats(5), 7, name))
            other = told(session, gathered(NO_ROWS, NONE, grad, 8, name))
            out[key + " other"] = other.split(":")[0] if isinstance(other, str) else other.shape
            if key == "ranks":
                out[key + " batch"] = str(whole.result()).split(":")[0]
            else:
                out[key + " batch"] = "hangs" if whole.is_alive() else "ends"
    return out


@scenario("UnbatchGrad", tol=0)
@fresh_graph
def a_step_that_waits_for_gradients_is_cancelled(side):
    """TensorFlow waits for ever; here its ids are free again."""
    if not side.target:
        return {"late": "DeadlineExceededError", "again": floats(6, 5)}
    name = place()
    with side.session() as session:
        whole = gathered(floats(1, 2), rows_of((8, 1, 2), (7, 0, 1)), floats(5), 7, name)
        try:
            found = str(session.run(whole, options=tf.RunOptions(timeout_in_ms=200)))
        except tf.errors.OpError as error:
            found = type(error).__name__
        told(session, gathered(NO_ROWS, NONE, floats(6), 8, name))
        return {"late": found, "again": told(session, whole)}
