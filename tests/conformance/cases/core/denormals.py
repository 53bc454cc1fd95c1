"""Numbers below the smallest normal one, as operands and as results: zero to
what computes on a CPU, and kept by what only moves or looks at bits."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

raw = tf.raw_ops
LONG = 70001  # the work of several threads, where there are some
# Of each type: a denormal, what has a denormal as its square, what has one as
# its exponential.
VALUES = {tf.float32: (1e-40, 1e-20, -95.0),
          tf.float64: (1e-310, 1e-160, -720.0),
          tf.bfloat16: (1e-39, 1e-20, -89.0),
          tf.half: (1e-6, 1e-3, -12.0)}


def results(x, small, low):
    """Of tensors of denormals, of what has denormals as squares, and so on.
    Maximum, Max and Relu are not here: TensorFlow answers with either, by
    where an element is.  The text of a double is 0 there, its value here."""
    zero, one = tf.zeros_like(x), tf.ones_like(x)
    square = tf.reshape(x[:1], [1, 1])
    text = raw.AsString(input=x[:1], scientific=True)
    return {
        "sum": raw.AddV2(x=x, y=x),
        "sub": raw.Sub(x=x, y=zero), "times 1": raw.Mul(x=x, y=one),
        "square": raw.Mul(x=small, y=small), "exp": raw.Exp(x=low),
        "sqrt": raw.Sqrt(x=x),
        "above 0": raw.Greater(x=x, y=zero), "is 0": raw.Equal(x=x, y=zero),
        "identity": raw.Identity(input=x), "neg": raw.Neg(x=x),
        "abs": raw.Abs(x=x), "tile": raw.Tile(input=x, multiples=[2]),
        "matmul": raw.MatMul(a=square, b=tf.ones_like(square)),
        "bytes": raw.Bitcast(input=x, type=tf.uint8),
        "float": raw.Cast(x=x, DstT=tf.float32),
        "double": raw.Cast(x=x, DstT=tf.float64),
        "half": raw.Cast(x=x, DstT=tf.half),
        **({} if x.dtype == tf.float64 else {"text": text}),
    }


@scenario("AddV2 Sub Mul Exp Sqrt MatMul Greater Equal Cast AsString", tol=0)
@fresh_graph
def denormals_are_zero_to_kernels(side):
    out = {}
    with side.session() as session, tf.device("/device:CPU:0"):
        for dtype, values in VALUES.items():
            for count in (1, LONG):
                fed = [tf.placeholder(dtype, [count]) for _ in values]
                feeds = {p: np.full(count, v, dtype.as_numpy_dtype)
                         for p, v in zip(fed, values)}
                for name, value in session.run(results(*fed), feeds).items():
                    out["%s %d %s" % (dtype.name, count, name)] = value
    return out
