"""Requests of EagerService as a coordinator sends them, and what becomes of them
when one field is another: missing, wrong, huge, of another wire type."""
from google.protobuf import descriptor

from tests.cluster.client import tf
from tests.cluster.eager.contexts import (
    HERE, attrs, drop, function, give, handle, message, operation, run)

FIELD = descriptor.FieldDescriptor
OTHER = 424242  # a context that lives beside
INTEGERS = {FIELD.TYPE_INT64: 63, FIELD.TYPE_INT32: 31,
            FIELD.TYPE_FIXED64: 64, FIELD.TYPE_UINT64: 64,
            FIELD.TYPE_UINT32: 32, FIELD.TYPE_ENUM: 31,
            FIELD.TYPE_FIXED32: 32}
# Looked into by tests of graphs; here they are taken or left as a whole.
WHOLE = {"tensorflow.AttrValue", "tensorflow.OpDef.ArgDef",
         "tensorflow.TensorShapeProto", "tensorflow.DeviceLocality"}


def item(**member):
    return message("EagerItem", **member)


def registers(made, component=False):
    return item(register_function=message(
        "EagerFunction", function_def=made, is_component_function=component))


def caller(number, name):
    made = run(number, name, 1)
    made.operation.is_function = True
    return made


def prepared():
    """What each context has: value 1, values 2 on two outputs, functions."""
    return [give(1, 2.0), give(2, 3.0, 4.0), registers(function("f")),
            registers(function("part"), True)]


def sends():
    return run(-1, "_Send", 1, T=tf.float32, tensor_name=b"edge",
               send_device=HERE.encode(), recv_device=HERE.encode(),
               send_device_incarnation=1)


def packs():
    return item(send_packed_handle=message(
        "EagerPacked", op_id=20, device_name="/device:COMPOSITE:0", handles=[
            message("EagerPart", remote_handle=handle(1)),
            message("EagerPart", local_handle=message(
                "EagerLocal", device=HERE,
                tensor=tf.make_tensor_proto(5.0)))]))


ITEMS = {
    "decref": lambda: drop(1),
    "op": lambda: run(10, "AddV2", 1, (2, 1), T=tf.float32),
    "tensor_input": lambda: item(operation=message(
        "EagerOperation", id=10, name="Neg", device=HERE,
        attrs=attrs(T=tf.float32), op_inputs=[message(
            "EagerInput", tensor=tf.make_tensor_proto(5.0))])),
    "call": lambda: caller(11, "f"),
    "send": sends,
    "tensor": lambda: give(12, 1.0, 2.0),
    "register": lambda: registers(function("g")),
    "component": lambda: registers(function("h"), True),
    "cleanup": lambda: item(cleanup_function=message("EagerStep", step_id=-9)),
    "sync": lambda: item(
        sync_remote_executor_for_stream=message("EagerNothing")),
    "packed": packs,
    "remove": lambda: item(remove_function=message(
        "EagerName", function_name="f")),
}


def requests(context):
    """{name: (method, a good request)} for a context."""
    number = context.number
    made = {"Enqueue." + name: ("Enqueue", message(
        "EnqueueRequest", context_id=number, queue=[make()]))
        for name, make in ITEMS.items()}
    part = operation(30, "part", 1)
    part.is_function = part.is_component_function = True
    part.func_step_id = -9
    made["RunComponentFunction"] = "RunComponentFunction", message(
        "RunComponentFunctionRequest", context_id=number, operation=part,
        output_num=[5])
    made["CreateContext"] = "CreateContext", message(
        "CreateContextRequest", server_def=context.server(), context_id=number,
        context_view_id=7, keep_alive_secs=600,
        cluster_device_attributes=context.devices)
    made["UpdateContext"] = "UpdateContext", message(
        "UpdateContextRequest", server_def=context.server(), context_id=number,
        context_view_id=1, cluster_device_attributes=context.devices)
    made["KeepAlive"] = "KeepAlive", message(
        "KeepAliveRequest", context_id=number)
    made["CloseContext"] = "CloseContext", message(
        "CloseContextRequest", context_id=number, context_view_id=0)
    made["WaitQueueDone"] = "WaitQueueDone", message(
        "WaitQueueDoneRequest", context_id=number)
    return made


# ---- Changes ----------------------------------------------------------------

def damaged(field):
    """The field by another wire type than its own."""
    kind = (0 if field.type in (FIELD.TYPE_STRING, FIELD.TYPE_BYTES,
                                FIELD.TYPE_MESSAGE) else 2)
    key = field.number << 3 | kind
    head = bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])
    return head + (b"\x05" if kind == 0 else b"\x03abc")


def scalars(field):
    """{change: value} of one value."""
    if field.type in INTEGERS:
        values = {"wrong": 7, "huge": 2**INTEGERS[field.type] - 1}
        if INTEGERS[field.type] in (31, 63):
            values["negative"] = -1
        if field.name == "context_id":
            values["other"] = OTHER
        return values
    if field.type == FIELD.TYPE_BOOL:
        return {"true": True, "false": False}
    if field.type == FIELD.TYPE_STRING:
        return {"wrong": "nope", "huge": "x" * 100000}
    if field.type == FIELD.TYPE_BYTES:
        return {"wrong": b"\xff\xfe", "huge": b"x" * 100000}
    return {}


def is_repeated(field):
    return field.is_repeated


def at(request, path):
    for name, index in path:
        request = getattr(request, name)
        if index is not None:
            request = request[index]
    return request


def change_of(field, path, change, value=None):
    """(name, function that changes a copy of the request)."""
    def apply(request):
        holder = at(request, path)
        if change == "twice":
            values = getattr(holder, field.name)
            values.extend(list(values))
        elif change == "many":
            values = getattr(holder, field.name)
            values.extend([values[0]] * 3000)
        elif change in ("missing", "damaged"):
            holder.ClearField(field.name)
        elif is_repeated(field):
            getattr(holder, field.name)[0] = value
        else:
            setattr(holder, field.name, value)
        if change == "damaged":
            holder.MergeFromString(damaged(field))
    where = ".".join([name for name, _ in path] + [field.name])
    return "%s %s" % (where, change), apply


def is_map(field):
    """Python knows those of TensorFlow's own messages as dictionaries."""
    return (field.message_type is not None
            and field.message_type.GetOptions().map_entry)


def changes(request, path=()):
    """All changes of one field of a message that has fields."""
    for field in request.DESCRIPTOR.fields:
        value = getattr(request, field.name)
        is_set = (len(value) > 0 if is_repeated(field) else
                  request.HasField(field.name)
                  if field.type == FIELD.TYPE_MESSAGE else True)
        if is_set:
            yield change_of(field, path, "missing")
        if not (is_repeated(field) and field.is_packed):
            yield change_of(field, path, "damaged")
        if is_repeated(field) and is_set and not is_map(field):
            yield change_of(field, path, "twice")
            yield change_of(field, path, "many")
        if field.type != FIELD.TYPE_MESSAGE:
            if is_set:
                for change, other in scalars(field).items():
                    yield change_of(field, path, change, other)
        elif is_set and not is_map(field) and (
                field.message_type.full_name not in WHOLE):
            index = 0 if is_repeated(field) else None
            yield from changes(value[0] if is_repeated(field) else value,
                               path + ((field.name, index),))
