"""Random numbers: the same bits from the same seeds, in the second step too."""
import dataclasses

import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

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

row("RandomShuffle", [
    c(x(7), seed=5, seed2=6), c(x(7, 3), seed=5, seed2=6), c(x(), seed=1),
    c(x(1, 4), seed=1), c(x(0), seed=1), c(x(3, 0), seed=1),
    c(x(2, 3, 2), seed=-5, seed2=2 ** 40), once(x(3001), seed=9),
    c(x(2), seed=3), c(x(64), seed=3), c(x(65), seed=3), c(x(66), seed=3),
    c(x(130, 2), seed=4), c(x(129, 1), seed=4),
    once(x(300, 70), seed=8)], tol=0, runs=3)

LOGITS = Data(-4, 4)
MULTINOMIAL = [
    c(x(2, 5), 7), c(x(1, 1), 3), c(x(3, 4), 1), c(x(0, 4), 3), c(x(2, 3), 0),
    c([[np.inf, 0, 0], [-np.inf] * 3, [np.nan, 0, 1]], 9),
    c(x(5, 9), 13), c(x(3, 4), 15), c(x(3, 2), 17), c(x(3, 7), 63),
    c(x(4, 1), 65), c(x(3, 64), 129),
    once(x(1, 300), 5000), bad(x(2, 3), -1), bad(x(3), 2),
    bad(x(2, 0), 2), bad(x(0, 0), 2), bad(x(2, 3), [2]), bad(x(2, 2, 2), 1)]
row("Multinomial", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(MULTINOMIAL)],
    LOGITS, tol=0, runs=3)
row("StatelessMultinomial", [
    dataclasses.replace(case, inputs=case.inputs + ([number, 5],))
    for number, case in enumerate(MULTINOMIAL)] + [
        bad(x(2, 3), 2, [1]), bad(x(2, 3), 2, 1)], LOGITS, tol=0)

ALPHAS = [0.3, 1, 1.7, 20, 0.9999, 1e-3, 1e6]
GAMMA = [c([3], ALPHAS), c([], 2), c([2, 3], [[0.5], [4]]), c([0], [1]),
         c([3], []), c([1000], [0.2, 1]), c([4], [-1, 0, -2 / 3, np.nan]),
         once([5000], [0.7, 1, 3])]
WRONG_SHAPES = [bad([-1], [1]), bad(3, [1]), bad([[3]], [1]),
                bad([2 ** 31 - 1] * 3, [1])]
row("RandomGamma", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(GAMMA + WRONG_SHAPES)],
    tol=0, runs=3, dtypes=("float32", "float64", "float16"))
RATES = [3, 0, 9, 10, 11, 60, 700, 50000]
POISSON = [c([4], RATES), c([], 2), c([2, 3], [[1], [40]]), c([0], [1]),
           c([3], []), c([1000], [2, 30]),
           c([2], [-1, -np.inf, np.inf, 0.3, 9.99], dtypes=REALS),
           once([5000], [2, 30])] + WRONG_SHAPES
row("RandomPoissonV2", [
    dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
    for number, case in enumerate(POISSON)], tol=0, runs=3)


def with_seeds(case, number):
    """A stateless case: its shape ends with that of the parameter."""
    shape, parameter = case.inputs
    if not case.bad:
        shape = shape + list(np.shape(parameter))
    return dataclasses.replace(case, inputs=(shape, [number, -3], parameter))


UNSEEDED = [bad([2], [1, 2, 3], [1, 2]), bad([2], [1, 2], [1, 2, 3]),
            bad([2], [1, 2], [[1, 2]])]
row("StatelessRandomGammaV2", [
    with_seeds(case, number) for number, case in enumerate(
        GAMMA + WRONG_SHAPES)] + UNSEEDED, tol=0,
    dtypes=("float32", "float64", "float16"))
row("StatelessRandomPoisson", [
    with_seeds(case, number) for number, case in enumerate(POISSON)] +
    UNSEEDED, tol=0)

CLASSES = [[1], [2], [0], [9]]


def candidates(**attrs):
    """Cases of a candidate sampler; attrs go to all of them."""
    attrs = dict(dict(num_true=1, num_sampled=6, unique=False, seed=3),
                 **attrs)
    pairs = np.arange(8).reshape(4, 2)
    yield c(CLASSES, **attrs)
    yield c(CLASSES, **dict(attrs, unique=True, seed2=5))
    yield c(pairs, **dict(attrs, num_true=2, seed2=6))
    yield c(np.zeros([0, 1]), **dict(attrs, seed=2 ** 40, seed2=-5))
    yield bad([[-1]], **attrs)
    yield bad([[2 ** 62]], **attrs)
    yield bad([[1, 2]], **attrs)
    yield bad([1], **attrs)
    yield bad(1, **attrs)


row("LogUniformCandidateSampler UniformCandidateSampler", [
    *candidates(range_max=10), *candidates(range_max=5000),
    *candidates(range_max=64, num_sampled=50), *candidates(range_max=2 ** 40),
    c([[1]], num_true=1, num_sampled=900, unique=True, range_max=1000, seed=2),
    c([[0]], num_true=1, num_sampled=1, unique=True, range_max=1, seed=2),
    bad([[10]], num_true=1, num_sampled=1, unique=True, range_max=10),
    bad([[1]], num_true=1, num_sampled=4, unique=True, range_max=3)],
    tol=0, runs=3)
row("AllCandidateSampler", list(candidates(num_sampled=10)), tol=0, runs=2)
WEIGHTS = [3.0, 1.0, 0.0, 0.5, 2.0, 2.0, 7.25, 1e-3, 4.0, 1.0]
row("FixedUnigramCandidateSampler", [
    *candidates(range_max=10, unigrams=WEIGHTS),
    *candidates(range_max=10, unigrams=WEIGHTS, distortion=0.75),
    *candidates(range_max=12, unigrams=WEIGHTS, num_reserved_ids=2),
    c([[1], [2]], num_true=1, num_sampled=3, unique=True, range_max=5,
      unigrams=WEIGHTS, num_shards=2, shard=1, seed=4),
    c([[1], [2]], num_true=1, num_sampled=3, unique=False, range_max=4,
      unigrams=WEIGHTS, num_shards=3, shard=0, num_reserved_ids=2, seed=4),
    c([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
      unigrams=[2.0], seed=4),
    c([[0]], num_true=1, num_sampled=9, unique=False, range_max=3, seed=4,
      unigrams=[2.0, -1.0, 3.0]),
    c([[0]], num_true=1, num_sampled=9, unique=False, range_max=3, seed=4,
      unigrams=[0.0, 0.0, 0.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=2,
        unigrams=[2.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        unigrams=[2.0, 1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file="/no/such/file"),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file=__file__),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        num_reserved_ids=5, unigrams=[1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        num_shards=1, shard=1, unigrams=[1.0]),
    bad([[0]], num_true=1, num_sampled=3, unique=False, range_max=1,
        vocab_file="/x", unigrams=[1.0])], tol=0, runs=3)
row("ComputeAccidentalHits", [
    c([[1, 2], [3, 3]], [3, 2, 3], num_true=2), c([[5]], [1, 2], num_true=1),
    c(np.zeros([0, 2]), [1], num_true=2), c([[1]], [], num_true=1),
    once(np.arange(600).reshape(200, 3), np.arange(500)[::-7], num_true=3),
    bad([[1, 2]], [1], num_true=1), bad([1], [1], num_true=1),
    bad([[1]], [[1]], num_true=1), bad([[1]], 1, num_true=1)], tol=0)
