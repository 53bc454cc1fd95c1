"""Cases of kernels/linalg/linalg.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import Data, x
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, once, row, scenario


def positive_definite(*dims):
    """Matrices that have a Cholesky factor and are easily inverted."""
    flat = np.random.RandomState(5).uniform(-1, 1, dims)
    return flat @ np.swapaxes(flat, -1, -2) + dims[-1] * np.eye(dims[-1])


def regular(*dims):
    """Matrices that are easily inverted."""
    flat = np.random.RandomState(6).uniform(-1, 1, dims)
    return flat + 2 * dims[-1] ** 0.5 * np.eye(dims[-1])


SINGULAR = [[1, 2], [2, 4]]
NO_MATRIX = [bad(x(3)), bad(x())]
NO_SQUARE = NO_MATRIX + [bad(x(2, 3)), bad(x(2, 3, 2))]
EMPTY = [c(x(0, 0)), c(x(0, 2, 2)), c(x(2, 0, 0))]
row("Qr", [c(x(*dims), full_matrices=full) for full in (False, True)
           for dims in [(3, 3), (4, 2), (2, 4), (1, 1), (1, 3), (3, 1),
                        (2, 3, 4, 3), (0, 3), (3, 0), (0, 0), (2, 0, 3),
                        (0, 2, 2)]] + [
    c([[2, 0], [0, 3]]), c([[-2, 1], [0, -3]]), c([[0, 1], [0, 2], [0, 0]]),
    once(x(40, 30)), once(x(70, 70)), once(x(300, 3)), once(x(3, 300)),
    once(x(50, 20), full_matrices=True)] + NO_MATRIX, Data(-2, 2), tol=64)
row("Cholesky", [
    c(positive_definite(3, 3)), c(positive_definite(1, 1)),
    c([[4, 99], [2, 5]]), c(positive_definite(2, 3, 2, 2)),
    once(positive_definite(40, 40))] + EMPTY + NO_SQUARE, tol=8)
row("MatrixInverse", [
    c(regular(3, 3)), c(regular(2, 3, 4, 4), adjoint=True), c(regular(1, 1)),
    c([[0, 2], [4, 0]]), once(regular(40, 40)), bad(SINGULAR),
    bad([[np.nan, 0], [0, 1]]), bad([[0, 0], [0, 0]])] + EMPTY + NO_SQUARE,
    tol=16)
row("MatrixSolve", [
    c(regular(3, 3), x(3, 2)), c(regular(2, 4, 4), x(2, 4, 1)),
    c(regular(3, 3), x(3, 2), adjoint=True), c(regular(2, 2), x(2, 0)),
    c([[0, 2], [4, 0]], x(2, 2)), c(x(0, 0), x(0, 3)), c(x(0, 0), x(0, 0)),
    c(x(0, 2, 2), x(0, 2, 1)), once(regular(40, 40), x(40, 5)),
    bad(SINGULAR, x(2, 1)), bad(regular(2, 2), x(3, 1)),
    bad(regular(2, 2), x(2)), bad(x(2, 3), x(2, 1)),
    bad(regular(2, 2, 2), x(1, 2, 2)), bad(regular(2, 2), x(1, 2, 2)),
    bad(x(2), x(2)), bad(x(2, 3), x(2))],
    tol=16)
row("MatrixTriangularSolve", [
    c(regular(3, 3), x(3, 2)), c(regular(3, 3), x(3, 2), lower=False),
    c(regular(3, 3), x(3, 2), adjoint=True),
    c(regular(3, 3), x(3, 2), adjoint=True, lower=False),
    c(regular(2, 2), x(3, 2, 2)), c(regular(2, 1, 2, 2), x(3, 2, 1)),
    c(x(0, 0), x(0, 3)), c(regular(2, 2), x(2, 0)), c(SINGULAR, x(2, 1)),
    once(regular(40, 40), x(40, 5)), bad(regular(2, 2), x(3, 1)),
    bad(regular(2, 2), x(2)), bad(x(2, 3), x(2, 1)),
    bad(regular(2, 2, 2), x(3, 2, 1)), bad(x(2), x(2)),
    bad(x(2, 3), x(2)), bad(x(2, 2, 3), x(3, 3, 3)),
    bad(regular(2, 2, 2), x(3, 1))], tol=16)
row("MatrixDeterminant LogMatrixDeterminant", [
    c(regular(3, 3)), c(regular(2, 4, 4)), c([[1, 2], [3, 4]]),
    c([[0, 1], [1, 0]]), c(SINGULAR), c(regular(1, 1)), c([[-3]]),
    once(regular(40, 40)), c(np.diag([-1.0, 0, 3])), c(np.zeros([3, 3])),
    c([[1, 2], [np.nan, 4]])] + EMPTY + NO_SQUARE, tol=32)
# Values and vectors of matrices that have some are in scenarios.py.
row("SelfAdjointEigV2", [c(x(0, 0)), c(x(0, 2, 2)),
                         bad([[np.nan, 0], [0, 1]])] + NO_SQUARE)
row("Svd", [
    c(x(0, 3)), c(x(3, 0)), c(x(0, 3), full_matrices=True),
    c(x(3, 0), full_matrices=True), c(x(2, 0, 3), full_matrices=True),
    c(x(0, 2, 2)), c(x(0, 0)), c([[np.nan, 0], [0, 1]]),
    c([[np.inf, 0], [0, 1]])] + NO_MATRIX)


@scenario("Cholesky")
@fresh_graph
def cholesky_of_what_is_not_positive_definite_is_no_number(side):
    out = {}
    with side.session() as session:
        for name, value in {"negative": [[1, 2], [2, 1]],
                            "zero": [[0, 0], [0, 0]],
                            "nan": [[np.nan, 0], [0, 1]]}.items():
            factor = session.run(tf.raw_ops.Cholesky(
                input=tf.constant(value, tf.float32)))
            out[name] = np.tril(factor)
    return out


@scenario("SelfAdjointEigV2 Svd", tol=100)
@fresh_graph
def vectors_of_decompositions_agree_but_for_their_sign(side):
    raw, out = tf.raw_ops, {}
    rng = np.random.RandomState(3)
    with side.session() as session:
        for dtype in (tf.float32, tf.float64, tf.complex64, tf.complex128):
            flat = rng.uniform(-1, 1, (2, 5, 3, 2)) @ [1, 1j]
            flat = (flat if dtype.is_complex else flat.real).astype(
                dtype.as_numpy_dtype)
            turned = np.conj(np.swapaxes(flat, 1, 2))
            square = flat[:, :3] + turned[..., :3]
            square[:, 0, 2] = 99  # nobody reads above the diagonal
            e, v = session.run(raw.SelfAdjointEigV2(input=square))
            out["%s e" % dtype.name] = e
            out["%s v" % dtype.name] = np.abs(v)
            out["%s only e" % dtype.name] = session.run(
                raw.SelfAdjointEigV2(input=square, compute_v=False)[0])
            for x in (flat, turned):
                out["%s only s" % dtype.name] = session.run(
                    raw.Svd(input=x, compute_uv=False)[0])
                for full in (False, True):
                    key = "%s %s %d " % (dtype.name, full, x.shape[1])
                    found = session.run(raw.Svd(input=x, full_matrices=full))
                    out.update(describe_svd(key, *found))
    return out


def describe_svd(key, s, u, v):
    """What of singular values and vectors does not depend on signs."""
    count = s.shape[-1]
    few_u, few_v = u[..., :count], v[..., :count]
    return {
        key + "s": s, key + "shapes": np.array([u.shape, v.shape]),
        key + "u": np.abs(few_u), key + "v": np.abs(few_v),
        key + "product": (few_u * s[:, None]) @ np.conj(
            np.swapaxes(few_v, 1, 2)),
        key + "unitary": np.conj(np.swapaxes(u, 1, 2)) @ u}


@scenario("BatchCholesky BatchMatrixDeterminant BatchMatrixInverse "
          "BatchMatrixSolve BatchMatrixTriangularSolve BatchSelfAdjointEigV2 "
          "BatchSvd", tol=64)
@fresh_graph
def matrices_by_the_old_names_of_ops(side):
    out = {}
    with side.session() as session:
        for dtype in (np.float32, np.float64):
            square = positive_definite(2, 3, 3).astype(dtype)
            right = regular(2, 3, 3)[..., :2].astype(dtype)
            for op, outputs, inputs, attrs in [
                    ("BatchCholesky", 1, [square], {}),
                    ("BatchMatrixDeterminant", 1, [square], {}),
                    ("BatchMatrixInverse", 1, [square], {"adjoint": True}),
                    ("BatchMatrixSolve", 1, [square, right], {}),
                    ("BatchMatrixTriangularSolve", 1, [square, right],
                     {"lower": False}),
                    ("BatchSelfAdjointEigV2", 2, [square], {}),
                    ("BatchSvd", 3, [square], {"full_matrices": True})]:
                found = session.run(old_op(op, outputs, *inputs, **attrs))
                for i, value in enumerate(found):
                    out["%s %s %d" % (op, dtype.__name__, i)] = np.abs(value)
    return out
