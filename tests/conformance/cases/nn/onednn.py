"""Ops that a master with oneDNN makes of others, and TensorFlow without it does
not run: tfd's are compared with the ops that they are made of."""
from tensorflow.python.framework import op_def_library, op_def_registry

from tests.cluster.client import tf
from tests.conformance import inputs
from tests.conformance.inputs import Data
from tests.conformance.scenarios import attempt, fresh_graph
from tests.conformance.table import scenario

TYPES = tf.float32, tf.half, tf.bfloat16
WINDOW = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def made(op, **arguments):
    """The first output of an op with these inputs and attributes."""
    op_def = op_def_registry.get(op)
    told = {name for arg in op_def.input_arg
            for name in (arg.type_attr, arg.number_attr)}
    defaults = {attr.name: None for attr in op_def.attr
                if attr.HasField("default_value") and attr.name not in told}
    op_def_library.apply_op(op, name="made", **{**defaults, **arguments})
    return tf.get_default_graph().get_operations()[-1].outputs[0]


def data(dtype, *dims):
    return tf.constant(Data(-2, 2).draw(dtype, dims, str(dims)))


def on_gpu(dtype):
    """As expressions(): what the fused kernels of a CPU do not do."""
    if dtype == tf.bfloat16:
        return {}
    x, w, b = data(dtype, 2, 5, 6, 4), data(dtype, 3, 3, 2, 16), data(dtype, 16)
    y = tf.cast(tf.nn.conv2d(*[tf.cast(a, tf.float32) for a in (x, w)],
                             [1, 2, 1, 1], "SAME"), dtype)
    scale, offset, mean, spread = [data(dtype, 16) for _ in range(4)]
    factor = scale / tf.sqrt(spread * spread + tf.cast(0.5, dtype))
    shifted = tf.nn.bias_add(y, b)
    normal = (y - mean) * factor + offset
    found = {}
    for name, args, step, want in (
            ("bias", [b], [], shifted),
            ("relu", [b], ["Relu"], tf.nn.relu(shifted)),
            ("relu6", [b], ["Relu6"], tf.nn.relu6(shifted)),
            ("elu", [b], ["Elu"], tf.nn.elu(shifted)),
            ("leaky", [b], ["LeakyRelu"], tf.nn.leaky_relu(shifted, 0.5)),
            ("norm", [scale, offset, mean, spread * spread], ["Relu"],
             tf.nn.relu(normal))):
        same = {"filter": w, "args": args, "host_args": [], "epsilon": 0.5,
                "num_args": len(args), "padding": "SAME",
                "leakyrelu_alpha": 0.5, "fused_ops": [
                    "BiasAdd" if len(args) == 1 else "FusedBatchNorm"] + step}
        found["last " + name] = "_FusedConv2D", {
            "input": x, "strides": [1, 2, 1, 1], **same}, want
        found["second " + name] = "_FusedConv2D", {
            "input": tf.transpose(x, [0, 3, 1, 2]), "data_format": "NCHW",
            "strides": [1, 1, 2, 1], **same}, tf.transpose(want, [0, 3, 1, 2])
    return found


