"""Graphs of an old producer, in which ops have names that were given up since.

TensorFlow refuses such names in a graph of today, so they cannot be rows."""
import numpy as np

from tests.cluster.client import tf

PRODUCER = 8  # before any of the names was given up


def constant(name, value):
    node = tf.NodeDef(name=name, op="Const")
    value = np.asarray(value)
    node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return node


def old_op(op, outputs, *inputs, **attrs):
    """The outputs of an op of these constants; its type is the first's."""
    graph = tf.GraphDef()
    graph.versions.producer = PRODUCER
    for i, value in enumerate(inputs):
        graph.node.append(constant("in%d" % i, value))
    node = graph.node.add(name="op", op=op)
    node.input.extend("in%d" % i for i in range(len(inputs)))
    node.attr["T"].type = graph.node[0].attr["dtype"].type
    for name, value in attrs.items():
        node.attr[name].b = value
    return tf.import_graph_def(graph, name="old", return_elements=[
        "op:%d" % i for i in range(outputs)])
