"""A coordinator that speaks EagerService itself: its messages, and contexts on
tasks."""
import contextlib

from tests.cluster.client import tf
from tests.cluster.messages import FILES
from tests.cluster.raw import Raw, code_of, message

HERE = "/job:worker/replica:0/task:0/device:CPU:0"
CHIEF = "/job:chief/replica:0/task:0/device:CPU:0"
SERVICE = "/tensorflow.eager.EagerService/"
GONE = "Unable to find a context_id matching the specified one"
NO_VALUE = "Unable to find the relevant tensor remote_handle"

# TensorFlow's eager_service.proto; of a oneof the members stand as fields.
message.add("tfd_eager.proto", """
EagerTask key:1:int32 value:2:string
EagerJob name:1:string tasks:2:*EagerTask
EagerCluster job:1:*EagerJob
EagerServer cluster:1:EagerCluster job_name:2:string task_index:3:int32
CreateContextRequest server_def:1:EagerServer async:2:bool \
  keep_alive_secs:3:int64 \
  cluster_device_attributes:6:*tensorflow.DeviceAttributes \
  context_id:7:fixed64 context_view_id:8:fixed64 \
  lazy_copy_remote_function_inputs:9:bool clear_existing_contexts:10:bool
CreateContextResponse device_attributes:2:*tensorflow.DeviceAttributes
UpdateContextRequest server_def:1:EagerServer \
  cluster_device_attributes:2:*tensorflow.DeviceAttributes \
  context_id:3:fixed64 context_view_id:4:fixed64
UpdateContextResponse device_attributes:1:*tensorflow.DeviceAttributes
EagerHandle op_id:1:int64 output_num:2:int32 device:3:string \
  op_device:4:string dtype:5:int32
EagerInput remote_handle:1:EagerHandle tensor:2:tensorflow.TensorProto
EagerAttr key:1:string value:2:tensorflow.AttrValue
EagerOperation id:1:int64 name:2:string attrs:5:*EagerAttr device:6:string \
  is_component_function:7:bool func_step_id:8:int64 is_function:9:bool \
  op_inputs:10:*EagerInput
EagerTensors op_id:1:int64 tensors:2:*tensorflow.TensorProto \
  device_name:3:string
EagerFunction function_def:1:tensorflow.FunctionDef \
  is_component_function:2:bool library:3:tensorflow.FunctionDefLibrary
EagerLocal tensor:1:tensorflow.TensorProto device:2:string
EagerPart local_handle:1:EagerLocal remote_handle:2:EagerHandle
EagerPacked op_id:1:int64 handles:2:*EagerPart device_name:3:string
EagerStep step_id:1:int64
EagerName function_name:1:string
EagerNothing
EagerItem handle_to_decref:1:EagerHandle operation:2:EagerOperation \
  send_tensor:3:EagerTensors register_function:4:EagerFunction \
  cleanup_function:5:EagerStep sync_remote_executor_for_stream:6:EagerNothing \
  send_packed_handle:7:EagerPacked remove_function:8:EagerName
EagerAnswer shape:1:*tensorflow.TensorShapeProto \
  tensor:2:*tensorflow.TensorProto device:3:*string
EnqueueRequest context_id:1:fixed64 queue:3:*EagerItem
EnqueueResponse queue_response:1:*EagerAnswer
RunComponentFunctionRequest context_id:1:fixed64 operation:2:EagerOperation \
  output_num:3:*int32
RunComponentFunctionResponse shape:1:*tensorflow.TensorShapeProto \
  tensor:2:*tensorflow.TensorProto
KeepAliveRequest context_id:1:fixed64
KeepAliveResponse context_view_id:1:fixed64
CloseContextRequest context_id:1:fixed64 context_view_id:2:fixed64
CloseContextResponse
WaitQueueDoneRequest context_id:1:fixed64 op_id:2:*int64
WaitQueueDoneResponse
""", FILES + ["tensorflow/core/framework/%s.proto" % name for name in (
    "function", "tensor_shape", "attr_value")])


def fails(code, text, function, *args, **fields):
    """A call must end with this code, and these words."""
    got, words = code_of(function, *args, **fields)
    assert got == code and text in words, (got, words)


def handle(op, output=0, device=HERE, dtype=tf.float32):
    return message("EagerHandle", op_id=op, output_num=output, device=device,
                   op_device=device, dtype=dtype.as_datatype_enum)