def expressions(dtype):
    """Name -> (op, its arguments, the same of other ops)."""
    x, w, b = data(dtype, 2, 5, 6, 4), data(dtype, 3, 3, 4, 2), data(dtype, 8)
    one = tf.ones([4])
    side = data(dtype, 2, 5, 6, 4) * 2
    y = tf.nn.bias_add(tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"), b)
    normal, _, _ = tf.nn.fused_batch_norm(x, one, one, epsilon=0.5)
    product, m = tf.matmul(x, side, transpose_b=True), data(dtype, 2, 1, 6, 6)
    half = tf.cast(0.5, dtype)
    found = {
        "swish": ("_MklSwish", {"features": x}, x * tf.sigmoid(x)),
        "mish": ("_MklFusedMish", {"features": x},
                 x * tf.tanh(tf.nn.softplus(x)))}
    for name, steps, args, want in (
            ("product", [], [], product),
            ("scaled", ["Mul"], [half], product * half),
            ("added", ["Mul", "Add"], [half, m], product * half + m)):
        found[name] = "_MklFusedBatchMatMulV2", {
            "x": x, "y": side, "adj_y": True, "args": args,
            "fused_ops": steps}, want
    for name, function in (("", tf.identity), ("Relu", tf.nn.relu),
                           ("Elu", tf.nn.elu), ("Tanh", tf.tanh)):
        found["depthwise " + name] = "_FusedDepthwiseConv2dNative", {
            "input": x, "filter": w, "args": [b], **WINDOW,
            "fused_ops": ["BiasAdd"] + [name] * bool(name)}, function(y)
    for mode, sides, want in (
            ("Identity", [], normal), ("Relu", [], tf.nn.relu(normal)),
            ("Relu", [side], tf.nn.relu(normal + side))):
        found["norm %s %d" % (mode, len(sides))] = "_FusedBatchNormEx", {
            "x": x, "scale": one, "offset": one, "mean": tf.zeros([0]),
            "variance": tf.zeros([0]), "side_input": sides, "epsilon": 0.5,
            "activation_mode": mode}, want
    if dtype == tf.float32:
        a, v, c = data(dtype, 8, 6), data(dtype, 6, 4), data(dtype, 4)
        h = tf.nn.bias_add(tf.matmul(a, v), c)
        for name, want in (
                ("GeluExact", 0.5 * h * (1 + tf.math.erf(h / 2 ** 0.5))),
                ("GeluApproximate", 0.5 * h * (1 + tf.tanh(
                    0.7978845608 * (h + 0.044715 * h * h * h))))):
            found[name] = "_FusedMatMul", {
                "a": a, "b": v, "args": [c], "fused_ops": ["BiasAdd", name]
            }, want
    if inputs.ON_GPU:
        found.update(on_gpu(dtype))
    return found


@scenario("_MklSwish _MklFusedMish _MklFusedBatchMatMulV2 _FusedBatchNormEx "
          "_FusedDepthwiseConv2dNative", tol=32)
@fresh_graph
def what_masters_with_onednn_make(side):
    out = {}
    with side.session() as session:
        for dtype in TYPES:
            for name, (op, arguments, want) in expressions(dtype).items():
                fetch = made(op, **arguments) if side.target else want
                out["%s %s" % (dtype.name, name)] = attempt(session, fetch)
    return out


WRONG = {
    "no ops": ("_FusedDepthwiseConv2dNative", {"fused_ops": []}),
    "no bias": ("_FusedDepthwiseConv2dNative", {"args": []}),
    "two": ("_FusedDepthwiseConv2dNative", {"args": "twice"}),
    "mode": ("_FusedBatchNormEx", {"activation_mode": "Elu"}),
    "sides": ("_FusedBatchNormEx", {"side_input": "twice"}),
    "side": ("_FusedBatchNormEx", {"side_input": "flat"}),
    "operands": ("_MklFusedBatchMatMulV2", {"fused_ops": ["Mul"], "args": []}),
}


@scenario("_MklFusedBatchMatMulV2 _FusedBatchNormEx "
          "_FusedDepthwiseConv2dNative")
@fresh_graph
def wrong_attributes_of_them(side):
    out = {}
    with side.session() as session:
        known = {op: arguments for op, arguments, _ in
                 expressions(tf.float32).values()}
        for name, (op, changed) in WRONG.items():
            arguments = {**known[op], **changed}
            for key, how in changed.items():
                if how == "twice":
                    arguments[key] = known[op][key] * 2
                if how == "flat":
                    arguments[key] = [tf.reshape(known[op][key][0], [-1])]
            out[name] = "InvalidArgumentError"
            if side.target:
                out[name] = attempt(session, made(op, **arguments))
    return out
