"""Tensors of 9 to 254 dimensions, which few programs have and TensorFlow
takes: each op by its usual ways, on shapes that are all twos, mostly ones, or
have a zero."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import scenario

raw = tf.raw_ops
SHAPES = {
    "9": (2,) * 9,
    "11": (2, 1, 3, 1, 1, 2, 2, 1, 2, 1, 2),
    "12": (2,) * 12,
    "40": (1,) * 12 + (2,) + (1,) * 13 + (3, 1, 4) + (1,) * 10 + (2,),
    "zero": (2, 1, 2, 0, 1, 1, 2, 1, 3, 1),
}


def numbers(shape, dtype=np.float32):
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 41 + 1).astype(dtype).reshape(shape)


def hide(shape, dtype=np.float32):
    """Drawn values whose shape the client does not know."""
    return hidden(numbers(shape, dtype))


def halves(shape):
    """Dimensions that differ from one to the next in what happens to them,
    few enough for every kernel."""
    return [i for i, n in enumerate(shape) if n != 1][:3]


def ints(values):
    return hidden(np.array(values, np.int32))


def on_cpu(op, **inputs):
    """Where a GPU's kernel answers later, it takes no long shapes; or it does
    not look whether indices are in range."""
    with tf.device("/device:CPU:0"):
        return op(**inputs)


class Wider:
    """What TensorFlow refuses of such shapes and tfd does: by numpy's word."""

    def __init__(self, tensor, reference):
        self.tensor, self.reference = tensor, reference


def elementwise(x, shape):
    y = hide(shape) + 1.0
    # TensorFlow's AsString ends the process at 40 dimensions.
    small = len(shape) < 40 and 0 not in shape
    texts = raw.AsString(input=raw.Cast(x=x, DstT=tf.int32) % 7) \
        if small else x
    return {
        "relu": raw.Relu(features=x - 20), "exp": raw.Exp(x=x / 50),
        "cast": raw.Cast(x=x, DstT=tf.int64), "neg": raw.Neg(x=x),
        "as_string": texts,
        "zeros": raw.ZerosLike(x=x), "ones": raw.OnesLike(x=x),
        "add": raw.AddV2(x=x, y=y), "add scalar": raw.AddV2(x=x, y=hidden(2.)),
        "scalar sub": raw.Sub(x=hidden(2.), y=x),
        "greater": raw.Greater(x=x, y=hidden(20.)),
        "select": tf.where(x > 20, x, y),
        "add_n": raw.AddN(inputs=[x, y, x]),
        "check": on_cpu(raw.CheckNumerics, tensor=x, message="no"),
        "buckets": raw.Bucketize(input=x, boundaries=[3., 30.]),
        "bytes": raw.DecodeRaw(bytes=texts, out_type=tf.uint8)
        if small else x,
        "l2": raw.L2Loss(t=x), "identity": raw.Identity(input=x),
        "square diff": raw.SquaredDifference(x=x, y=y),
    }


def about_shapes(x, shape):
    rank, count = len(shape), int(np.prod(shape))
    return {
        "shape": raw.Shape(input=x), "rank": raw.Rank(input=x),
        "shape 64": raw.Shape(input=x, out_type=tf.int64),
        "size": raw.Size(input=x),
        "shapes": raw.ShapeN(input=[x, x])[1],
        "flat": raw.Reshape(tensor=x, shape=ints([count])),
        "same": raw.Reshape(tensor=raw.Reshape(tensor=x, shape=ints([count])),
                            shape=ints(shape)),
        "longer": raw.Reshape(tensor=x, shape=ints(shape + (1, 1, 1))),
        "open": raw.Reshape(tensor=x, shape=ints((-1,) + shape[1:]))
        if count else x,
        "expand": raw.ExpandDims(input=x, axis=hidden(3)),
        "expand end": raw.ExpandDims(input=x, axis=hidden(-1)),
        "expand 8": raw.Shape(input=raw.ExpandDims(
            input=hide((2,) * 8), axis=hidden(0))),
        "squeeze": raw.Squeeze(input=x),
        "squeeze 1": raw.Squeeze(input=raw.ExpandDims(
            input=x, axis=hidden(rank)), axis=[rank]),
        "fill": raw.Fill(dims=ints(shape), value=hidden(7)),
        "broadcast scalar": raw.BroadcastTo(input=hidden(3),
                                            shape=ints(shape)),
        "broadcast": raw.BroadcastTo(
            input=hide((shape[-1],)), shape=ints((5,) + shape)),
        "random": raw.Shape(input=raw.RandomUniform(shape=ints(shape),
                                                    dtype=tf.float32)),
        "stateless": raw.StatelessRandomUniform(shape=ints(shape),
                                                seed=ints([3, 5])),
    }


