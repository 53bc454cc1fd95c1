"""Cases of kernels/control/sleep.c.  No sleep that counts is waited for: how long
one lasts is asked of steps that end by their deadline."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario
from tests.conformance.unlisted import op

SHORT_MS = 200
LONG = 3600


def sleep(seconds):
    return op("SleepOp", sleep_seconds=hidden(tf.constant(seconds, tf.int32)))


def passed(seconds, value):
    return op("SleepIdentityOp", sleep_seconds=tf.constant(seconds, tf.int32),
              input=value)


@scenario("SleepOp SleepIdentityOp", tol=0)
@fresh_graph
def sleeps_of_no_time(side):
    with side.session() as session:
        found = {"op": session.run(sleep(0)), "past": session.run(sleep(-5)),
                 "far past": session.run(sleep(-2**31)),
                 "after it": session.run(passed(-1, [1, 2, 3])),
                 "nothing": session.run(passed(0, np.zeros((0, 3))))}
        for dtype in TYPES:
            value = sample(dtype)
            found[dtype.name] = session.run(passed(0, tf.constant(value, dtype)))
    return {key: "nothing" if value is None else value for key, value in found.items()}


@scenario("SleepOp SleepIdentityOp", tol=0)
@fresh_graph
def sleeps_that_are_refused(side):
    with side.session() as session:
        return {"vector": told(session, sleep([0])),
                "two": told(session, sleep([0, 1])),
                "many": told(session, sleep(list(range(9)))),
                "none": told(session, sleep(np.zeros(0, np.int32))),
                "identity": told(session, op("SleepIdentityOp", input=1.0,
                                             sleep_seconds=hidden([[1]])))}


@scenario("SleepOp SleepIdentityOp", tol=0)
@fresh_graph
def sleeps_that_a_deadline_ends(side):
    """TensorFlow's own session would sleep on: what is right is said here."""
    if not side.target:
        return dict.fromkeys(("op", "identity", "many", "after"), "DeadlineExceededError")
    options = tf.RunOptions(timeout_in_ms=SHORT_MS)

    def ended(session, what):
        try:
            return str(session.run(what, options=options))
        except tf.errors.OpError as error:
            return type(error).__name__

    with side.session() as session:
        return {"op": ended(session, sleep(LONG)),
                "identity": ended(session, passed(2**31 - 1, [1.0])),
                "many": ended(session, [sleep(LONG) for _ in range(50)]),
                "after": ended(session, [passed(LONG, passed(0, [1.0]))])}


@scenario("SleepOp", tol=0)
@fresh_graph
def a_step_that_fails_does_not_sleep_on(side):
    wrong = tf.raw_ops.Assert(condition=False, data=["woken"])
    seconds = LONG if side.target else 0
    with side.session() as session:
        return {"told": told(session, [sleep(seconds), wrong])}


@scenario("GetDeadline", tol=0)
@fresh_graph
def deadlines_are_not_told(side):
    with side.session() as session:
        return {"told": told(session, op("GetDeadline"))}
