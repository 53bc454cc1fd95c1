"""Cases of kernels/data/data_dummies.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("DummySeedGenerator DummyMemoryCache DummyIterationCounter "
          "AnonymousMemoryCache")
@fresh_graph
def data_dummies(side):
    return answers(side, {
        "seeds": tf.rank(raw.DummySeedGenerator()),
        "cache": tf.rank(raw.DummyMemoryCache()),
        "counter": tf.rank(raw.DummyIterationCounter()),
        "own cache": tf.rank(raw.AnonymousMemoryCache().handle)})


@scenario("DeleteMemoryCache DeleteSeedGenerator DeleteRandomSeedGenerator "
          "AnonymousRandomSeedGenerator")
@fresh_graph
def data_deletes(side):
    one = hidden(tf.constant(1, tf.int64))
    cache = raw.AnonymousMemoryCache()
    seeds = raw.AnonymousSeedGenerator(seed=one, seed2=one, reshuffle=True)
    random = raw.AnonymousRandomSeedGenerator(seed=one, seed2=one)
    bad = raw.AnonymousRandomSeedGenerator(seed=[one, one], seed2=one)
    kept = answers(side, {
        "random": tf.rank(random.handle), "vector": tf.rank(bad.handle)})
    deleted = answers(side, {
        "cache": raw.DeleteMemoryCache(handle=cache.handle,
                                       deleter=cache.deleter),
        "seeds": raw.DeleteSeedGenerator(handle=seeds.handle,
                                         deleter=seeds.deleter),
        "random seeds": raw.DeleteRandomSeedGenerator(
            handle=seeds.handle, deleter=seeds.deleter)})
    # TensorFlow refuses to delete what goes with its last handle anyway.
    return dict(kept, **{name: value if isinstance(value, str) and
                         "Cannot delete an unowned" not in value else "gone"
                         for name, value in deleted.items()})
