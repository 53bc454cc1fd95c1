"""Factors and orders of sparse matrices where TensorFlow divides by zero or
writes beside its memory: without rows or batches, and of numbers that are no
permutation."""
from tests.cluster.client import expect, graph, np, tf
from tests.cluster.suite import test

ONE = dict(worker=1)
raw = tf.raw_ops


def diagonal(shape):
    """A matrix of threes, or a batch of them."""
    at = np.argwhere(np.broadcast_to(np.eye(shape[-1]), shape))
    return raw.SparseTensorToCSRSparseMatrix(
        indices=tf.placeholder_with_default(at.astype(np.int64),
                                            [None, len(shape)]),
        values=tf.placeholder_with_default(np.full(len(at), 3, np.float32),
                                           [None]),
        dense_shape=tf.placeholder_with_default(np.int64(shape), [len(shape)]))


def factor(session, shape, order):
    order = np.asarray(order, np.int32)
    y = raw.SparseMatrixSparseCholesky(
        input=diagonal(shape), type=tf.float32,
        permutation=tf.placeholder_with_default(order, [None] * order.ndim))
    return session.run(raw.CSRSparseMatrixToDense(sparse_input=y,
                                                  type=tf.float32))


@test(tfd_only=True, **ONE)
def what_is_no_permutation_is_refused(cluster):
    cases = (([0, 1, 1], "permutation has 1 twice, at 1 and 2 of batch index 0"),
             ([0, -1, 2], "permutation has -1 at 1 of batch index 0"),
             ([0, 1, 3], "permutation has 3 at 2 of batch index 0"),
             ([1 << 30, 1, 2], "permutation has 1073741824 at 0 of batch index 0"))
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        for order, text in cases:
            with expect(tf.errors.InvalidArgumentError, text):
                factor(session, [3, 3], order)
        with expect(tf.errors.InvalidArgumentError, "of batch index 1"):
            factor(session, [2, 3, 3], [[0, 1, 2], [0, 0, 2]])


@test(tfd_only=True, **ONE)
def nothing_has_factors_of_nothing(cluster):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        for shape in ([0, 0], [2, 0, 0], [0, 3, 3]):
            assert factor(session, shape,
                          np.zeros(shape[:-1], np.int32)).shape == tuple(shape)
            order = session.run(raw.SparseMatrixOrderingAMD(
                input=diagonal(shape)))
            assert order.shape == tuple(shape[:-1])


def arrow(n):
    """Whose factor is full, as its first row touches all others."""
    at = np.array([[0, 0]] + [e for i in range(1, n) for e in ([i, 0], [i, i])],
                  np.int64)
    return raw.SparseTensorToCSRSparseMatrix(
        indices=tf.placeholder_with_default(at, [None, 2]),
        values=tf.placeholder_with_default(
            np.where(at[:, 0] == at[:, 1], n, 1).astype(np.float32), [None]),
        dense_shape=tf.placeholder_with_default(np.int64([n, n]), [2]))


@test(tfd_only=True, **ONE)
def a_factor_that_fills_up_is_refused_before_it_is_made(cluster):
    with graph(), tf.Session(cluster.target("worker", 0)) as session:
        m = arrow(30000)
        backwards = raw.SparseMatrixSparseCholesky(
            input=m, permutation=tf.range(29999, -1, -1), type=tf.float32)
        count = raw.SparseMatrixNNZ(sparse_matrix=backwards)
        assert session.run(count) == 59999
        forwards = raw.SparseMatrixSparseCholesky(
            input=m, permutation=tf.range(30000), type=tf.float32)
        with expect(tf.errors.ResourceExhaustedError,
                    "a factor of a sparse matrix of more than 268435456 "
                    "elements"):
            session.run(raw.SparseMatrixNNZ(sparse_matrix=forwards))