def along_axes(x, shape):
    rank, axis = len(shape), len(shape) // 2
    many = shape[axis]
    return {
        "concat": raw.ConcatV2(values=[x, x, x], axis=hidden(axis)),
        "concat end": raw.ConcatV2(values=[x, x], axis=hidden(-1)),
        "pack": raw.Pack(values=[x, x], axis=axis),
        "pack 8": raw.Pack(values=[hide((2,) * 8)] * 3, axis=8),
        "unpack": raw.Unpack(value=x, num=many, axis=axis)[-1],
        "split": raw.Split(axis=hidden(axis), value=x, num_split=1)[0],
        "split_v": raw.SplitV(value=x, size_splits=ints([1, shape[0] - 1]),
                              axis=hidden(0), num_split=2)[1],
        "gather": raw.GatherV2(
            params=x, indices=ints(np.array([[1, 0], [1, 1]]) % shape[0]),
            axis=hidden(0)),
        "gather end": raw.GatherV2(params=x, indices=ints(
            [shape[-1] - 1, 0]), axis=hidden(rank - 1)),
        "gather to 9": raw.GatherV2(
            params=hide((3, 2, 1, 2, 2)), indices=hidden(
                numbers((2, 1, 2, 2, 1), np.int32) % 3), axis=hidden(0)),
        "gather_nd": raw.GatherNd(params=x, indices=ints(
            np.array([[1, 0], [0, 0]]) % shape[:2])),
        "cumsum": raw.Cumsum(x=x, axis=hidden(0)),
        "cumprod": raw.Cumprod(x=x / 20, axis=hidden(axis), reverse=True),
        "one_hot": raw.OneHot(
            indices=raw.Cast(x=x, DstT=tf.int32), depth=hidden(3),
            on_value=hidden(1.), off_value=hidden(0.)),
        "one_hot 1": raw.OneHot(
            indices=raw.Cast(x=x, DstT=tf.int32), depth=hidden(3),
            on_value=hidden(1.), off_value=hidden(0.), axis=1),
        "one_hot 8": raw.OneHot(
            indices=hide((2,) * 8, np.int32), depth=hidden(3),
            on_value=hidden(1.), off_value=hidden(0.), axis=0),
        "bias": raw.BiasAdd(value=x, bias=hide(shape[-1:])),
        "bias gradient": raw.BiasAddGrad(out_backprop=x),
        "log_softmax": raw.LogSoftmax(logits=x),
        "top": raw.TopKV2(input=x, k=hidden(1))[1],
    }


