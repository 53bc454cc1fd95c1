"""Cases of kernels/random/random.c: the same bits from the same seeds."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import types_of
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import bad, c, once, row, scenario

SEEDED = [c([2, 3], seed=87654321, seed2=5), c([], seed=1, seed2=0),
          c([0], seed=1, seed2=2), c([1000], seed=0, seed2=7),
          c([3, 0, 2], seed=3, seed2=4), once([70000], seed=2 ** 40, seed2=-3),
          bad([-1], seed=1), bad([[2]], seed=1),
          bad([2 ** 31 - 1] * 3, seed=1)]
row("RandomUniform RandomStandardNormal TruncatedNormal", SEEDED, tol=0,
    runs=2)
row("RandomUniformInt", [
    c([2, 3], -5, 60, seed=87654321, seed2=5), c([0], 0, 1, seed=1),
    c([1000], 0, 2 ** 31 - 1, seed=7, seed2=7), c([], -1, 0, seed=1),
    once([70000], 0, 10, seed=2 ** 40, seed2=-3), bad([2], 5, 5, seed=1),
    bad([2], 5, 4, seed=1), bad([2], [0], [5], seed=1),
    bad([-1], 0, 5, seed=1)], tol=0, runs=2)
SHAPED = [[2, 3], [], [0], [1000], [3, 0, 2]]
# Of shape, seed or key: what the stateless ops refuse.
WRONG_SEEDS = [bad([-1], [1, 2]), bad([[2]], [1, 2]), bad(4, [1, 2]),
               bad([2 ** 31 - 1] * 3, [1, 2]), bad([2], [1, 2, 3]),
               bad([2], 1), bad([2], [[1, 2]]), bad([0], [1])]
STATELESS = [c(shape, [7, -9]) for shape in SHAPED] + [
    c([9], [2 ** 31 - 1, -2 ** 31]), once([70000], [0, 0]),
    once([300, 70], [3, 4])] + WRONG_SEEDS
row("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal",
    STATELESS, tol=0, runs=2)
# Its definition allows seeds without a sign; TensorFlow's kernel does not.
row("StatelessRandomUniformFullInt", STATELESS, tol=0, may_fail=True)
row("StatelessRandomUniformInt", [c(shape, [7, -9], -5, 60)
                                  for shape in SHAPED] + [
    c([0], [1, 2], 5, 5), c([99], [5, 6], -2 ** 31, 2 ** 31 - 1),
    once([70000], [1, 2], 0, 10), bad([2], [1, 2], 5, 5),
    bad([2], [1, 2], 5, 4), bad([2], [1, 2], [0], 5), bad([2], [1], 0, 5),
    bad([-2], [1, 2], 0, 5)], tol=0)
KEYED = [([7], [0, 9]), ([2 ** 64 - 1], [2 ** 64 - 1, 2 ** 64 - 2]),
         ([3], [5, 6, 7])]
WRONG_KEYS = [([1, 2], [3, 4], 1), (1, [3, 4], 1), ([1], [[3, 4]], 1),
              ([1], 3, 1), ([1], [3, 4], 2), ([1], [3, 4], 0),
              ([1], [3, 4], 9), ([1], [3, 4], [1])]


def keyed_cases(*bounds):
    """Cases of a V2 op: shape, key, counter, algorithm, bounds."""
    for shape in SHAPED + [[70000]]:
        make = once if shape == [70000] else c
        for key, counter in KEYED:
            key, counter = np.uint64(key), np.uint64(counter)
            yield make(shape, key, counter, 1, *bounds)
            yield make(shape, key, counter, 3, *bounds)
    for key, counter, algorithm in WRONG_KEYS:
        yield bad([2], key, counter, algorithm, *bounds)
        empty = c if algorithm in (0, 2) else bad
        yield empty([0], key, counter, algorithm, *bounds)
    yield bad([-2], [1], [3, 4], 1, *bounds)
    yield bad(2, [1], [3, 4], 1, *bounds)
    yield bad([[2]], [1], [3, 4], 1, *bounds)


row("StatelessRandomUniformV2 StatelessRandomNormalV2 "
    "StatelessTruncatedNormalV2 StatelessRandomUniformFullIntV2",
    list(keyed_cases()), tol=0)
row("StatelessRandomUniformIntV2", list(keyed_cases(-5, 60)) + [
    bad([2], [1], [3, 4], 1, 5, 5), bad([2], [1], [3, 4], 1, 5, 4),
    bad([2], [1], [3, 4], 1, [0], 5), bad([2], [1], [3, 4], 1, 0, [5]),
    c([0], [1], [3, 4], 1, 5, 5)], tol=0)
row("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", [
    c([1, 2]), c([-1, 2 ** 31 - 1]), c([0, 0]), bad([1]), bad(1),
    bad([1, 2, 3]), bad([[1, 2]]), bad([])], tol=0)
row("StatelessRandomGetAlg", [c()], tol=0)


@scenario("RandomUniform RandomStandardNormal TruncatedNormal")
@fresh_graph
def unseeded_random_differs_each_time(side):
    out = {}
    with side.session() as session:
        for kind in (tf.random.uniform, tf.random.normal,
                     tf.random.truncated_normal):
            tensor = kind([1000])
            first, second = session.run(tensor), session.run(tensor)
            out[kind.__name__] = first.shape
            out[kind.__name__ + " again"] = bool((first == second).all())
            out[kind.__name__ + " bound"] = bool(
                np.abs(first).max() < (1 if "uniform" in kind.__name__ else 9))
    return out


@scenario("RandomUniform RandomStandardNormal TruncatedNormal "
          "RandomUniformInt Multinomial", tol=10)
@fresh_graph
def seeded_streams_go_on_from_step_to_step(side):
    out, seeds, n = {}, {"seed": 87, "seed2": 42}, 1003
    raw, tensors = tf.raw_ops, {}
    for name in types_of("RandomUniform"):
        for op in (raw.RandomUniform, raw.RandomStandardNormal,
                   raw.TruncatedNormal):
            tensors[op.__name__ + " " + name] = op(shape=[n], dtype=name,
                                                   **seeds)
    for dtype in (np.int32, np.int64):
        tensors["int %s" % dtype.__name__] = raw.RandomUniformInt(
            shape=[n], minval=dtype(-3), maxval=dtype(2 ** 30), **seeds)
    logits = sample(tf.float32, (1, 300)) / 20
    logits[:, ::7] = -np.inf
    tensors["classes"] = raw.Multinomial(logits=logits, num_samples=99, **seeds)
    with side.session() as session:
        for step in range(3):
            for name, value in session.run(tensors).items():
                out["%s, step %d" % (name, step)] = value
    return out
