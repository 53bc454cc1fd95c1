"""Cases of kernels/data/one_shot_iterator.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, failing, plain,
                                                    walk)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


@scenario("OneShotIterator IteratorGetNext")
@fresh_graph
def data_one_shot_iterators(side):
    made = {
        "range": data.range(5),
        "map": data.range(5).map(lambda x: (x, x * 2)).batch(2),
        "fails": data.range(5).map(failing(2)),
        "none": data.range(0),
        "random": data.range(3).repeat(2).prefetch(1),
    }
    out = {}
    fetches = {name: tf.data.make_one_shot_iterator(plain(d)).get_next()
               for name, d in made.items()}
    with side.session() as session:
        for name, fetch in fetches.items():
            walk(session, out, name, fetch, 12)
            walk(session, out, name + " again", fetch, 2)
    return out