def parts(x, shape):
    rank, few = len(shape), halves(shape)
    begin = [1 if i in few and n > 1 else 0 for i, n in enumerate(shape)]
    size = [1 if i in few and n > 1 else -1 for i, n in enumerate(shape)]
    back = [rank - 1 - i for i in range(rank)]
    turned = list(range(2, rank)) + [1, 0]
    times = [3 if i in few else 1 for i in range(rank)]
    v = numbers(shape)
    cut = tuple(slice(b, b + s if s > 0 else None)
                for b, s in zip(begin, size))
    return {
        "slice": Wider(raw.Slice(input=x, begin=ints(begin), size=ints(size)),
                       v[cut]),
        "slice all": raw.Slice(input=x, begin=ints([0] * rank),
                               size=ints([-1] * rank)),
        "first": Wider(x[0], v[0]), "last of all": Wider(x[..., -1], v[..., -1]),
        "every other": Wider(x[::2], v[::2]),
        "from both ends": Wider(x[0, ..., :1], v[0, ..., :1]),
        "new": Wider(x[tf.newaxis, 0], v[np.newaxis, 0]),
        "new behind": Wider(x[0, ..., tf.newaxis], v[0, ..., np.newaxis]),
        "as it is": x[:],
        "transpose": raw.Transpose(x=x, perm=ints(back)),
        "transpose some": raw.Transpose(x=x, perm=ints(turned)),
        "transpose none": raw.Transpose(x=x, perm=ints(range(rank))),
        "tile": raw.Tile(input=x, multiples=ints(times)),
        "tile once": raw.Tile(input=x, multiples=ints([1] * rank)),
    }


def reductions(x, shape):
    rank = len(shape)
    few = halves(shape)[1:]
    each = list(range(0, rank, 2))
    small = x / 16
    return {
        "sum": raw.Sum(input=x, axis=ints(few)),
        "sum all": raw.Sum(input=x, axis=ints(range(rank))),
        "sum none": raw.Sum(input=x, axis=ints([])),
        "sum each": raw.Sum(input=x, axis=ints(each)),
        "sum kept": raw.Sum(input=x, axis=ints(each), keep_dims=True),
        "mean": raw.Mean(input=x, axis=ints(each)),
        "max": raw.Max(input=x, axis=ints([-1])),
        "min": raw.Min(input=x, axis=ints([0, rank - 1])),
        "prod": raw.Prod(input=small, axis=ints(few)),
        "all": raw.All(input=x > 3, axis=ints(few)),
        "any": raw.Any(input=x > 40, axis=ints(each), keep_dims=True),
        "segments": raw.SegmentSum(data=x, segment_ids=ints([0, 2])),
        "segments unsorted": raw.UnsortedSegmentSum(
            data=x, segment_ids=ints([1, 0]), num_segments=hidden(3)),
        "segments by all": raw.UnsortedSegmentMax(
            data=x, segment_ids=raw.Cast(x=x, DstT=tf.int32) % 3,
            num_segments=hidden(3)),
        "segments sparse": on_cpu(
            raw.SparseSegmentSum, data=x, indices=ints([1, 0, 1]), segment_ids=ints([0, 0, 1])),
        "stitch": raw.DynamicStitch(
            indices=[ints([1, 0]), ints([2, 3])], data=[x, x]),
        "partition": on_cpu(
            raw.DynamicPartition, data=x, partitions=ints([1, 0]),
            num_partitions=2)[0],
    }


def matrices(x, shape):
    square = raw.AddV2(x=hide(shape + (3, 3)), y=hidden(
        np.eye(3, dtype=np.float32) * 90))
    return {
        "band": raw.MatrixBandPart(input=square, num_lower=hidden(
            np.int64(0)), num_upper=hidden(np.int64(1))),
        "diag": raw.MatrixDiag(diagonal=x),
        "diag 8": raw.MatrixDiag(diagonal=hide((2,) * 8)),
        "diag_part": raw.MatrixDiagPart(input=square),
        "set_diag": raw.MatrixSetDiag(input=square, diagonal=hide(
            shape + (3,))),
        "diags": raw.MatrixDiagPartV3(input=square, k=ints([-1, 1]),
                                      padding_value=hidden(0.)),
        "diags back": raw.MatrixDiagV3(
            diagonal=raw.MatrixDiagPartV3(input=square, k=ints([-1, 1]),
                                          padding_value=hidden(0.)),
            k=ints([-1, 1]), num_rows=hidden(3), num_cols=hidden(3),
            padding_value=hidden(0.)),
        "inverse": raw.MatrixInverse(input=square),
        "determinant": raw.MatrixDeterminant(input=square / 50),
        "product": raw.BatchMatMulV2(x=hide(shape[-3:] + (2, 3)),
                                     y=square, adj_x=False)
        if len(shape) < 11 else square,
    }


