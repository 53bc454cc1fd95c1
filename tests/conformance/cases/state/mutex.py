"""Cases of kernels/state/mutex.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

raw = tf.raw_ops
OPS = "MutexV2 MutexLock ConsumeMutexLock"
SHORT_MS = 300


def name_of(what):
    return tf.get_default_graph().unique_name(what).replace("/", "_")


def mutex(name=None):
    return raw.MutexV2(shared_name=name or name_of("mutex"))


def end(lock):
    return raw.ConsumeMutexLock(mutex_lock=lock)


def done(session, fetch, **more):
    try:
        session.run(fetch, **more)
        return "done"
    except tf.errors.OpError as error:
        return type(error).__name__


@scenario(OPS, tol=0)
@fresh_graph
def locks_are_taken_and_given_back(side):
    name = name_of("shared")
    m, same = mutex(name), mutex(name)
    consumed = end(raw.MutexLock(mutex=m))
    left = raw.MutexLock(mutex=same)
    with side.session() as session, side.session() as other:
        out = [done(session, consumed), done(session, left.op),
               done(other, consumed), done(other, left.op),
               done(session, [left.op, consumed]),
               done(session, [end(raw.MutexLock(mutex=m)) for _ in range(40)]),
               done(session, consumed),
               np.array(left.shape.as_list()), np.array(m.shape.as_list())]
    return {"%02d" % i: value for i, value in enumerate(out)}


@scenario(OPS, tol=0)
@fresh_graph
def a_lock_that_never_comes(side):
    """One step wants it twice at once; then it ends, and the lock is free."""
    m = mutex()
    first = raw.MutexLock(mutex=m)
    with tf.control_dependencies([first]):
        second = raw.MutexLock(mutex=m)
    with tf.control_dependencies([second]):
        both = end(first)
    options = tf.RunOptions(timeout_in_ms=SHORT_MS)
    with side.session() as session:
        out = [done(session, both, options=options),
               done(session, both, options=options),
               done(session, end(raw.MutexLock(mutex=m)))]
    return {"%02d" % i: value for i, value in enumerate(out)}


@scenario(OPS, tol=0)
@fresh_graph
def wrong_locks(side):
    lock = raw.MutexLock(mutex=mutex())
    with side.session() as session:
        return {"vector": told(session, end(tf.stack([lock]))),
                "no mutex": done(session, raw.MutexLock(
                    mutex=raw.VarHandleOp(dtype=tf.float32, shape=[])).op),
                "no lock": done(session, end(hidden(raw.OptionalNone())))}


@scenario(OPS, tol=0)
@fresh_graph
def critical_sections(side):
    """The client's own class: additions of one step do not lose each other."""
    v = tf.get_variable(name_of("v"), initializer=0, use_resource=True)
    section = tf.CriticalSection(shared_name=name_of("section"))

    def add():
        with tf.control_dependencies([v.read_value()]):
            return v.assign_add(1, read_value=False)

    adds = [section.execute(add) for _ in range(30)]
    with side.session() as session:
        session.run(v.initializer)
        for _ in range(3):
            session.run(adds)
        return {"sum": session.run(v)}
