"""Messages of TensorFlow's services, and a channel for them.

The package TensorFlow ships has no Python classes for the messages of its
master and worker services, so they are made here from a table; of TensorFlow
they need only what describes the messages that those have in them.
"""
import grpc
from google.protobuf import descriptor_pb2, message_factory

PACKAGE = "tfd_test"
FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {"string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES,
           "int64": FIELD.TYPE_INT64, "int32": FIELD.TYPE_INT32,
           "bool": FIELD.TYPE_BOOL, "fixed64": FIELD.TYPE_FIXED64,
           "double": FIELD.TYPE_DOUBLE}
# Where the messages of TensorFlow are that the table names.
FILES = ["tensorflow/core/framework/%s.proto" % name for name in (
    "device_attributes", "graph", "tensor")] + [
        "tensorflow/core/protobuf/config.proto"]
# name:number:type, * for repeated.  Numbers: TensorFlow's master.proto,
# worker.proto, named_tensor.proto; grpc's health.proto.
MESSAGES = """
NamedTensor name:1:string tensor:2:tensorflow.TensorProto
CreateSessionRequest graph_def:1:tensorflow.GraphDef \
  config:2:tensorflow.ConfigProto target:3:string
CreateSessionResponse session_handle:1:string graph_version:2:int64
ExtendSessionRequest session_handle:1:string \
  graph_def:2:tensorflow.GraphDef current_graph_version:3:int64
ExtendSessionResponse new_graph_version:4:int64
RunStepRequest session_handle:1:string feed:2:*NamedTensor fetch:3:*string \
  target:4:*string options:5:tensorflow.RunOptions \
  partial_run_handle:6:string store_errors_in_response_body:7:bool \
  request_id:8:int64
RunStepResponse tensor:1:*NamedTensor metadata:2:tensorflow.RunMetadata \
  status_code:3:int32 status_error_message:4:string
PartialRunSetupRequest session_handle:1:string feed:2:*string \
  fetch:3:*string target:4:*string request_id:5:int64
PartialRunSetupResponse partial_run_handle:1:string
MakeCallableRequest session_handle:1:string \
  options:2:tensorflow.CallableOptions request_id:3:int64
MakeCallableResponse handle:1:int64
RunCallableRequest session_handle:1:string handle:2:int64 \
  feed:3:*tensorflow.TensorProto request_id:4:int64
RunCallableResponse fetch:1:*tensorflow.TensorProto \
  metadata:2:tensorflow.RunMetadata
ReleaseCallableRequest session_handle:1:string handle:2:int64
ReleaseCallableResponse
CloseSessionRequest session_handle:1:string
CloseSessionResponse
ListDevicesRequest session_handle:1:string
ListDevicesResponse local_device:1:*tensorflow.DeviceAttributes \
  remote_device:2:*tensorflow.DeviceAttributes
ResetRequest container:1:*string device_filters:2:*string
ResetResponse
GetStatusRequest
GetStatusResponse device_attributes:1:*tensorflow.DeviceAttributes
CreateWorkerSessionRequest session_handle:1:string
CreateWorkerSessionResponse
DeleteWorkerSessionRequest session_handle:1:string
DeleteWorkerSessionResponse
RegisterGraphRequest session_handle:1:string \
  graph_def:2:tensorflow.GraphDef create_worker_session_called:6:bool
RegisterGraphResponse graph_handle:1:string
DeregisterGraphRequest graph_handle:1:string session_handle:2:string \
  create_worker_session_called:3:bool
DeregisterGraphResponse
RunGraphRequest graph_handle:1:string step_id:2:int64 session_handle:8:string \
  store_errors_in_response_body:9:bool create_worker_session_called:10:bool \
  request_id:11:int64
RunGraphResponse recv:1:*NamedTensor status_code:5:int32 \
  status_error_message:6:string
RecvTensorRequest step_id:1:int64 rendezvous_key:2:string request_id:7:int64
RecvTensorResponse tensor:1:tensorflow.TensorProto is_dead:2:bool
CompleteGroupRequest group_key:1:int32 group_size:2:int32 \
  device_type:3:string collective_type:5:int32 \
  device_attributes:6:tensorflow.DeviceAttributes
CompleteGroupResponse group_key:1:int32 group_size:2:int32 \
  device_type:3:string num_tasks:4:int32 \
  device_attributes:8:*tensorflow.DeviceAttributes
CompleteInstanceRequest name:1:string type:2:int32 data_type:3:int32 \
  group_key:5:int32 group_size:6:int32 instance_key:7:int32 \
  device_type:8:string device:10:string is_source:11:bool
CompleteInstanceResponse instance_key:1:int32 source_rank:2:int32
RecvBufRequest step_id:1:int64 buf_rendezvous_key:2:string num_bytes:3:int64 \
  src_device:8:string dst_device:9:string request_id:10:int64 \
  src_incarnation:11:int64
RecvBufResponse num_bytes:2:int64 is_dead:3:bool
GetStepSequenceRequest graph_key:1:*int64
GetStepSequenceResponse step_sequence:1:*StepSequence
StepSequence graph_key:1:int64 next_step_id:2:int64
CleanupGraphRequest step_id:1:int64
CleanupGraphResponse
CleanupAllRequest container:1:*string
CleanupAllResponse
HealthCheckRequest service:1:string
HealthCheckResponse status:1:int32
"""


