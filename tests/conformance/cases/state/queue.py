"""Cases of kernels/state/queue.c."""
from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import told, until, Waiting
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("QueueEnqueueManyV2 QueueDequeueManyV2 QueueDequeueUpToV2 "
          "QueueCloseV2 QueueEnqueueV2 QueueDequeueV2")
@fresh_graph
def steps_wait_for_each_other(side):
    out = {}
    q = tf.FIFOQueue(2, [tf.int32], [[]], name="bounded")
    p = tf.placeholder(tf.int32, [None])
    many, five, one = q.enqueue_many(p), q.dequeue_many(5), q.dequeue()
    up_to, size = q.dequeue_up_to(4), q.size()
    close, cancel = q.close(), q.close(cancel_pending_enqueues=True)
    with side.session() as session:
        first = Waiting(session, five)
        session.run(many, {p: [1, 2]})
        until(session, size, 0)
        second = Waiting(session, many, {p: [3, 4, 5, 6, 7, 8]})
        out["five"] = first.result()
        until(session, size, 2)
        out["one"] = session.run(one)
        out["piecewise"] = second.result()
        out["another"] = session.run(one)
        third = Waiting(session, many, {p: [9, 10]})
        until(session, size, 2)
        session.run(cancel)
        out["cancelled"] = third.result()
        out["up to"] = session.run(up_to)
        out["empty"] = told(session, up_to)
        out["closed"] = told(session, many, {p: [1]})
        out["again"] = told(session, close)
    return out


@scenario("QueueDequeueManyV2 QueueDequeueUpToV2 QueueCloseV2")
@fresh_graph
def closing_ends_who_waits(side):
    out = {}
    p = tf.placeholder(tf.int32, [None])
    for kind, make in (("fifo", tf.FIFOQueue), ("padding", padding),
                       ("random", shuffle)):
        q = make(10, [tf.int32], [[]], name=kind)
        many, five = q.enqueue_many(p), q.dequeue_many(5)
        up_to, size, close = q.dequeue_up_to(5), q.size(), q.close()
        with side.session() as session:
            waits = Waiting(session, five)
            session.run(many, {p: [1, 2]})
            until(session, size, 0)
            session.run(close)
            out[kind] = waits.result()
            out[kind + " size"] = session.run(size)
            out[kind + " rest"] = sorted(session.run(up_to))
    return out


def padding(capacity, types, shapes, name):
    return tf.PaddingFIFOQueue(capacity, types, shapes, name=name)


def shuffle(capacity, types, shapes, name):
    return tf.RandomShuffleQueue(capacity, 0, types, shapes, name=name)
