"""Which ops TensorFlow gave up, since when, and what it says of them.

A session is extended by each op that the server knows and TensorFlow's own list
calls deprecated: by a producer of the version it was given up in, which must be
refused in TensorFlow's words, and by one before, which must not be."""
import itertools

import grpc
from google.protobuf import text_format
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

from tests.cluster.client import tf
from tests.cluster.raw import Raw, node

LOOKED_AT = 5  # the first producer whose extensions TensorFlow looks at
VALUES = {"int": "i: 1", "float": "f: 1", "bool": "b: true", "string": "s: 'x'",
          "type": "type: DT_FLOAT", "shape": "shape { }",
          "list(int)": "list { }", "list(shape)": "list { }"}


def definitions():
    """Of all of TensorFlow's ops that are deprecated."""
    listed = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return [op for op in listed.op if op.HasField("deprecation")]


def value_of(attr):
    """Some AttrValue that is allowed."""
    value = tf.AttrValue()
    if attr.HasField("default_value"):
        value.CopyFrom(attr.default_value)
    elif attr.allowed_values.list.type:
        value.type = attr.allowed_values.list.type[0]
    elif attr.allowed_values.list.s:
        value.s = attr.allowed_values.list.s[0]
    else:
        text_format.Parse(VALUES[attr.type], value)
        if attr.type == "list(int)":
            value.list.i.extend([1] * attr.minimum)
    return value


def nodes_of(definition):
    """A node of the op, after those that its inputs come from."""
    attrs = {attr.name: value_of(attr) for attr in definition.attr}
    made, names = [], itertools.count()
    for arg in definition.input_arg:
        dtype = arg.type or attrs[arg.type_attr].type
        count = attrs[arg.number_attr].i if arg.number_attr else 1
        for _ in range(count):
            made.append(node(
                "in%d" % next(names), "VariableV2" if arg.is_ref
                else "Placeholder", dtype=tf.as_dtype(dtype)))
            if arg.is_ref:
                made[-1].attr["shape"].shape.SetInParent()
    return [*made, node("op", definition.name, [n.name for n in made], **attrs)]


def refusal(channel, definition, producer):
    """(code, text) of the answer to a session's extension by the op."""
    first, second = tf.GraphDef(), tf.GraphDef(node=nodes_of(definition))
    first.node.add(name="n", op="NoOp")
    first.versions.producer = second.versions.producer = producer
    session = channel.create(first)
    try:
        channel.master("ExtendSession", session_handle=session,
                       graph_def=second, current_graph_version=0)
        return "OK", ""
    except grpc.RpcError as error:
        return error.code().name, error.details()
    finally:
        channel.close_session(session)


def problem(channel, definition):
    """What is wrong with the server's answers; "" when nothing, None where it
    does not have the op."""
    since = definition.deprecation.version
    at = max(since, LOOKED_AT)
    said = ("Op %s is not available in GraphDef version %d. It has been removed "
            "in version %d. %s." % (definition.name, at, since,
                                    definition.deprecation.explanation))
    before = refusal(channel, definition, since - 1)
    found = refusal(channel, definition, at)
    if "Op type not registered" in found[1]:
        return None
    if found != ("UNIMPLEMENTED", said):
        return "%s of producer %d: %s" % (definition.name, at, found)
    if before[0] == "UNIMPLEMENTED":
        return "%s of producer %d: %s" % (definition.name, since - 1, before)
    return ""


def run(target):
    """(passed, failures)."""
    channel = Raw(target.removeprefix("grpc://"))
    found = [problem(channel, op) for op in definitions()]
    return found.count(""), list(filter(None, found))
