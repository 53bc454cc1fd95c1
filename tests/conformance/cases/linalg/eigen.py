"""Cases of kernels/linalg/eigen.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.linalg.linalg import regular
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import scenario


def in_order(values):
    """By real part, then imaginary one, as far as rounding leaves it."""
    places = np.lexsort((np.round(values.imag, 3), np.round(values.real, 3)))
    return np.take_along_axis(values, places, -1)


@scenario("Eig", tol=100)
@fresh_graph
def values_and_vectors_of_any_matrix(side):
    out, raw = {}, tf.raw_ops
    matrices = {"square": regular(5, 5), "batch": regular(2, 3, 4, 4),
                "turning": [[1, -3], [3, 1]], "one": [[-7]],
                "triangle": [[1, 2, 3], [0, 4, 5], [0, 0, 6]],
                "nothing": np.zeros([0, 0]), "none": np.zeros([0, 2, 2]),
                "wide": regular(3, 3)[:2], "vector": [1, 2], "scalar": 3,
                "nan": [[np.nan, 1], [1, 2]]}
    wide = {np.float32: np.complex64, np.float64: np.complex128,
            np.complex64: np.complex64, np.complex128: np.complex128}
    with side.session() as session:
        for dtype, of_values in wide.items():
            for name, value in matrices.items():
                key = "%s %s " % (name, dtype.__name__)
                value = np.asarray(value).astype(dtype)
                found = told(session, list(raw.Eig(
                    input=hidden(value), Tout=of_values)))
                if isinstance(found, str):
                    out[key] = found
                    continue
                e, v = found
                out[key + "e"] = in_order(e)
                out[key + "v e"] = (v * e[..., None, :]) @ np.linalg.inv(
                    v) if v.size else v
                out[key + "length"] = np.linalg.norm(v, axis=-2)
                alone = attempt(session, list(raw.Eig(
                    input=hidden(value), Tout=of_values, compute_v=False)))
                out[key + "alone"] = in_order(alone[0])
    return out
