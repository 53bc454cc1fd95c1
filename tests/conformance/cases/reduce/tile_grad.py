"""Cases of kernels/reduce/tile_grad.c.

What it computes is in tests/cluster/graphs/test_deprecated_ops.py: TensorFlow's
kernel wants an attribute that its client lets nobody write."""
from tests.cluster.client import np, tf
from tests.conformance.old_graphs import old_op
from tests.conformance.scenarios import attempt
from tests.conformance.table import scenario


@scenario("TileGrad")
def gradients_of_tile_in_old_graphs(side):
    found = {}
    for producer in (0, 1, 2):
        with tf.Graph().as_default(), side.session() as session:
            found["producer %d" % producer] = attempt(session, old_op(
                "TileGrad", 1, [1.0, 2.0], np.int32([2]), producer=producer))
    return found
