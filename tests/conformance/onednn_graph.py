"""TensorFlow's kernels by oneDNN, of ops that have no other.

A session puts them in the place of such ops where the process was started with
TF_ENABLE_ONEDNN_OPTS=1, and filters are constants; elsewhere the ops fail.  So
TensorFlow is asked on a copy of the graph with those kernels in it."""
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry

from tests.cluster.client import tf
from tests.conformance import judge

SUMMANDS = {"float32": ("float32", types_pb2.DT_FLOAT),
            "quint8": ("uint8", types_pb2.DT_UINT8),
            "qint8": ("int8", types_pb2.DT_INT8)}


def replaced(graph):
    """The GraphDef with kernels of oneDNN."""
    found = graph.as_graph_def()
    for node in list(found.node):
        if node.op.startswith("QuantizedConv2D") and (
                node.attr["Tfilter"].type == types_pb2.DT_QINT8):
            own_summand(graph, found, node)
            node.op = "_Mkl" + node.op
            node.attr["_kernel"].s = b"QuantizedMklOp"
            node.attr["is_filter_const"].b = True
    return found


def own_summand(graph, found, node):
    """The kernel writes over its summand, which must be nobody else's."""
    names = [arg.name for arg in op_def_registry.get(node.op).input_arg]
    if "summand" not in names:
        return
    place = names.index("summand")
    dtype = graph.get_operation_by_name(node.name).inputs[place].dtype
    with tf.Graph().as_default() as more:
        value = tf.placeholder(dtype, name=node.input[place])
        plain = getattr(tf, SUMMANDS[dtype.name][0])
        if plain != dtype:
            value = tf.bitcast(value, plain, name=node.name + "/plain")
        value = tf.raw_ops.AddV2(x=value, y=tf.zeros_like(
            value, name=node.name + "/zeros"),
                                 name=node.name + "/sum")
        if plain != dtype:
            value = tf.bitcast(value, dtype, name=node.name + "/own")
    found.node.extend(n for n in more.as_graph_def().node
                      if n.op != "Placeholder")
    node.input[place] = value.op.name


class Side(judge.Side):
    """A session in process on the copy of a graph."""

    def __init__(self, graph, config):
        super().__init__("")
        with tf.Graph().as_default() as self.graph:
            tf.import_graph_def(replaced(graph), name="")
        self.session = tf.Session("", graph=self.graph, config=config)

    def run(self, fetches, feeds, alone):
        names = [[tensor.name for tensor in trial] for trial in fetches]
        fed = {tensor.name: value for tensor, value in feeds.items()}
        try:
            return self.session.run(names, fed)
        except tf.errors.OpError as error:
            raise judge.Failure(type(error).__name__, error.message) from None

    def close(self):
        self.session.close()
