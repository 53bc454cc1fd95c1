"""Cases of kernels/state/accumulator.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.state.waiting import told, Waiting
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

raw = tf.raw_ops


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
