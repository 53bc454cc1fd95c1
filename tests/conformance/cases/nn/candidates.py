"""Cases of kernels/nn/candidates.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import bad, c, once, row, scenario

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
row("LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler", [
    *candidates(range_max=10), *candidates(range_max=5000),
    *candidates(range_max=64, num_sampled=50),
    c([[1]], num_true=1, num_sampled=900, unique=True, range_max=1000, seed=2),
    c([[0]], num_true=1, num_sampled=1, unique=True, range_max=1, seed=2),
    c([[3]] * 200, num_true=1, num_sampled=40, unique=False, range_max=7,
      seed=4),
    bad([[10]], num_true=1, num_sampled=1, unique=True, range_max=10),
    bad([[1]], num_true=1, num_sampled=4, unique=True, range_max=3)],
    tol=0, runs=3)
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


@scenario("FixedUnigramCandidateSampler", tol=0)
@fresh_graph
def weights_of_candidates_come_from_a_file(side):
    out = {}
    files = {"good": b"a,3\nb,x y,1.5\n0.25\n", "blank": b"1\n\n2\n3",
             "word": b"1\ntwo\n3\n", "comma": b"1,\n2\n3\n",
             "few": b"1\n2\n", "empty": b""}
    with side.session() as session:
        for name, text in files.items():
            with open(side.path(name), "wb") as file:
                file.write(text)
            sampled = tf.raw_ops.FixedUnigramCandidateSampler(
                true_classes=[[2]], num_true=1, num_sampled=5, unique=False,
                range_max=3, vocab_file=side.path(name), seed=5,
                distortion=0.5)
            for step in range(2):
                values = attempt(session, list(sampled))
                for place, value in enumerate(
                        [values] if isinstance(values, str) else values):
                    out["%s %d %d" % (name, step, place)] = value
    return out
