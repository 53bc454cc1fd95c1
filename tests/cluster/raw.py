"""Calls that no TensorFlow client makes: single RPCs with any contents."""
from google.protobuf import descriptor_pool

from tests.cluster.client import tf
from tests.cluster.messages import Channel, Messages, code_of  # noqa: F401

message = Messages(descriptor_pool.Default())


class Raw(Channel):
    """A channel whose messages take TensorFlow's own as fields."""

    def __init__(self, address):
        super().__init__(address, message)


def node(name, op="NoOp", inputs=(), device="", **attrs):
    """A NodeDef; attrs: a dtype, or a ready AttrValue."""
    made = tf.NodeDef(name=name, op=op, input=inputs, device=device)
    for key, value in attrs.items():
        if isinstance(value, tf.DType):
            value = tf.AttrValue(type=value.as_datatype_enum)
        made.attr[key].CopyFrom(value)
    return made


def constant(name, value, dtype=tf.float32, **fields):
    proto = tf.make_tensor_proto(value, dtype)
    return node(name, "Const", dtype=dtype, **fields,
                value=tf.AttrValue(tensor=proto))


def graph_of(*nodes):
    """A GraphDef as TensorFlow 2.21's client versions it."""
    graph = tf.GraphDef(node=nodes)
    graph.versions.producer = tf.version.GRAPH_DEF_VERSION
    return graph
