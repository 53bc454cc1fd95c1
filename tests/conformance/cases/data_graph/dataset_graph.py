"""Cases of kernels/data_graph/dataset_graph.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, failing, hidden,
                                                    plain, raw, variant, walk)
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

INT = {"output_types": [tf.int64], "output_shapes": [[]]}


def graph_of(make):
    """The GraphDef of a dataset, as TensorFlow writes it."""
    with tf.Graph().as_default(), tf.Session("") as session:
        return session.run(raw.DatasetToGraphV2(
            input_dataset=variant(make()), external_state_policy=1))


@scenario("DatasetFromGraph MakeIterator IteratorGetNext")
@fresh_graph
def data_from_graphs(side):
    place = tf.placeholder(tf.string, [])
    it = raw.IteratorV2(shared_name="", container="", **INT)
    init = raw.MakeIterator(dataset=raw.DatasetFromGraph(graph_def=place),
                            iterator=it)
    fetch = raw.IteratorGetNext(iterator=it, **INT)
    out = {}
    with side.session() as session:
        for name, make in {
                "range": lambda: data.range(4),
                "none": lambda: data.range(0),
                "map": lambda: data.range(6).map(lambda x: x * x).filter(
                    lambda x: x % 2 == 0),
                "nested": lambda: data.range(3).flat_map(
                    lambda x: data.range(x).map(lambda y: x + y)),
                "shuffled": lambda: data.range(8).shuffle(4, seed=5),
                "fails": lambda: plain(data.range(4).map(failing(2))),
        }.items():
            out[name] = told(session, init, {place: graph_of(make)}) or "made"
            walk(session, out, name, fetch, 10)
        broken = told(session, init, {place: b"\x0a\xff\xff"})
        out["broken"] = isinstance(broken, str)
        out["empty"] = isinstance(told(session, init, {place: b""}), str)
    return out