def attrs(**values):
    return [message("EagerAttr", key=key, value=tf.AttrValue(
        **{"type" if isinstance(value, tf.DType) else
           "b" if isinstance(value, bool) else
           "i" if isinstance(value, int) else "s":
           value.as_datatype_enum if isinstance(value, tf.DType) else value}))
            for key, value in values.items()]


def operation(number, name, *inputs, device=HERE, more=(), **values):
    return message("EagerOperation", id=number, name=name, device=device,
                   attrs=list(more) + attrs(**values), op_inputs=[
                       message("EagerInput", remote_handle=x if hasattr(
                           x, "op_id") else handle(
                               *(x if isinstance(x, tuple) else (x,))))
                       for x in inputs])


def run(number, name, *inputs, **fields):
    return message("EagerItem",
                   operation=operation(number, name, *inputs, **fields))


def give(number, *values, device=HERE):
    return message("EagerItem", send_tensor=message(
        "EagerTensors", op_id=number, device_name=device,
        tensors=[tf.make_tensor_proto(v, tf.float32) for v in values]))


def drop(*name):
    return message("EagerItem", handle_to_decref=handle(*name))


def function(name, op="AddV2"):
    """name(x) = op(x, x)."""
    made = message("tensorflow.FunctionDef")
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=1)
    made.signature.output_arg.add(name="y", type=1)
    node = made.node_def.add(name="sum", op=op, input=["x", "x"])
    node.attr["T"].type = 1
    made.ret["y"] = "sum:z:0"
    return made


class Context(Raw):
    """A coordinator's one context on a task; spec: of the cluster, else the
    task is alone in it."""

    def __init__(self, address, number=77, spec=None, **fields):
        super().__init__(address)
        self.number, self.address, self.spec = number, address, spec
        self.devices = self.create(**fields).device_attributes

    def server(self, job="worker", jobs=("worker",)):
        """A ServerDef; jobs: each has this one address."""
        if self.spec:
            return message("EagerServer", job_name=job, cluster=message(
                "EagerCluster", job=[message("EagerJob", name=name, tasks=[
                    message("EagerTask", key=i, value=address)
                    for i, address in enumerate(addresses)])
                    for name, addresses in self.spec.items()]))
        tasks = [message("EagerTask", key=0, value=self.address)]
        cluster = message("EagerCluster", job=[
            message("EagerJob", name=name, tasks=tasks) for name in jobs])
        return message("EagerServer", cluster=cluster, job_name=job)

    def create(self, number=None, job="worker", **fields):
        return self.eager("CreateContext", server_def=self.server(job),
                          context_id=number or self.number, **fields)

    def eager(self, method, **fields):
        request = message(method + "Request", **fields)
        reply = self.bytes(SERVICE + method, request.SerializeToString())
        return message.type(method + "Response").FromString(reply)

    def enqueue(self, *items):
        return self.eager("Enqueue", context_id=self.number,
                          queue=items).queue_response

    def begin(self, *items):
        """An Enqueue that is not waited for."""
        return self.channel.unary_unary(SERVICE + "Enqueue").future(message(
            "EnqueueRequest", context_id=self.number,
            queue=items).SerializeToString())

    def component(self, asked, *outputs, step=-5, flags=(True, True)):
        asked.is_function, asked.is_component_function = flags
        asked.func_step_id = step
        return self.eager("RunComponentFunction", context_id=self.number,
                          operation=asked, output_num=outputs)

    def value(self, *name):
        """What TensorFlow's chief does to see a value."""
        key = "%s;%016x;%s;%%s" % (HERE, self.devices[0].incarnation, CHIEF)
        edge = "edge_%d_%d" % (name + (0,))[:2]
        signed = self.devices[0].incarnation
        self.enqueue(run(-1, "_Send", name, T=tf.float32,
                         tensor_name=edge.encode(), send_device=HERE.encode(),
                         send_device_incarnation=signed - (
                             signed >> 63 << 64),
                         recv_device=CHIEF.encode()))
        got = self.call("WorkerService", "RecvTensor", step_id=self.number,
                        rendezvous_key=key % edge + ";0:0")
        return tf.make_ndarray(got.tensor).tolist()

    def close(self, view=0):
        self.eager("CloseContext", context_id=self.number,
                   context_view_id=view)


@contextlib.contextmanager
def context(cluster, number, **fields):
    made = Context(cluster["worker", 0].address, number, **fields)
    try:
        yield made
    finally:
        made.close(view=2**64 - 1)
