"""Cases of kernels/data/data_dummies.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, raw
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
