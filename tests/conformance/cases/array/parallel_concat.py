"""Cases of kernels/array/parallel_concat.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import FED
from tests.conformance.scenarios import attempt, fresh_graph, sample, told
from tests.conformance.table import scenario


@scenario("ParallelConcat", tol=0)
@fresh_graph
def rows_of_their_own(side):
    """TensorFlow builds the op only where shapes are known."""
    out = {}

    def joined(dtype, count, dims, shape):
        rows = [tf.constant(sample(dtype, (1,) + dims)) for _ in range(count)]
        return told(session, tf.raw_ops.ParallelConcat(values=rows, shape=shape))

    for dtype in FED:
        if dtype.is_quantized:
            continue
        with side.session() as session:
            for count, dims in ((2, (3,)), (1, (3,)), (3, ()), (2, (2, 2)), (2, (0,)), (40, (5,))):
                out["%s %d %s" % (dtype.name, count, dims)] = joined(
                    dtype, count, dims, (count,) + dims)
    for count in (1, 3):  # of two rows
        with side.session() as session:
            value = attempt(session, tf.raw_ops.ParallelConcat(
                values=[tf.ones([1, 3])] * 2, shape=[count, 3]))
            out["%d rows" % count] = value if isinstance(value, str) else value[:2]
    with side.session() as session:
        out["qint8"] = attempt(session, tf.raw_ops.ParallelConcat(
            values=[tf.zeros([1, 3], tf.qint8)], shape=[1, 3]))
    return out


@scenario("_ParallelConcatStart _ParallelConcatUpdate", tol=0)
@fresh_graph
def concat_as_it_is_rewritten(side):
    """Which no client makes, but graphs hold that TensorFlow has written."""
    graph, out = tf.get_default_graph(), {}

    def attr(**values):
        kinds = {"T": "type", "dtype": "type", "loc": "i"}
        made = {}
        for name, value in values.items():
            made[name] = (tf.AttrValue(shape=tf.TensorShape(value).as_proto())
                          if name == "shape" else tf.AttrValue(**{kinds[name]: value}))
        return made

    def begin(dtype, shape):
        return graph.create_op("_ParallelConcatStart", [], [dtype], attrs=attr(
            dtype=dtype.as_datatype_enum, shape=shape)).outputs[0]

    def update(value, row, at):
        return graph.create_op(
            "_ParallelConcatUpdate",
            [value, tf.constant(np.array(row).astype(value.dtype.as_numpy_dtype))],
            [value.dtype], attrs=attr(T=value.dtype.as_datatype_enum, loc=at)).outputs[0]

    with side.session() as session:
        for dtype in (tf.float32, tf.int64, tf.bool, tf.complex128):
            value = update(update(begin(dtype, [2, 3]), [[1, 0, 1]], 0), [[0, 0, 1]], 1)
            out[dtype.name] = told(session, value)
        words = update(update(begin(tf.string, [2, 1]), [[b"a" * 40]], 0), [[b"b"]], 1)
        out["words"] = told(session, words)
        kept = tf.placeholder_with_default(np.zeros([2, 2], np.float32), None)
        changed = update(tf.identity(kept), [[1, 2]], -1)
        out["from the end"] = told(session, changed)
        for row, at in (([[1, 2]], 2), ([1, 2], 0), ([[1, 2, 3]], 0), ([[1, 2], [3, 4]], 0)):
            out["%s %d" % (row, at)] = told(session, update(kept, row, at))
    return out
