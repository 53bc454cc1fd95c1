"""Cases of kernels/state/temporary.c."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts
from tests.conformance.cases.state.stack import after
from tests.conformance.cases.state.waiting import TYPES
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario

raw = tf.raw_ops
F = tf.float32


def made(name="", shape=(2,), dtype=F):
    return raw.TemporaryVariable(shape=shape, dtype=dtype, var_name=name)


def ended(variable, name):
    return raw.DestroyTemporaryVariable(ref=variable, var_name=name)


@scenario("TemporaryVariable DestroyTemporaryVariable")
@fresh_graph
def temporary_variables(side):
    out = {}
    for dtype in TYPES:
        name = "of " + dtype.name
        value = sample(dtype, (2,))
        out[name] = ended(tf.assign(made(name, dtype=dtype), value), name)
    sum_of = tf.assign_add(tf.assign(made("sum"), [1., 2.]), [3., 4.])
    first = ended(tf.assign(made("twice"), [1., 2.]), "twice")
    second = after([first], lambda: ended(
        tf.assign(made("twice"), [5., 6.]), "twice"))
    unnamed = made()
    kept = tf.Variable([1., 2.], use_resource=False)
    there = made("there")
    out.update({
        "sum": ended(sum_of, "sum"),
        "its name again": second,
        "never ended": tf.assign(made("left"), [1., 2.]),
        "by the node's name": ended(tf.assign(unnamed, [1., 2.]),
                                    unnamed.op.name),
        "another name": ended(tf.assign(made("one"), [1., 2.]), "other"),
        "a variable": after([kept.initializer], lambda: ended(
            tf.assign(kept, [2., 3.]), "kept")),
        "made twice": after([there], lambda: tf.assign(made("there"),
                                                       [1., 2.])),
        "a part of a shape": tf.assign(made("part", (None, 2)), [[1., 2.]],
                                       validate_shape=False)})
    return attempts(side, out)
