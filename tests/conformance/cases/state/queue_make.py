"""Cases of kernels/state/queue_make.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import told, TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops


class Ops:
    """The operations on queues in one of their two forms."""

    def __init__(self, v2):
        self.suffix = "V2" if v2 else ""

    def __call__(self, name, **arguments):
        return getattr(raw, name + self.suffix)(**arguments)


@scenario("FIFOQueue FIFOQueueV2 PaddingFIFOQueue PaddingFIFOQueueV2 "
          "QueueEnqueue QueueEnqueueV2 QueueEnqueueMany QueueEnqueueManyV2 "
          "QueueDequeue QueueDequeueV2 QueueDequeueMany QueueDequeueManyV2 "
          "QueueDequeueUpTo QueueDequeueUpToV2 QueueSize QueueSizeV2 "
          "QueueClose QueueCloseV2 QueueIsClosed QueueIsClosedV2", tol=0)
@fresh_graph
def queues_of_every_type(side):
    """All of them go through each operation in one step."""
    queues = {"%s %s %s" % (kind, v2, dtype.name): Queue(Ops(v2), kind, dtype)
              for v2 in (False, True) for dtype in TYPES
              for kind in ("FIFOQueue", "PaddingFIFOQueue")}
    feeds, out = {}, {}
    for q in queues.values():
        feeds[q.fed] = np.stack([sample(q.dtype, (2, 3)) for _ in range(4)])
    with side.session() as session:
        for step in ("many", "single", "size", "one", "two", "closed", "close",
                     "closed", "rest", "size"):
            got = session.run({key: getattr(q, step)
                               for key, q in queues.items()}, feeds)
            out.update({"%s %s %d" % (key, step, len(out)): value
                        for key, value in got.items() if value is not None})
        for key, q in list(queues.items())[::9]:
            out[key + " one"] = told(session, q.one)
            out[key + " two"] = told(session, q.two)
            out[key + " single"] = told(session, q.single, feeds)
            out[key + " again"] = told(session, q.close)
    return out


class Queue:
    def __init__(self, op, kind, dtype):
        self.dtype, self.fed = dtype, tf.placeholder(dtype, [4, 2, 3])
        q = op(kind, component_types=[dtype], shapes=[[2, 3]], capacity=20)
        types = dict(handle=q, component_types=[dtype])
        self.many = op("QueueEnqueueMany", handle=q, components=[self.fed])
        self.single = op("QueueEnqueue", handle=q, components=[self.fed[1]])
        self.size = op("QueueSize", handle=q)
        self.one = op("QueueDequeue", **types)[0]
        self.two = op("QueueDequeueMany", n=2, **types)[0]
        self.rest = op("QueueDequeueUpTo", n=3, **types)[0]
        self.closed = op("QueueIsClosed", handle=q)
        self.close = op("QueueClose", handle=q)


@scenario("FIFOQueueV2 QueueEnqueueV2 QueueDequeueV2 QueueSizeV2 QueueCloseV2 "
          "QueueIsClosedV2", tol=0)
@fresh_graph
def elements_wait_where_they_were_made(side):
    """One at a time, as the operations of GPUs have them."""
    out = {}
    with side.session() as session:
        for dtype in TYPES:
            with tf.device("/cpu:0" if dtype == tf.string else ""):
                p = tf.placeholder(dtype, [2, 3])
                q = raw.FIFOQueueV2(component_types=[dtype, tf.int32],
                                    shapes=[[2, 3], []], capacity=3)
                one = raw.QueueDequeueV2(handle=q,
                                         component_types=[dtype, tf.int32])
                steps = {"put": raw.QueueEnqueueV2(handle=q,
                                                   components=[p, 7]),
                         "size": raw.QueueSizeV2(handle=q), "take": one[0],
                         "close": raw.QueueCloseV2(handle=q),
                         "closed": raw.QueueIsClosedV2(handle=q),
                         "number": one[1]}
            for at, step in enumerate(("put put size take closed close closed "
                                       "put number take size").split()):
                out["%s %d %s" % (dtype.name, at, step)] = told(
                    session, steps[step], {p: sample(dtype)})
    return out


@scenario("PaddingFIFOQueue PaddingFIFOQueueV2", tol=0)
@fresh_graph
def batches_are_padded(side):
    out = {}
    with side.session() as session:
        for dtype in TYPES:
            p = tf.placeholder(dtype, None)
            q = tf.PaddingFIFOQueue(10, [dtype], [[None, 3, None]])
            put = raw.QueueEnqueueV2(handle=q.queue_ref, components=[p])
            for dims in ((2, 3, 1), (0, 3, 2), (1, 3, 4)):
                session.run(put, {p: sample(dtype, dims)})
            out[dtype.name] = session.run(q.dequeue_many(3))
            out[dtype.name + " none"] = session.run(q.dequeue_many(0))
        out["bad"] = told(session, put, {p: sample(dtype, (2, 2, 1))})
    return out


@scenario("RandomShuffleQueue RandomShuffleQueueV2", tol=0)
@fresh_graph
def a_seeded_shuffle_has_one_order(side):
    out = {}
    with side.session() as session:
        for v2 in (False, True):
            for seeds in ((1, 2), (0, 5), (87654321, 7), (-3, 2 ** 40)):
                op = Ops(v2)
                q = op("RandomShuffleQueue", component_types=[tf.int32],
                       shapes=[[]], capacity=1000, seed=seeds[0],
                       seed2=seeds[1], min_after_dequeue=3)
                types = dict(handle=q, component_types=[tf.int32])
                put = op("QueueEnqueueMany", handle=q,
                         components=[tf.range(300)])
                take = op("QueueDequeueMany", n=150, **types)
                session.run(put)
                parts = [session.run(op("QueueDequeue", **types)),
                         session.run(take)]
                session.run(put)
                parts.append(session.run(take))
                session.run(op("QueueClose", handle=q))
                parts.append(session.run(op("QueueDequeueUpTo", n=500,
                                            **types)))
                for i, part in enumerate(parts):
                    out["%s %s %d" % (v2, seeds, i)] = part[0]
    return out


@scenario("PriorityQueue PriorityQueueV2", tol=0)
@fresh_graph
def equal_priorities_have_one_order(side):
    out = {}
    random = np.random.RandomState(3)
    with side.session() as session:
        for v2 in (False, True):
            op = Ops(v2)
            q = op("PriorityQueue", component_types=[tf.string], shapes=[[]],
                   capacity=1000)
            types = dict(handle=q, component_types=[tf.int64, tf.string])
            p, s = tf.placeholder(tf.int64, None), tf.placeholder(tf.string)
            put = op("QueueEnqueueMany", handle=q, components=[p, s])
            take = op("QueueDequeueMany", n=40, **types)
            one = op("QueueDequeue", **types)
            for turn in range(3):
                session.run(put, {p: random.randint(-4, 4, 80),
                                  s: [b"%d %d" % (turn, i)
                                      for i in range(80)]})
                for name, fetch in (("take", take), ("one", one)):
                    for i, part in enumerate(session.run(fetch)):
                        out["%s %s %d %d" % (v2, name, turn, i)] = part
            out["%s bad" % v2] = told(session, op(
                "QueueEnqueue", handle=q, components=[
                    hidden(tf.constant([1], tf.int64)), "x"]))
    return out


@scenario("FIFOQueueV2 RandomShuffleQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 "
          "FIFOQueue QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueManyV2")
@fresh_graph
def wrong_uses_of_queues_are_refused(side):
    f, i = tf.float32, tf.int32
    name = "wrong-%s" % tf.get_default_graph().get_name_scope()
    queues = {
        "capacity": raw.FIFOQueueV2(component_types=[f], capacity=4),
        "types": raw.FIFOQueueV2(component_types=[i, tf.string], capacity=3),
        "shapes": raw.FIFOQueueV2(component_types=[f], capacity=3,
                                  shapes=[[2, 3]]),
        "random": raw.RandomShuffleQueueV2(component_types=[f], capacity=3),
        "padding": raw.PaddingFIFOQueueV2(component_types=[f], capacity=3,
                                          shapes=[[]]),
        "old": raw.FIFOQueue(component_types=[f], capacity=5)}
    alone = {
        "min": raw.RandomShuffleQueueV2(component_types=[f], capacity=3,
                                        min_after_dequeue=3),
        "negative": raw.RandomShuffleQueueV2(component_types=[f],
                                             min_after_dequeue=-1),
        "partial": raw.FIFOQueueV2(component_types=[f], shapes=[[None]]),
        "count": raw.FIFOQueueV2(component_types=[f, i], shapes=[[]]),
        "no shapes": raw.PaddingFIFOQueueV2(component_types=[f]),
        "no rank": raw.PaddingFIFOQueueV2(component_types=[f],
                                          shapes=[tf.TensorShape(None)]),
        "priority": raw.PriorityQueueV2(component_types=[f], shapes=[])}
    out = {}
    with side.session() as session:
        with tf.device("/cpu:0"):  # where all that is done to it has kernels
            good = raw.FIFOQueueV2(component_types=[f], capacity=3,
                                   shared_name=name)
        session.run(raw.QueueSizeV2(handle=good))
        for key, q in queues.items():
            q.op._set_attr("shared_name", tf.AttrValue(s=name.encode()))
            out[key] = told(session, q.op)
        for key, q in alone.items():
            out[key] = told(session, q.op)
        out.update(wrong_elements(session, good))
    return out


def wrong_elements(session, q):
    f, i = tf.float32, tf.int32
    told_shapes = raw.FIFOQueueV2(component_types=[f, i], shapes=[[2], []])
    cases = {
        "type": raw.QueueEnqueueV2(handle=q, components=[1]),
        "two": raw.QueueEnqueueManyV2(handle=q, components=[[1.0], [1.0]]),
        "other type": raw.QueueDequeueV2(handle=q, component_types=[i]),
        "shapes": raw.QueueDequeueManyV2(handle=q, n=1, component_types=[f]),
        "n": raw.QueueDequeueUpToV2(handle=told_shapes, n=hidden(-1),
                                    component_types=[f, i]),
        "timeout": raw.QueueDequeueV2(handle=q, component_types=[f],
                                      timeout_ms=10),
        "element": raw.QueueEnqueueV2(handle=told_shapes, components=[
            hidden([1.0]), 1]),
        "batch": raw.QueueEnqueueManyV2(handle=told_shapes, components=[
            hidden([[1.0, 2.0]]), hidden([1, 2])])}
    return {"element " + key: told(session, fetch)
            for key, fetch in cases.items()}
