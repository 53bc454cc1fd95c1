"""Barriers: tuples that are put together by key, blocking, closing, orders."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import told, TYPES, until, Waiting
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario

raw = tf.raw_ops
F = tf.float32
NAMES = ("Barrier BarrierInsertMany BarrierTakeMany BarrierClose "
         "BarrierReadySize BarrierIncompleteSize")


class Barrier:
    def __init__(self, session, types=(F, F), shapes=((), ()), **options):
        self.session, self.types = session, list(types)
        self.handle = raw.Barrier(component_types=self.types,
                                  shapes=list(shapes), **options)
        self.ready = raw.BarrierReadySize(handle=self.handle)
        self.incomplete = raw.BarrierIncompleteSize(handle=self.handle)

    def insert(self, keys, values, component):
        return told(self.session, raw.BarrierInsertMany(
            handle=self.handle, keys=keys, values=values,
            component_index=component))

    def taken(self, count, types=None, **options):
        return raw.BarrierTakeMany(
            handle=self.handle, num_elements=count,
            component_types=types or self.types, **options)

    def take(self, *arguments, **options):
        return told(self.session, self.taken(*arguments, **options))

    def taker(self, count):
        """A thread whose step has come to its take: a queue says so."""
        begun = raw.FIFOQueueV2(component_types=[F])
        with tf.control_dependencies([raw.QueueEnqueueV2(
                handle=begun, components=[0.0])]):
            waiting = Waiting(self.session, self.taken(count))
        until(self.session, raw.QueueSizeV2(handle=begun), 1)
        return waiting

    def close(self, cancel=False):
        return told(self.session, raw.BarrierClose(
            handle=self.handle, cancel_pending_enqueues=cancel))

    def sizes(self):
        return told(self.session, [self.ready, self.incomplete])


def numbered(values):
    return {"%02d %02d" % (i, j): part for i, value in enumerate(values)
            for j, part in enumerate(tf.nest.flatten(value))}


@scenario(NAMES, tol=0)
@fresh_graph
def barriers_of_every_type(side):
    out = []
    with side.session() as session:
        for dtype in TYPES:
            b = Barrier(session, (dtype, tf.string), ((2, 3), ()))
            keys = ["one", "two", "", "four"]
            out += [
                b.insert(keys, sample(dtype, (4, 2, 3)), 0), b.sizes(),
                b.insert(keys[::-1], ["d", "c", "b", "a"], 1), b.sizes(),
                b.take(3), b.take(1), b.sizes()]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def components_without_a_shape_are_scalars(side):
    """As tf.Barrier makes them that is told no shapes."""
    with side.session() as session:
        b = Barrier(session, (F, tf.string), (None, None), shared_name="no")
        return numbered([
            b.insert(["a", "b"], [1., 2.], 0), b.sizes(),
            b.insert(["a", "b"], ["x", "y"], 1), b.sizes(), b.take(2),
            b.insert(["c"], np.ones((1, 3), np.float32), 0),
            b.insert(["c"], ["z"], 1),
            Barrier(session, (F, tf.string), ((), ()),
                    shared_name="no").sizes(),
            Barrier(session, (F,), ([None],)).sizes()])


@scenario(NAMES, tol=0)
@fresh_graph
def tuples_come_in_the_order_of_their_keys(side):
    with side.session() as session:
        b = Barrier(session)
        for i in range(4):
            b.insert(["k%d%d" % (i, j) for j in range(5)], [1.0] * 5, i % 2)
        for i in (2, 0, 3, 1):
            b.insert(["k%d%d" % (i, j) for j in (4, 1, 0, 3, 2)],
                     [float(10 * i + j) for j in range(5)], 1 - i % 2)
        return numbered([b.take(7), b.take(0), b.sizes(), b.take(13)])


@scenario(NAMES, tol=0)
@fresh_graph
def a_closed_barrier_takes_what_completes_it(side):
    out = []
    with side.session() as session:
        for cancel in (False, True):
            b = Barrier(session)
            out += [b.insert(["a", "b", "c"], [1., 2., 3.], 0),
                    b.insert(["a"], [10.], 1)]
            waiting = b.taker(3)
            out += [b.close(cancel), b.sizes(), b.insert(["new"], [1.], 0),
                    b.insert(tf.constant([], tf.string), np.zeros(
                        0, np.float32), 0),
                    b.insert(["b"], [20.], 1), b.sizes(), b.take(4),
                    b.insert(["c"], [30.], 1), waiting.result(),
                    b.take(4, allow_small_batch=True),
                    b.take(4, allow_small_batch=True), b.close(False),
                    b.close(True), b.close(True), b.sizes()]
        b = Barrier(session)
        waiting = b.taker(1)
        out += [b.close(), waiting.result(), b.take(1), b.take(0),
                b.insert(["a"], [1.], 0)]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def takers_wait_in_line(side):
    with side.session() as session:
        b = Barrier(session, (F,), ((),))
        b.insert(["a", "b"], [1., 2.], 0)
        many = Waiting(session, b.taken(3))
        b.insert(["c"], [3.], 0)
        first = many.result()
        one = Waiting(session, b.taken(1))
        b.insert(["d"], [4.], 0)
        second = one.result()
        until(session, b.ready, 0)
        return numbered([first, second, b.sizes()])


@scenario(NAMES, tol=0)
@fresh_graph
def wrong_insertions_leave_what_came_before(side):
    out = []
    with side.session() as session:
        b = Barrier(session, (F, F), ((2,), ()))
        pair = [[1., 2.]]
        out += [b.insert(["a"], pair, 0), b.insert(["a"], pair, 0),
                b.insert(["z", "z"], pair * 2, 0), b.sizes(),
                b.insert(["a"], [1.], 2), b.insert(["a"], [1], 1),
                b.insert(["a"], np.zeros((1, 0), np.float32), 1),
                b.insert(["long"], [[1., 2., 3.]], 0),
                b.insert(["long"], [1.], 1), b.sizes(),
                b.insert(["a"], [5.], 1), b.take(1)]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def wrong_barriers_and_takers(side):
    out = []
    with side.session() as session:
        b = Barrier(session)
        out += [b.take(1, [F]), b.take(1, [F, tf.int32]),
                b.take(1, timeout_ms=10),
                Barrier(session, shapes=()).sizes(),
                Barrier(session, shapes=((),)).sizes(),
                Barrier(session, capacity=3).sizes(),
                Barrier(session, shapes=([None], ())).sizes(),
                Barrier(session, shared_name="s").sizes(),
                Barrier(session, (F,), ((),), shared_name="s").sizes(),
                Barrier(session, shapes=((2,), ()), shared_name="s").sizes(),
                Barrier(session, shared_name="s").sizes()]
        other = raw.FIFOQueue(component_types=[F], shared_name="q")
        out.append(told(session, raw.BarrierReadySize(handle=other))[:13])
        out.append(told(session, raw.QueueSize(handle=b.handle))[:13])
    return numbered(out)
