"""Cases of kernels/nn/isotonic.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import Data, x
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import c, once, row, scenario

PAIRS = [(("float32", "int8", "int16"), "float32"), (("float64", "int32", "int64"), "float64"),
         (("float16",), "float16"), (("bfloat16",), "bfloat16")]
SHAPES = [(1, 5), (3, 7), (2, 3, 4), (6,), (), (0, 3), (3, 0), (2, 1), (4, 33)]
FALLS, RISES = [[9, 7, 7, 4, 1]], [[1, 4, 7, 7, 9]]

row("IsotonicRegression", [
    c(x(*dims), dtypes=types, output_dtype=out) for types, out in PAIRS for dims in SHAPES] + [
    c(value, dtypes=types, output_dtype=out) for types, out in PAIRS
    for value in (FALLS, RISES, [[5, 5, 5]], [[1, 9, 1, 9, 1, 9]])] + [
    once(x(50, 200), output_dtype="float32"), once(x(1, 3000), output_dtype="float32"),
    once(np.float32([[1, np.inf, 2, -np.inf]]), output_dtype="float32"),
    once(np.float32([[1, np.nan, 2, 3]]), output_dtype="float32")], Data(-100, 100), tol=0,
    dtypes=[t for types, _ in PAIRS for t in types])


@scenario("IsotonicRegression")
@fresh_graph
def isotonic_of_other_types(side):
    """For which there is no kernel."""
    out = {}
    for given, wanted in (("float32", "float64"), ("float32", "float16"), ("int32", "float32"),
                          ("uint8", "float32")):
        with side.session() as session:
            out["%s to %s" % (given, wanted)] = attempt(session, tf.raw_ops.IsotonicRegression(
                input=np.ones([2, 3], given), output_dtype=wanted)[0])
    return out
