"""Cases of kernels/state/random_variable.c: the stream of a variable, and what
is left in it."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario, var

STATES = [[1, 2, 3], [-1, -1, 7], [2 ** 63 - 1, 5, -2 ** 63]]


def state(value, **named):
    return var(value, dtype=named.pop("dtype", "int64"), **named)


WRONG = [(state([1, 2]), 1), (state([[1, 2, 3]]), 1), (state(3), 1),
         (state([1, 2, 3], dtype="int32"), 1), (state([1, 2, 3]), 0),
         (state([1, 2, 3]), 2), (state([1, 2, 3]), 99), (state([1, 2, 3]), -1),
         (state([1, 2, 3]), [1]), (state([1, 2]), 99), (state([1]), 2)]


def drawn(*bounds):
    for words in STATES:
        yield c(state(words), 1, [2, 3], *bounds)
    yield c(state([7, 8, 9, 10]), 1, [2, 3], *bounds)
    for shape in ([], [0], [1000], [3, 0, 2]):
        yield c(state([4, 5, 6]), 3, shape, *bounds)
    yield once(state([4, 5, 6]), 1, [70000], *bounds)
    for variable, algorithm in WRONG:
        yield bad(variable, algorithm, [2], *bounds)
        yield bad(variable, algorithm, [0], *bounds)
    yield bad(state([1, 2, 3]), 1, [-2], *bounds)
    yield bad(state([1, 2, 3]), 1, 2, *bounds)
    yield bad(state([1, 2, 3]), 1, [[2]], *bounds)


row("StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal "
    "StatefulUniformFullInt", list(drawn()), tol=0, runs=2, may_fail=True)
row("StatefulUniformInt", list(drawn(-5, 60)) + [
    c(state([1, 2, 3]), 1, [99], -2 ** 31, 2 ** 31 - 1),
    bad(state([1, 2, 3]), 1, [2], 5, 5), bad(state([1, 2, 3]), 1, [0], 5, 4),
    bad(state([1, 2, 3]), 1, [2], [0], 5),
    bad(state([1, 2, 3]), 1, [2], 0, [5]),
    bad(state([1, 2]), [1], [-2], 5, 5), bad(state([1, 2]), 99, [2], 5, 5),
    bad(state([1, 2]), 2, [2], 5, 5), bad(state([1, 2]), [1], [-2], 4, 5)],
    tol=0, runs=2, may_fail=True)
# TensorFlow writes behind its output where a state is longer than three.
row("RngReadAndSkip", [
    c(state(words), algorithm, np.uint64(delta))
    for words in STATES for algorithm in (1, 3)
    for delta in (0, 1, 77, 2 ** 56 + 3, 2 ** 64 - 1)] + [
    bad(variable, algorithm, np.uint64(1)) for variable, algorithm in WRONG] + [
    bad(state([1, 2, 3]), 1, np.uint64([1])),
    bad(state([1, 2, 3]), [1], np.uint64([1]))], tol=0, runs=2)
row("RngSkip", [
    c(state(words), algorithm, delta)
    for words in STATES for algorithm in (1, 3)
    for delta in (0, 1, 77, 2 ** 56 + 3, -1)] + [
    bad(variable, algorithm, 1) for variable, algorithm in WRONG] + [
    bad(state([1, 2, 3]), 1, [1])], runs=2)
row("NonDeterministicInts", [
    c([2, 3]), c([]), c([0]), c([70000]), bad([-1]), bad(2), bad([[2]])],
    check="shape", may_fail=True)


@scenario("RngReadAndSkip StatefulUniform")
@fresh_graph
def a_generator_without_a_state(side):
    out, raw = {}, tf.raw_ops
    v, other = (tf.get_variable(name, use_resource=True,
                                initializer=np.int64([1, 2, 3]))
                for name in ("v", "other"))
    with side.session() as session:
        session.run(other.initializer)
        out["reading"] = told(session, raw.RngReadAndSkip(
            resource=v.handle, alg=1, delta=hidden(np.uint64(1))))
        out["drawing"] = told(session, raw.StatefulUniform(
            resource=v.handle, algorithm=hidden(np.int64(1)), shape=[2]))
    return out


@scenario("StatefulRandomBinomial", tol=0)
@fresh_graph
def binomials_of_a_variable(side):
    """TensorFlow takes no shapes of int64, and where the state's memory has
    another owner, as what was fed has, it is that which it changes."""
    out, raw = {}, tf.raw_ops
    one = hidden(np.int64(1))
    with side.session() as session:
        for i, (words, shape, counts, p) in enumerate([
                ([1, 2, 3], [50, 2, 2], [[9], [200]], [0.125, 0.75]),
                ([-1, -1, 7], [50, 2, 2], [[9], [200]], [0.125, 0.75]),
                ([4, 5, 6, 7], [3], 60, 0.375), ([1, 2, 3], [0], 9, 0.5)]):
            v = tf.get_variable("v%d" % i, initializer=one * words,
                                use_resource=True, validate_shape=False)
            session.run(v.initializer)
            for kind in (np.float16, np.float32, np.float64):
                drawn = raw.StatefulRandomBinomial(
                    resource=v.handle, algorithm=hidden(np.int64(1)),
                    shape=np.int32(shape), counts=kind(counts), probs=kind(p))
                for run in range(2):
                    out["%d %s %d" % (i, kind.__name__, run)] = told(
                        session, drawn)
            out["%d state" % i] = session.run(raw.ReadVariableOp(
                resource=v.handle, dtype=tf.int64))
        for i, (algorithm, shape, counts) in enumerate([
                (1, 2, 9), (1, [-2], 9), (1, [2], [9] * 3), (0, [2], 9),
                (99, [2], 9), ([1], [2], 9)]):
            out["refused %d" % i] = told(session, raw.StatefulRandomBinomial(
                resource=v.handle, algorithm=hidden(np.int64(algorithm)),
                shape=hidden(np.int32(shape)),
                counts=hidden(np.float32(counts)), probs=hidden(
                    np.float32(0.5))))
    return out
