"""Cases of kernels/sparse/sparse_map.c: what is put in comes out once."""
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import note
from tests.conformance.cases.shared import BACK, NOWHERE, PLACES, TWICE_THERE
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
NAMES = ("AddSparseToTensorsMap AddManySparseToTensorsMap "
         "TakeManySparseFromTensorsMap")
L, F = np.int64, np.float32
FOUR = F([1, 2, 3, 4])
# indices, values, shape
GIVEN = {
    "four": (PLACES, FOUR, [3, 4]), "none": (NOWHERE, F([]), [7, 2]),
    "no rows": (NOWHERE, F([]), [0, 2]), "backwards": (BACK, FOUR, [3, 4]),
    "twice": (TWICE_THERE, FOUR[:3], [3, 4]),
    "outside": ([[0, 9]], FOUR[:1], [3, 4]),
    "row outside": ([[5, 0]], FOUR[:1], [3, 4]),
    "negative": ([[-1, 0]], FOUR[:1], [3, 4]),
    "rank 3": ([[0, 1, 2], [3, 0, 0]], FOUR[:2], [4, 2, 3]),
    "vector": ([[0], [2]], FOUR[:2], [3]),
    "scalar": (np.zeros([0, 0]), F([]), []),
    "strings": (PLACES, np.array(["a", "", "c" * 40, "d"]), [3, 4]),
    "index vector": ([0, 1], FOUR[:2], [3, 4]),
    "value matrix": (PLACES, FOUR[None], [3, 4]),
    "shape matrix": (PLACES, FOUR, [[3, 4]]),
    "few values": (PLACES, FOUR[:3], [3, 4]),
    "short shape": (PLACES, FOUR, [3]), "long shape": (PLACES, FOUR, [3, 4, 5]),
    "negative shape": (PLACES, FOUR, [-1, 4]),
    "large shape": (PLACES, FOUR, [1 << 40, 1 << 40]),
}


class Map:
    """name: of all its ops, which have nothing else in common."""

    def __init__(self, session, name):
        self.session, self.name = session, name

    def add(self, op, given):
        indices, values, shape = given
        return told(self.session, op(
            sparse_indices=hidden(np.array(indices, L)),
            sparse_values=hidden(values),
            sparse_shape=hidden(np.array(shape, L)), shared_name=self.name))

    def one(self, given):
        return self.add(raw.AddSparseToTensorsMap, given)

    def many(self, given):
        return self.add(raw.AddManySparseToTensorsMap, given)

    def take(self, numbers, dtype=tf.float32):
        return told(self.session, list(raw.TakeManySparseFromTensorsMap(
            sparse_handles=hidden(np.array(numbers, L)), dtype=dtype,
            shared_name=self.name)))


def numbered(values):
    out = {}
    for i, value in enumerate(values):
        note(out, str(i), value)
    return out


@scenario(NAMES, tol=0)
@fresh_graph
def what_waits_in_a_map_comes_out(side):
    out = {}
    with side.session() as session:
        for name, given in GIVEN.items():
            dtype = tf.string if name == "strings" else tf.float32
            m = Map(session, "map of " + name)
            one, many = m.one(given), m.many(given)
            note(out, name + " one", one)
            note(out, name + " many", many)
            if not isinstance(one, str):
                note(out, name + " one taken", m.take([one], dtype))
            if not isinstance(many, str):
                note(out, name + " many taken", m.take(many, dtype))
    return out


@scenario(NAMES, tol=0)
@fresh_graph
def maps_of_all_types(side):
    out = []
    types = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8,
             tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32,
             tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]
    with side.session() as session:
        for dtype in types:
            m = Map(session, "of " + dtype.name)
            given = (PLACES, sample(dtype, (4,)), [3, 4])
            out += [m.many(given), m.one(given), m.take([3, 1, 0], dtype),
                    m.take([2], dtype)]
    return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def what_a_map_does_not_have(side):
    with side.session() as session:
        m, four = Map(session, "mine"), GIVEN["four"]
        out = [m.take([0]), m.one(four), m.take([0]), m.take([0])]
        out += [m.take([]), m.take(1), m.take([[1]]), m.take([-1])]
        # Whatever is found before the number that is not is gone, too.
        out += [m.many(four), m.take([2, 9, 3]), m.take([2]), m.take([3])]
        out += [m.many(four), m.take([4, 4]), m.take([4]), m.take([6, 5])]
        out += [m.one(four), m.take([7], tf.int32), m.take([7])]
        out += [m.one(four), m.one(GIVEN["vector"]), m.take([8, 9]),
                m.take([8])]
        out += [m.one(four), m.one(GIVEN["none"]), m.take([11, 10])]
        # TensorFlow counts what has no name in all of its process.
        unnamed = Map(session, "").take([0])
        out += [Map(session, "_mine").one(four),
                re.sub(r" _[0-9]+_", " _0_", unnamed)]
        return numbered(out)


@scenario(NAMES, tol=0)
@fresh_graph
def maps_go_by_the_names_of_their_nodes(side):
    with side.session() as session:
        put = raw.AddSparseToTensorsMap(
            sparse_indices=L(PLACES), sparse_values=FOUR, sparse_shape=L([3, 4]),
            name="map")
        number = session.run(put)
        taken = [list(raw.TakeManySparseFromTensorsMap(
            sparse_handles=[number], dtype=tf.float32, shared_name=name))
            for name in (put.op.name, put.op.name + "_1", put.op.name)]
        boxed = raw.AddManySparseToTensorsMap(
            sparse_indices=L(PLACES), sparse_values=FOUR, sparse_shape=L([3, 4]),
            shared_name="here", container="box")
        rows = session.run(boxed)
        taken += [list(raw.TakeManySparseFromTensorsMap(
            sparse_handles=rows, dtype=tf.float32, shared_name="here",
            container=box)) for box in ("", "other", "box")]
        return numbered([number, rows] + [told(session, t) for t in taken])
