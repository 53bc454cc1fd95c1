"""Queues and conditional accumulators: blocking, closing, orders, sums."""
import re
import threading

import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.uint8,
         tf.int16, tf.uint16, tf.int32, tf.int64, tf.uint32, tf.uint64,
         tf.complex64, tf.complex128, tf.bool, tf.string]


def told(session, fetches, feeds=None):
    """The values, or the class of the error and what it says."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        lines = error.message.split("\n")
        at = [i for i, line in enumerate(lines) if "[[{{node" in line]
        text = lines[at[0] - 1] if at else error.message
        return "%s: %s" % (type(error).__name__,
                           re.sub("(['\" ])_[0-9]+_", "\\1_N_", text))


class Waiting(threading.Thread):
    """A step that may wait; result() is what it came to."""

    def __init__(self, session, fetches, feeds=None):
        super().__init__(daemon=True)
        self.call = (session, fetches, feeds)
        self.start()

    def run(self):
        self.value = told(*self.call)

    def result(self):
        self.join(20)
        return "hangs" if self.is_alive() else self.value


def until(session, fetch, value):
    """Runs fetch until it has this value: who waits has come that far."""
    while session.run(fetch) != value:
        pass


class Ops:
    """The operations on queues in one of their two forms."""

    def __init__(self, v2):
        self.suffix = "V2" if v2 else ""

    def __call__(self, name, **arguments):
        return getattr(raw, name + self.suffix)(**arguments)


# ---- Queues ------------------------------------------------------------------


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


# ---- Accumulators ------------------------------------------------------------


class Dense:
    """A dense accumulator in one of the two forms."""

    def __init__(self, form, dtype, dims, **more):
        self.form, self.dtype = form, dtype
        self.handle = self.op("ConditionalAccumulator", dtype=dtype,
                              shape=tf.TensorShape(dims), **more)
        self.gradient = tf.placeholder(dtype, None)
        self.step = tf.placeholder(tf.int64, None)
        self.applied = self.op("AccumulatorApplyGradient", handle=self.handle,
                               local_step=self.step, gradient=self.gradient)
        self.count = self.op("AccumulatorNumAccumulated", handle=self.handle)
        self.set_step = self.op("AccumulatorSetGlobalStep",
                                handle=self.handle, new_global_step=self.step)

    def op(self, name, **arguments):
        return getattr(raw, self.form + name)(**arguments)

    def take(self, required):
        return self.op("AccumulatorTakeGradient", handle=self.handle,
                       num_required=required, dtype=self.dtype)

    def apply(self, session, value, step=0):
        return told(session, self.applied,
                    {self.gradient: value, self.step: step})


@scenario("ConditionalAccumulator ResourceConditionalAccumulator "
          "AccumulatorApplyGradient ResourceAccumulatorApplyGradient "
          "AccumulatorTakeGradient ResourceAccumulatorTakeGradient "
          "AccumulatorNumAccumulated ResourceAccumulatorNumAccumulated "
          "AccumulatorSetGlobalStep ResourceAccumulatorSetGlobalStep", tol=0)
@fresh_graph
def gradients_are_accumulated(side):
    out = {}
    with side.session() as session:
        for form in ("", "Resource"):
            for dtype in (tf.float16, tf.float32, tf.float64):
                for reduction in ("MEAN", "SUM"):
                    a = Dense(form, dtype, [3, 2], reduction_type=reduction)
                    key = "%s %s %s " % (form, dtype.name, reduction)
                    out.update({key + name: value for name, value
                                in accumulate(session, a).items()})
    return out


def accumulate(session, a):
    value = np.random.RandomState(1).normal(size=[8, 3, 2])
    out = {}
    waits = Waiting(session, a.take(3))
    for i in range(3):
        a.apply(session, value[i])
    out["three"] = waits.result()
    out["stale"] = a.apply(session, value[3])
    out["none"] = session.run(a.count)
    for i in range(7):
        a.apply(session, value[i], step=i)
    out["six"] = session.run(a.count)
    out["more"] = session.run(a.take(1))
    session.run(a.set_step, {a.step: 0})
    a.apply(session, value[7], step=0)
    out["one"] = session.run(a.take(1))
    return out


@scenario("ConditionalAccumulator ResourceConditionalAccumulator")
@fresh_graph
def wrong_gradients_are_refused(side):
    out = {}
    with side.session() as session:
        for form in ("", "Resource"):
            a = Dense(form, tf.float32, [None, 2])
            parts = {
                "rank": a.apply(session, [1.0, 2.0]),
                "dim": a.apply(session, [[1.0]]),
                "fine": a.apply(session, [[1.0, 2.0]]),
                "other": a.apply(session, [[1.0, 2.0], [1.0, 2.0]]),
                "count": session.run(a.count),
                "zero": told(session, a.take(0)),
                "negative": told(session, a.take(-2)),
                "step": told(session, a.set_step, {a.step: [1]})}
            out.update({form + k: v for k, v in parts.items()})
    return out


class Sparse:
    def __init__(self, dtype, dims, **more):
        self.dtype = dtype
        self.handle = raw.SparseConditionalAccumulator(
            dtype=dtype, shape=tf.TensorShape(dims), **more)
        self.inputs = [tf.placeholder(tf.int64, None),
                       tf.placeholder(tf.int64, None),
                       tf.placeholder(dtype, None),
                       tf.placeholder(tf.int64, None)]
        self.count = raw.AccumulatorNumAccumulated(handle=self.handle)
        self.applied = [raw.SparseAccumulatorApplyGradient(
            handle=self.handle, local_step=self.inputs[0],
            gradient_indices=self.inputs[1], gradient_values=self.inputs[2],
            gradient_shape=self.inputs[3], has_known_shape=known)
            for known in (False, True)]

    def take(self, required):
        return raw.SparseAccumulatorTakeGradient(
            handle=self.handle, num_required=required, dtype=self.dtype)

    def apply(self, session, indices, values, shape=None, step=9):
        feeds = dict(zip(self.inputs, (step, np.int64(indices), values,
                                       np.int64(shape or []))))
        return told(session, self.applied[shape is not None], feeds)


@scenario("SparseConditionalAccumulator SparseAccumulatorApplyGradient "
          "SparseAccumulatorTakeGradient", tol=0)
@fresh_graph
def sparse_gradients_are_accumulated(side):
    out = {}
    random = np.random.RandomState(2)
    with side.session() as session:
        for dtype in (tf.float16, tf.float32, tf.float64):
            for reduction in ("MEAN", "SUM"):
                a = Sparse(dtype, [50, 3], reduction_type=reduction)
                waits = Waiting(session, a.take(6))
                for i in range(6):
                    rows = np.sort(random.permutation(50)[:i * 4])
                    a.apply(session, rows, random.normal(size=[i * 4, 3]),
                            [50, 3] if i % 2 else None)
                key = "%s %s " % (dtype.name, reduction)
                for name, part in zip(("i", "v", "s"), waits.result()):
                    out[key + name] = part
        a = Sparse(tf.float32, None)
        a.apply(session, [3, 0], [[1, 2], [3, 4]])
        a.apply(session, [0, 3, 3], [[1, 2], [3, 4], [5, 6]])
        for name, part in zip(("i", "v", "s"), session.run(a.take(2))):
            out["unordered " + name] = part
        out["stale"] = a.apply(session, [3, 0], 7.0, step=0)
    return out


@scenario("SparseConditionalAccumulator SparseAccumulatorApplyGradient")
@fresh_graph
def wrong_sparse_gradients_are_refused(side):
    out = {}
    cases = {"matrix": ([[0, 2]], [[1, 2], [3, 4]]),
             "scalar": ([0, 2], 1.0), "count": ([0, 2], [[1, 2]]),
             "index": ([0, 4], [[1, 2], [3, 4]]),
             "rank": ([0], [1.0], [4]), "dims": ([0], [[1, 2]], [5, 2]),
             "values": ([0], [[1, 2, 3]]), "flat": ([0], [1.0])}
    with side.session() as session:
        a = Sparse(tf.float32, [4, 2])
        for turn in range(2):
            for key, case in cases.items():
                out["%s %d" % (key, turn)] = a.apply(session, *case)
            out["fine %d" % turn] = a.apply(session, [1], [[1, 2]])
        out["count"] = session.run(a.count)
        out["zero"] = told(session, a.take(0))
    return out