def variables(x, shape):
    v = tf.get_variable("v%d" % len(shape), shape, use_resource=True,
                        initializer=tf.zeros_initializer())
    r = tf.get_variable("r%d" % len(shape), shape, use_resource=False,
                        initializer=tf.zeros_initializer())
    with tf.control_dependencies([v.assign(x), r.assign(x)]):
        added = [v.assign_add(x), r.assign_sub(x * 3)]
    with tf.control_dependencies(added):
        adam = tf.train.GradientDescentOptimizer(0.5).apply_gradients(
            [(x, v), (x, r)])
    with tf.control_dependencies([adam]):
        return {"resource": v.read_value(), "reference": tf.identity(r),
                "its shape": raw.VariableShape(input=v.handle)}


OPS = """
Abs Add AddN AddV2 BatchMatMulV2 BiasAdd BroadcastTo Cast ConcatV2 Cumsum
DynamicStitch ExpandDims Fill GatherNd GatherV2 MatrixDiagV3 OneHot Pack Reshape
Select Shape Slice Split Squeeze StridedSlice Sum Tile Transpose Unpack
"""


def run_family(side, family):
    out = {}
    for name, shape in SHAPES.items():
        with tf.variable_scope(name), side.session() as session:
            fetches = family(hide(shape), shape)
            session.run(tf.global_variables_initializer())
            for key, wanted in fetches.items():
                wider = isinstance(wanted, Wider)
                out["%s %s" % (name, key)] = (
                    wanted.reference if wider and not side.target
                    else attempt(session, wanted.tensor if wider else wanted))
    return out


@scenario(OPS)
@fresh_graph
def long_shapes_element_by_element(side):
    return run_family(side, elementwise)


@scenario(OPS)
@fresh_graph
def long_shapes_read_and_made(side):
    return run_family(side, about_shapes)


@scenario(OPS)
@fresh_graph
def long_shapes_along_axes(side):
    return run_family(side, along_axes)


@scenario(OPS)
@fresh_graph
def long_shapes_in_parts(side):
    return run_family(side, parts)


@scenario(OPS, tol=4)
@fresh_graph
def long_shapes_reduced(side):
    return run_family(side, reductions)


@scenario(OPS, tol=4)
@fresh_graph
def long_shapes_of_matrices(side):
    return run_family(side, matrices)


@scenario(OPS)
@fresh_graph
def long_shapes_in_variables(side):
    return run_family(side, variables)


@scenario("SaveV2 RestoreV2")
@fresh_graph
def long_shapes_saved_and_restored(side):
    x = hide(SHAPES["11"])
    path = side.path("long")
    saved = raw.SaveV2(prefix=path, tensor_names=["x"],
                       shape_and_slices=[""], tensors=[x])
    with tf.control_dependencies([saved]):
        back = raw.RestoreV2(prefix=path, tensor_names=["x"],
                             shape_and_slices=[""], dtypes=[tf.float32])
    with side.session() as session:
        return {"back": attempt(session, back[0])}


@scenario("Const Placeholder _Arg _Retval")
@fresh_graph
def long_shapes_fed_and_fetched(side):
    out = {}
    with side.session() as session:
        for rank in (9, 40, 253, 254):
            fits = rank <= 64  # numpy's limit
            p = tf.placeholder(tf.float32, None)
            c = raw.Reshape(tensor=hidden(5.0), shape=ints([1] * rank))
            out["made %d" % rank] = told(
                session, c if fits else raw.Shape(input=c))
            if fits:
                out["constant %d" % rank] = attempt(
                    session, tf.constant(numbers((1,) * rank)))
                out["fed %d" % rank] = attempt(
                    session, raw.Identity(input=p),
                    {p: numbers((1,) * rank)})
    return out


