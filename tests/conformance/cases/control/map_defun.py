"""Cases of kernels/control/map_defun.c."""
import numpy as np
from tensorflow.python.framework import function

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario

raw = tf.raw_ops
F, I, S = tf.float32, tf.int64, tf.string


def mapped(f, args, types, shapes, captured=(), **attrs):
    return raw.MapDefun(arguments=args, captured_inputs=list(captured),
                        output_types=types, output_shapes=shapes, f=f, **attrs)


def functions():
    @function.Defun(I, func_name="map_square")
    def square(x):
        return x * x

    @function.Defun(I, I, func_name="map_sum")
    def total(x, c):
        return x + c, tf.as_string(x)

    @function.Defun(I, func_name="map_fill")
    def fill(x):
        return tf.fill([x], x)

    @function.Defun(I, func_name="map_fails")
    def fails(x):
        with tf.control_dependencies([
                tf.debugging.Assert(tf.not_equal(x, 3), ["bad", x])]):
            return x * 10

    @function.Defun(S, func_name="map_join")
    def join(x):
        return tf.strings.reduce_join(x)

    return {"square": square, "total": total, "fill": fill, "fails": fails,
            "join": join}


def row(values):
    return hidden(np.array(values, np.int64))


def fetches():
    f = functions()
    many = np.arange(3000)
    texts = hidden(np.array([["a", "b"], ["", "c" * 40]], object))
    out = {
        "square": mapped(f["square"], [row([1, 2, 3])], [I], [[]]),
        "of unknown shape": mapped(f["square"], [row([4, 5])], [I],
                                   [tf.TensorShape(None)]),
        "rows": mapped(f["square"], [row([[1, 2], [3, 4], [5, 6]])], [I],
                       [[2]]),
        "partly known": mapped(f["square"], [row([[1, 2], [3, 4]])], [I],
                               [[None]]),
        "many": mapped(f["square"], [row(many)], [I], [[]]),
        "one at a time": mapped(f["square"], [row([7, 8])], [I], [[]],
                                max_intra_op_parallelism=0),
        "none": mapped(f["square"], [row([])], [I], [[]]),
        "none of two": mapped(f["square"], [row(np.zeros((0, 2)))], [I],
                              [[2]]),
        "captured": mapped(f["total"], [row([1, 2])], [I, S], [[], []],
                           [row(100)]),
        "same lengths": mapped(f["fill"], [row([2, 2])], [I], [[None]]),
        "texts": mapped(f["join"], [texts], [S], [[]]),
    }
    out.update({
        "scalar": mapped(f["square"], [row(4)], [I], [[]]),
        "other lengths": mapped(f["total"], [row([1, 2]), row([1, 2, 3])],
                                [I, S], [[], []]),
        "second is a scalar": mapped(f["total"], [row([1, 2]), row(3)],
                                     [I, S], [[], []]),
        "fails": mapped(f["fails"], [row([1, 2, 3, 4])], [I], [[]]),
        "wrong shape": mapped(f["square"], [row([1])], [I], [[2]]),
        "wrong rank": mapped(f["square"], [row([[1, 2]])], [I], [[]]),
    })
    return out


@scenario("MapDefun")
@fresh_graph
def map_defuns(side):
    return answers(side, fetches())


@scenario("MapDefun")
@fresh_graph
def map_defun_results_differ(side):
    """Which of two shapes comes first is chance; that they differ is not."""
    f = functions()
    found = answers(side, {"lengths": mapped(
        f["fill"], [row([2, 3])], [I], [[None]])})
    return {key: value.split(", and")[0].split("shape, [")[0]
            if isinstance(value, str) else value
            for key, value in found.items()}
