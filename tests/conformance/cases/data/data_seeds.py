"""Cases of kernels/data/data_seeds.c; what the seeds do is in
dataset_shuffle.py."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("AnonymousSeedGenerator")
@fresh_graph
def data_seed_generators(side):
    one, two = hidden(np.int64(1)), hidden(np.int64(2))
    made = raw.AnonymousSeedGenerator(seed=one, seed2=two,
                                      reshuffle=hidden(False))
    bad = raw.AnonymousSeedGenerator(seed=hidden(np.array([1, 2])), seed2=two,
                                     reshuffle=hidden(False))
    return answers(side, {"made": tf.rank(made.handle),
                          "vector": tf.rank(bad.handle)})
