"""Kernels that would work for seconds, of a step that ends before.

Inputs are made in no time, so that the deadline comes when the kernel runs.
"""
from tests.cluster.client import np, tf
from tests.cluster.processor import WORK_SECONDS, work_after_the_deadline
from tests.cluster.suite import test

ONE = dict(worker=1)
WINDOW = dict(ksize=[1, 64, 64, 64, 1], padding="SAME")


def full(size):
    """A CSR matrix that has all its elements."""
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=tf.raw_ops.Where(condition=tf.fill([size, size], True)),
        values=tf.fill([size * size], 1.0), dense_shape=np.int64([size, size]))


def trained(count):
    return tf.raw_ops.SdcaOptimizerV2(
        sparse_example_indices=[], sparse_feature_indices=[],
        sparse_feature_values=[], dense_features=[tf.fill([count, 1], 1.0)],
        example_weights=tf.fill([count], 1.0),
        example_labels=tf.fill([count], 1.0), sparse_indices=[],
        sparse_weights=[], dense_weights=[[0.5]],
        example_state_data=tf.zeros([count, 4]), loss_type="logistic_loss",
        l1=0.0, l2=1.0, num_loss_partitions=1, num_inner_iterations=1,
        adaptive=True).out_example_state_data


LONG = {
    "SparseMatrixSparseMatMul": lambda: tf.raw_ops.SparseMatrixNNZ(
        sparse_matrix=tf.raw_ops.SparseMatrixSparseMatMul(
            a=full(1500), b=full(1500), type=tf.float32)),
    "MatrixSolveLs": lambda: tf.raw_ops.MatrixSolveLs(
        matrix=tf.zeros([200, 600, 600]), rhs=tf.zeros([200, 600, 1]),
        l2_regularizer=tf.constant(1.0, tf.float64)),
    "AvgPool3DGrad": lambda: tf.raw_ops.AvgPool3DGrad(
        orig_input_shape=[1, 300, 300, 300, 1],
        grad=tf.zeros([1, 38, 38, 38, 1]), strides=[1, 8, 8, 8, 1], **WINDOW),
    "MaxPool3D": lambda: tf.raw_ops.MaxPool3D(
        input=tf.zeros([1, 150, 150, 150, 1]), strides=[1, 1, 1, 1, 1],
        **WINDOW),
    "FractionalAvgPool": lambda: tf.raw_ops.FractionalAvgPool(
        value=tf.zeros([1, 15000, 15000, 1], tf.float64),
        pooling_ratio=[1.0, 1.1, 1.1, 1.0])[0],
    "SdcaOptimizerV2": lambda: trained(10 ** 7),
}


@test(limit=60, tfd_only=True, **ONE)
def a_long_kernel_ends_with_its_step(cluster):
    for name, make in LONG.items():
        took = work_after_the_deadline(cluster, make)
        assert took < WORK_SECONDS, "%s worked for %.1f s" % (name, took)
