"""Graphs of an old producer, in which ops have names that were given up since.

TensorFlow refuses such names in a graph of today, so they cannot be rows."""
import numpy as np
from tensorflow.python.framework import op_def_library, op_def_registry

from tests.cluster.client import tf

PRODUCER = 8  # before any of the names was given up


def constant(name, value):
    node = tf.NodeDef(name=name, op="Const")
    value = np.asarray(value)
    node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return node


def old_op(op, outputs, *inputs, producer=PRODUCER, **attrs):
    """The outputs of an op of these constants; its type is the first's."""
    graph = tf.GraphDef()
    graph.versions.producer = producer
    for i, value in enumerate(inputs):
        graph.node.append(constant("in%d" % i, value))
    node = graph.node.add(name="op", op=op)
    node.input.extend("in%d" % i for i in range(len(inputs)))
    node.attr["T"].type = graph.node[0].attr["dtype"].type
    kinds = {attr.name: attr.type for attr in op_def_registry.get(op).attr}
    for name, value in attrs.items():
        node.attr[name].CopyFrom(op_def_library.value_to_attr_value(
            value, kinds[name], name))
    return tf.import_graph_def(graph, name="old", return_elements=[
        "op:%d" % i for i in range(outputs)])


def old_node(op, *inputs, producer=PRODUCER, **attrs):
    """The outputs of an old op that takes part in the graph of today; a lone
    one by itself."""
    graph, definition = tf.GraphDef(), op_def_registry.get(op)
    graph.versions.producer = producer
    node = graph.node.add(name="op", op=op)
    known = {"in%d:0" % i: tf.constant(x) if not hasattr(x, "op") else x
             for i, x in enumerate(inputs)}
    node.input.extend(name[:-2] for name in known)
    kinds = {attr.name: attr.type for attr in definition.attr}
    for name, value in attrs.items():
        node.attr[name].CopyFrom(op_def_library.value_to_attr_value(
            value, kinds[name], name))
    outputs = ["op:%d" % i for i in range(len(definition.output_arg))]
    found = tf.import_graph_def(graph, name="old", input_map=known,
                                return_elements=outputs or ["op"])
    return found[0] if len(found) == 1 else found