def _add_field(message, text):
    name, number, kind = text.split(":")
    repeated = kind.startswith("*")
    kind = kind.lstrip("*")
    field = message.field.add(
        name=name, number=int(number),
        label=FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL)
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type = FIELD.TYPE_MESSAGE
        field.type_name = "." + (kind if "." in kind
                                 else "%s.%s" % (PACKAGE, kind))


class Messages:
    """Makes messages: messages("RunStepRequest", fetch=["y:0"])."""

    def __init__(self, pool):
        """pool: where the messages of TensorFlow are, which others use."""
        self.pool = pool
        self.add("tfd_test.proto", MESSAGES, FILES)

    def add(self, name, table, files):
        """Adds a file of messages: its table, and the files it is based on."""
        file = descriptor_pb2.FileDescriptorProto(
            name=name, package=PACKAGE, syntax="proto3", dependency=files)
        for line in table.strip().splitlines():
            name, *fields = line.split()
            message = file.message_type.add(name=name)
            for text in fields:
                _add_field(message, text)
        self.pool.Add(file)

    def __call__(self, name, /, **fields):
        return self.type(name)(**fields)

    def type(self, name):
        """A class; a name without a package is that of a table."""
        found = self.pool.FindMessageTypeByName(
            name if "." in name else "%s.%s" % (PACKAGE, name))
        return message_factory.GetMessageClass(found)


class Channel:
    """A plain gRPC channel to one server."""

    def __init__(self, address, messages):
        self.messages = messages
        self.channel = grpc.insecure_channel(address, options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
            ("grpc.enable_http_proxy", 0),
            # A connection of its own, even when another one is closing.
            ("grpc.use_local_subchannel_pool", 1)])

    def bytes(self, path, body=b"", timeout=15):
        """Any bytes to any path; returns the reply's bytes."""
        return self.channel.unary_unary(path)(body, timeout=timeout)

    def future(self, path, body, timeout=15):
        return self.channel.unary_unary(path).future(body, timeout=timeout)

    def call(self, service, method, timeout=15, **fields):
        """One RPC of a TensorFlow service; fields are the request's."""
        request = self.messages(method + "Request", **fields)
        reply = self.bytes("/tensorflow.%s/%s" % (service, method),
                           request.SerializeToString(), timeout)
        return self.messages.type(method + "Response").FromString(reply)

    def master(self, method, **fields):
        return self.call("MasterService", method, **fields)

    def worker(self, method, **fields):
        return self.call("WorkerService", method, **fields)

    def create(self, graph_def, timeout=15):
        """A session; returns its handle."""
        return self.master("CreateSession", graph_def=graph_def,
                           timeout=timeout).session_handle

    def close_session(self, handle):
        self.master("CloseSession", session_handle=handle)

    def step(self, handle, timeout=15, **fields):
        """A step with errors as status, not in the body."""
        return self.master("RunStep", session_handle=handle, timeout=timeout,
                           **fields)


def code_of(function, *args, **fields):
    """(status name, text) of the error that a call must end in."""
    try:
        reply = function(*args, **fields)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    raise AssertionError("no error but %r" % (reply,))
