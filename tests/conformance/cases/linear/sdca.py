"""Cases of kernels/linear/sdca.c.

The order of examples is one that nobody can foresee, in TensorFlow too.  What is
compared does not depend on it: one example, examples that share no feature or that
are all alike, and adaptive orders in which one example alone is worth a step."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import spread
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import bad, c, row, scenario

LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
ONE = dict(sparse=[([0, 0, 0], [7, 3, 12], [0.5, -2, 1])], dense=[[[1, -0.5]]], weights=[1.5],
           labels=[1], indices=[[3, 7, 12, 40]], sparse_weights=[[0.1, -0.2, 0.3, 0]],
           dense_weights=[[0.05, 0.4]], state=[[0.2, 0, 0, 0]])
LONG = dict(ONE, sparse=[], indices=[], sparse_weights=[], dense=[np.linspace(-1, 1, 40)[None]],
            dense_weights=[np.linspace(0.2, -0.3, 40)])


def trained(session, of, op="SdcaOptimizerV2", values=True, **attrs):
    def floats(parts):
        return [tf.constant(part, tf.float32) for part in parts]

    def ints(parts):
        return [hidden(np.array(part, np.int64)) for part in parts]

    given = dict(loss_type="squared_loss", l1=0.05, l2=1.0, num_loss_partitions=1,
                 num_inner_iterations=1)
    given["adaptive" if op == "SdcaOptimizerV2" else "adaptative"] = False
    given.update(attrs)
    return told(session, getattr(tf.raw_ops, op)(
        sparse_example_indices=ints(part[0] for part in of["sparse"]),
        sparse_feature_indices=ints(part[1] for part in of["sparse"]),
        sparse_feature_values=floats(part[2] for part in of["sparse"] if values),
        dense_features=[hidden(np.array(part, np.float32)) for part in of["dense"]],
        example_weights=hidden(np.array(of["weights"], np.float32)),
        example_labels=hidden(np.array(of["labels"], np.float32)),
        sparse_indices=ints(of["indices"]), sparse_weights=floats(of["sparse_weights"]),
        dense_weights=floats(of["dense_weights"]),
        example_state_data=hidden(np.array(of["state"], np.float32)), **given))


def flat(found):
    return found if isinstance(found, str) else tf.nest.flatten(found)


@scenario("SdcaOptimizer SdcaOptimizerV2", tol=64)
@fresh_graph
def examples_move_weights(side):
    out = {}
    with side.session() as session:
        for loss in LOSSES:
            for name, of in (("one", ONE), ("long", LONG)):
                for values in (True, False):
                    for parts in (1, 3):
                        spread(out, "%s %s %s %d" % (loss, name, values, parts), flat(trained(
                            session, of, values=values, loss_type=loss,
                            num_loss_partitions=parts)))
            spread(out, loss + " adaptive", flat(trained(
                session, ONE, loss_type=loss, adaptive=True)))
            spread(out, loss + " of old", flat(trained(
                session, ONE, op="SdcaOptimizer", loss_type=loss, adaptative=True)))
            spread(out, loss + " shrunk", flat(trained(session, ONE, loss_type=loss, l1=0.3)))
        two = dict(ONE, dense=ONE["dense"] * 2, dense_weights=ONE["dense_weights"] * 2,
                   sparse=ONE["sparse"] * 2, indices=ONE["indices"] * 2,
                   sparse_weights=ONE["sparse_weights"] * 2)
        spread(out, "two groups", flat(trained(session, two)))
    return out


def apart(count):
    """Examples of a dense and three sparse features, each their own."""
    random = np.random.RandomState(count)
    sparse = [([i for i in range(count) for _ in range(3)], random.permutation(
        3 * count) * 5, random.uniform(-2, 2, 3 * count))]
    return dict(
        sparse=sparse, dense=[np.diag(random.uniform(-2, 2, count))],
        weights=random.uniform(0.2, 3, count), labels=random.randint(0, 2, count),
        indices=[np.arange(3 * count) * 5],
        sparse_weights=[random.uniform(-1, 1, 3 * count)],
        dense_weights=[random.uniform(-1, 1, count)],
        state=np.pad(random.uniform(0, 0.5, [count, 1]), [[0, 0], [0, 3]]))


def alike(count):
    return dict(
        sparse=[(np.repeat(range(count), 2), [3, 40] * count, [0.5, -1.5] * count)],
        dense=[[[1, -0.5, 0.25]] * count], weights=[1.5] * count, labels=[1] * count,
        indices=[[3, 7, 40]], sparse_weights=[[0.1, 0.2, -0.3]],
        dense_weights=[[0.05, 0.4, -0.2]], state=np.zeros([count, 4]))


def by_rows(found):
    """States are in any order, and so are sums of them."""
    if isinstance(found, str):
        return found
    return [np.sort(found[0], axis=0), *tf.nest.flatten(found[1:])]


@scenario("SdcaOptimizer SdcaOptimizerV2", tol=4096)
@fresh_graph
def many_examples_move_weights(side):
    out = {}
    with side.session() as session:
        for loss in LOSSES:
            for l1, l2, parts, inner in ((0.05, 1.0, 1, 1), (0.3, 0.5, 2, 1),
                                         (0.0, 4.0, 1, 5), (0.1, 0.1, 7, 3)):
                more = dict(loss_type=loss, l1=l1, l2=l2, num_loss_partitions=parts,
                            num_inner_iterations=inner)
                text = "%s %s %s %d %d" % (loss, l1, l2, parts, inner)
                spread(out, text, flat(trained(session, apart(41), **more)))
                spread(out, text + " of ones", flat(trained(
                    session, apart(17), values=False, **more)))
                spread(out, text + " old", flat(trained(
                    session, apart(8), op="SdcaOptimizer", adaptative=False, **more)))
                spread(out, text + " alike", by_rows(trained(session, alike(23), **more)))
    return out


def one_worthy(worthy, count=9):
    """Examples whose labels are what the model answers: but one of them."""
    labels = np.zeros(count)
    labels[worthy] = 2
    return dict(sparse=[], dense=[np.eye(count)], weights=np.ones(count) * 1.5, labels=labels,
                indices=[], sparse_weights=[], dense_weights=[np.zeros(count)],
                state=np.zeros([count, 4]))


@scenario("SdcaOptimizer SdcaOptimizerV2", tol=64)
@fresh_graph
def worthy_examples_are_taken(side):
    """The last steps are those of example 0; others are never taken."""
    out = {}
    with side.session() as session:
        for worthy in (3, 8):
            for op, name in (("SdcaOptimizerV2", "adaptive"), ("SdcaOptimizer", "adaptative")):
                found = trained(session, one_worthy(worthy), op=op, l1=0.0, **{name: True})
                # The dual loss tells whether it was taken twice.
                spread(out, "%s %d" % (op, worthy), found if isinstance(found, str) else [
                    found[0][:, [0, 1, 3]], *tf.nest.flatten(found[1:])])
        found = trained(session, alike(1), adaptive=True, loss_type="hinge_loss")
        spread(out, "alone", flat(found))
    return out


@scenario("SdcaOptimizerV2")
@fresh_graph
def examples_that_do_not_fit(side):
    out = {}
    cases = {
        "labels": dict(labels=[1, 1]), "state": dict(state=[[0, 0, 0]]),
        "state rank": dict(state=[0, 0, 0, 0]), "dense rank": dict(dense=[[1, 2]]),
        "too many": dict(dense=[[[1, 2, 3]]]),
        "twice": dict(sparse=[([0, 0], [7, 7], [1, 1])]),
        "no such feature": dict(sparse=[([0, 0], [7, 8], [1, 1])])}
    with side.session() as session:
        for name, change in cases.items():
            spread(out, name, flat(trained(session, dict(ONE, **change))))
        for loss in ("logistic_loss", "hinge_loss", "smooth_hinge_loss"):
            spread(out, loss, flat(trained(session, dict(ONE, labels=[0.5]), loss_type=loss)))
        spread(out, "poisson", flat(trained(
            session, dict(ONE, labels=[-1]), loss_type="poisson_loss")))
        spread(out, "nothing", flat(trained(session, dict(
            ONE, sparse=[], dense=[], indices=[], sparse_weights=[], dense_weights=[]))))
    return out


@scenario("SdcaShrinkL1", tol=0)
@fresh_graph
def weights_shrink(side):
    out = {}
    values = [np.float32([0.5, -0.5, 0.1, -0.1, 0, 3]), np.float32([[1, -2], [0.2, 0.3]]),
              np.zeros([0], np.float32)]
    kept = [tf.Variable(value, use_resource=False, trainable=False) for value in values]
    unset = tf.Variable([1.0], use_resource=False, trainable=False)
    with side.session() as session:
        session.run([v.initializer for v in kept])
        for l1, l2 in ((0.2, 1.0), (0.1, 2.0), (0.0, 1.0)):
            session.run(tf.raw_ops.SdcaShrinkL1(
                weights=[v._ref() for v in kept], l1=l1, l2=l2))
            spread(out, "%s %s" % (l1, l2), session.run(kept))
        session.run(tf.raw_ops.SdcaShrinkL1(weights=[], l1=1.0, l2=1.0))
        out["unset"] = attempt(session, tf.raw_ops.SdcaShrinkL1(
            weights=[unset._ref()], l1=1.0, l2=1.0))
    return {key: value for key, value in out.items() if value is not None}


WORDS = [b"x" * n for n in (0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 48, 64, 80, 127,
                            128, 143, 144, 145, 160, 200, 271, 272, 273, 400, 1000)]
row("SdcaFprint", [
    c(WORDS), c([bytes(range(256)) * 3, b"abc"]), c(np.zeros([0], object)),
    bad(b"a"), bad([[b"a"]])], tol=0)