# Refused alike: error class and text.
def wrong(x):
    y = hide((2,) * 9)
    return {
        "reshape to too few": raw.Reshape(tensor=x, shape=ints([2] * 9)),
        "two unknown": raw.Reshape(tensor=x, shape=ints([-1, -1] + [1] * 8)),
        "negative": raw.Reshape(tensor=x, shape=ints([-2] + [1] * 9)),
        "254": raw.Reshape(tensor=hidden(1.), shape=ints([1] * 254)),
        "fill 255": raw.Fill(dims=ints([1] * 255), value=hidden(1.)),
        "broadcast 255": raw.BroadcastTo(input=hidden(1.),
                                         shape=ints([1] * 255)),
        "broadcast 3": raw.BroadcastTo(input=hide((3,)), shape=ints([2] * 10)),
        "broadcast more": raw.BroadcastTo(
            input=hide((1, 2) * 6), shape=ints([2] * 12)),
        "add": raw.AddV2(x=x, y=hide((3,))),
        "add_n": raw.AddN(inputs=[x, y]),
        "concat ranks": raw.ConcatV2(values=[x, y], axis=hidden(0)),
        "concat axis": raw.ConcatV2(values=[x, x], axis=hidden(10)),
        "pack": raw.Pack(values=[x, y], axis=0),
        "split": raw.Split(axis=hidden(0), value=x, num_split=3)[0],
        "unpack": raw.Unpack(value=x, num=3, axis=0)[0],
        "sum axis": raw.Sum(input=x, axis=ints([10])),
        "perm length": raw.Transpose(x=x, perm=ints([0] * 9)),
        "perm": raw.Transpose(x=x, perm=ints([0] * 10)),
        "tile": raw.Tile(input=x, multiples=ints([1] * 9)),
        "slice": raw.Slice(input=x, begin=ints([0] * 9), size=ints([1] * 9)),
        "slice beyond": raw.Slice(input=x, begin=ints([3] + [0] * 9),
                                  size=ints([1] * 10)),
        "slice all short": raw.Slice(input=x, begin=ints([0] * 10),
                                     size=ints([1] * 10)),
        "strided": x[5],
        "strided all": raw.StridedSlice(
            input=x, begin=ints([0] * 10), end=ints([1] * 10),
            strides=ints([1] * 10)),
        "pad": raw.Pad(input=x, paddings=ints([[0, 1]] * 10)),
        "arg_max": raw.ArgMax(input=x, dimension=hidden(0)),
        "reverse": raw.Where(condition=x),
        "gather axis": raw.GatherV2(params=x, indices=ints([0]),
                                    axis=hidden(10)),
        "gather beyond": on_cpu(raw.GatherV2, params=x, indices=ints([2]),
                                axis=hidden(0)),
        "squeeze": raw.Squeeze(input=x, axis=[3]),
        "expand": raw.ExpandDims(input=x, axis=hidden(12)),
        "bias": raw.BiasAdd(value=x, bias=hide((3,))),
        "segments": on_cpu(
            raw.UnsortedSegmentSum, data=x, segment_ids=ints([0, 9]),
            num_segments=hidden(2)),
        "segments of another": raw.UnsortedSegmentSum(
            data=x, segment_ids=ints([0, 1, 0]), num_segments=hidden(2)),
        "select": tf.where(y > 0, x, x),
        "one_hot": raw.OneHot(
            indices=raw.Cast(x=x, DstT=tf.int32), depth=hidden(2),
            on_value=hidden(1.), off_value=hidden(0.), axis=12),
    }


@scenario(OPS)
@fresh_graph
def long_shapes_that_are_refused(side):
    with side.session() as session:
        return {name: (attempt if name == "split" else told)(session, tensor)
                for name, tensor in wrong(hide((2,) * 10)).items()}
