"""More cases for gradients.py, by room of kernels/."""
import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.ops import map_ops  # noqa: F401  has gradients

raw = tf.raw_ops


def activations(case):
    """Second derivatives, on both sides of 0."""
    for op, other in (("EluGrad", "outputs"), ("SeluGrad", "outputs"),
                      ("SoftplusGrad", "features"), ("Relu6Grad", "features"),
                      ("LeakyReluGrad", "features")):
        case(op, lambda x, y, o=getattr(raw, op), n=other: o(
            gradients=x, **{n: y - 1.0}), (2, 5), (2, 5))
    for op in ("Elu", "Selu", "Softplus", "Relu6"):
        case("%s, twice" % op, lambda x, o=getattr(raw, op): tf.gradients(
            o(features=x - 1.0), x)[0] ** 2, (2, 5), unknown=False)


def pairs(case):
    for op in ("Xlogy", "Xlog1py", "Xdivy", "MulNoNan"):
        for left, right in (((2, 3), (2, 3)), ((3,), (2, 1)), ((), (2, 3))):
            case("%s of %s and %s" % (op, left, right), lambda x, y,
                 o=getattr(raw, op): o(x=x, y=y), left, right)
        case(op + " of zeros", lambda x, y, o=getattr(raw, op): o(
            x=x * [0.0, 1, 0], y=y * [1.0, 1, 0]), (3,), (3,))
    for left, right in (((2, 3), (2, 3)), ((3,), (2, 1)), ((2, 1), (3,))):
        text = " of %s and %s" % (left, right)
        case("Zeta" + text, lambda x, q: raw.Zeta(
            x=tf.stop_gradient(x + 1.5), q=q), left, right)
        case("Polygamma" + text, lambda a, x: raw.Polygamma(
            a=tf.stop_gradient(tf.round(a + 1.0)), x=x), left, right)
        case("NextAfter" + text, lambda x, y: raw.NextAfter(x1=x, x2=y), left,
             right)
    for beta, at in (((2, 3), (2, 3)), ((), (3,)), ((3,), ())):
        case("Betainc of %s at %s" % (beta, at), lambda a, b, x: raw.Betainc(
            a=a, b=b, x=tf.sigmoid(x)), beta, beta, at)
    case("Angle", lambda x, y: raw.Angle(input=tf.complex(x, y),
                                         Tout=tf.float64), (2, 3), (2, 3))


def regular(x):
    """Far from singular, with values that differ."""
    size = int(x.shape[-1])
    return x + np.diag(np.arange(2.0, 2 + size))


def with_complex(case, name, function, *shapes):
    """Of doubles, and of complex numbers in which each double is twice."""
    case(name, function, *shapes, unknown=False)
    case(name + " of complex numbers", lambda *x: [
        part(y) for y in as_list(function(*[tf.complex(v, v * v * 0.5)
                                            for v in x]))
        for part in (tf.math.real, tf.math.imag)], *shapes, unknown=False)


def as_list(y):
    return list(y) if isinstance(y, (list, tuple)) else [y]


def systems(case):
    for adjoint in (False, True):
        more = {"adjoint": adjoint}
        text = ", adjoint" if adjoint else ""
        with_complex(case, "MatrixInverse" + text, lambda x, m=more:
                     raw.MatrixInverse(input=regular(x), **m), (2, 3, 3))
        with_complex(case, "MatrixSolve" + text, lambda x, y, m=more:
                     raw.MatrixSolve(matrix=regular(x), rhs=y, **m),
                     (2, 3, 3), (2, 3, 2))
        for lower in (False, True):
            for left, right in (((3, 3), (3, 2)), ((3, 3), (2, 3, 2)),
                                ((2, 3, 3), (3, 2))):
                with_complex(
                    case, "MatrixTriangularSolve%s, %s, %s of %s" % (
                        text, lower, left, right), lambda x, y, m=more, w=lower:
                    raw.MatrixTriangularSolve(matrix=regular(x), rhs=y,
                                              lower=w, **m), left, right)
    case("MatrixInverse of unknown size", lambda x: raw.MatrixInverse(
        input=x * [[1.0, 3], [0, 1]]), (2, 2))
    with_complex(case, "MatrixDeterminant", lambda x: raw.MatrixDeterminant(
        input=regular(x)), (2, 3, 3))
    with_complex(case, "LogMatrixDeterminant", lambda x:
                 raw.LogMatrixDeterminant(input=regular(x))[1], (2, 3, 3))
    case("LogMatrixDeterminant by both", lambda x: raw.LogMatrixDeterminant(
        input=regular(x)), (3, 3), unknown=False)
    with_complex(case, "MatrixSquareRoot", lambda x: raw.MatrixSquareRoot(
        input=regular(x) * 2.0), (2, 3, 3))
    case("MatrixSquareRoot, one", lambda x: raw.MatrixSquareRoot(
        input=x * [[1.0, 0.2], [0.3, 2]]), (2, 2))
    for left, right in (((3, 2), (3, 4)), ((2, 3), (2, 4)), ((2, 2), (2, 1)),
                        ((2, 3, 2), (2, 3, 1))):
        with_complex(case, "MatrixSolveLs %s of %s" % (left, right),
                     lambda x, y: raw.MatrixSolveLs(
                         matrix=x, rhs=y, l2_regularizer=tf.constant(
                             0.3, tf.float64)), left, right)


def symmetric(x):
    return regular(x) + tf.linalg.adjoint(x)


def squares(*matrices):
    """|x|^2 and |x x^H|^2: what no sign or phase of a column changes."""
    return [y for x in matrices for y in (
        tf.abs(x) ** 2, tf.abs(tf.linalg.matmul(x, x, adjoint_b=True)) ** 2)]


def factors(case):
    with_complex(case, "Cholesky", lambda x: raw.Cholesky(
        input=symmetric(x) * 2.0), (2, 3, 3))
    case("Cholesky, one", lambda x: raw.Cholesky(
        input=x * [[5.0, 1], [1, 5]]), (2, 2))
    for shape, full in (((3, 3), False), ((3, 3), True), ((4, 2), False),
                        ((2, 4), False), ((2, 2, 3), True)):
        with_complex(case, "Qr of %s, %s" % (shape, full), lambda x, f=full:
                     list(raw.Qr(input=x * x, full_matrices=f)), shape)
    case("Qr by q", lambda x: raw.Qr(input=x)[0], (3, 2), unknown=False)
    case("Qr by r", lambda x: raw.Qr(input=x)[1], (2, 3), unknown=False)
    for op in ("SelfAdjointEigV2", "Eig"):
        def values(x, o=op, vectors=True):
            more = {} if o != "Eig" else {
                "Tout": tf.complex128}
            return getattr(raw, o)(input=symmetric(x), compute_v=vectors, **more)
        with_complex(case, op + " without vectors", lambda x, v=values: tf.abs(
            v(x, vectors=False)[0]), (2, 3, 3))
        with_complex(case, op + " by values", lambda x, v=values: tf.abs(
            v(x)[0]), (3, 3))
        with_complex(case, op + " by vectors", lambda x, v=values: squares(
            v(x)[1]), (2, 3, 3))
        with_complex(case, op + " by both", lambda x, v=values: tf.abs(
            v(x)[0])[tf.newaxis, :] * tf.abs(v(x)[1]) ** 2, (3, 3))
    case("SelfAdjointEigV2, one", lambda x: raw.SelfAdjointEigV2(
        input=x * [[1.0, 0], [1, 3]])[0], (2, 2))
    for shape, full in (((3, 3), False), ((2, 4), False), ((4, 2), False),
                        ((2, 2, 3), True), ((3, 2), True)):
        def svd(x, f=full):
            return raw.Svd(input=x * x * x, full_matrices=f)
        text = " of %s, %s" % (shape, full)
        with_complex(case, "Svd without vectors" + text, lambda x: tf.abs(
            raw.Svd(input=x, compute_uv=False)[0]), shape)
        with_complex(case, "Svd by values" + text, lambda x, s=svd: tf.abs(
            s(x)[0]), shape)
        with_complex(case, "Svd by vectors" + text, lambda x, s=svd: squares(
            *s(x)[1:]), shape)


DOUBLE = {"element_dtype": tf.float64}


def listed(x, shape=(3,)):
    """A list of x's rows."""
    return raw.TensorListFromTensor(tensor=x, element_shape=np.array(
        shape, np.int32))


def stacked(found, shape=(3,), count=-1):
    return raw.TensorListStack(input_handle=found, element_shape=np.array(
        shape, np.int32), num_elements=count, **DOUBLE)


def concatenated(found):
    return raw.TensorListConcatV2(
        input_handle=found, element_shape=np.array([-1, 3], np.int32),
        leading_dims=np.zeros([0], np.int64), **DOUBLE)[0]


def lists(case):
    """Squares, so that a gradient tells its place."""
    def add(name, function, *shapes):
        case(name, lambda *x: function(*x) ** 2, *shapes, unknown=False)

    add("TensorListStack", lambda x: stacked(listed(x)), (4, 3))
    add("TensorListStack of four", lambda x: stacked(listed(x), count=4), (4, 3))
    case("TensorListStack, one", lambda x: stacked(listed(x)) ** 2, (4, 3))
    empty = {"element_shape": np.array([3], np.int32), "max_num_elements": -1}
    add("TensorListPushBack", lambda x, y: stacked(raw.TensorListPushBack(
        input_handle=raw.TensorListPushBack(input_handle=raw.EmptyTensorList(
            **empty, **DOUBLE), tensor=x), tensor=y)), (3,), (3,))

    def pop(x):
        return raw.TensorListPopBack(
            input_handle=listed(x), element_shape=np.array([3], np.int32),
            **DOUBLE)
    add("TensorListPopBack", lambda x: stacked(pop(x)[0]) * pop(x)[1], (4, 3))
    add("TensorListPopBack, the element", lambda x: pop(x)[1], (4, 3))
    add("TensorListPopBack, the list", lambda x: stacked(pop(x)[0]), (4, 3))

    def get(x, i):
        return raw.TensorListGetItem(
            input_handle=listed(x), index=i,
            element_shape=np.array([3], np.int32), **DOUBLE)
    add("TensorListGetItem", lambda x: get(x, 2), (4, 3))
    add("TensorListGetItem, several", lambda x: get(x, 2) * get(x, 0), (4, 3))
    add("TensorListSetItem", lambda x, y: stacked(raw.TensorListSetItem(
        input_handle=listed(x), index=1, item=y)), (4, 3), (3,))
    add("TensorListSetItem beyond", lambda x, y: stacked(raw.TensorListSetItem(
        input_handle=listed(x), index=5, item=y,
        resize_if_index_out_of_bounds=True)), (4, 3), (3,))
    for size in (2, 6):
        add("TensorListResize to %d" % size, lambda x, n=size: stacked(
            raw.TensorListResize(input_handle=listed(x), size=n)), (4, 3))
    add("TensorListGather", lambda x: raw.TensorListGather(
        input_handle=listed(x), indices=[2, 0], element_shape=[3], **DOUBLE),
        (4, 3))
    for op, more in (("TensorListScatter", {}),
                     ("TensorListScatterV2", {"num_elements": 5})):
        add(op, lambda x, o=getattr(raw, op), m=more: stacked(o(
            tensor=x, indices=[1, 0, 3, 2], element_shape=[3], **m)), (4, 3))
    add("TensorListScatterIntoExistingList", lambda x, y: stacked(
        raw.TensorListScatterIntoExistingList(
            input_handle=listed(x), tensor=y, indices=[3, 1])), (4, 3), (2, 3))
    add("TensorListConcatV2", lambda x: concatenated(listed(x, (2, 3))),
        (4, 2, 3))
    add("TensorListConcat", lambda x: raw.TensorListConcat(
        input_handle=listed(x, (2, 3)), element_shape=[None, 3],
        **DOUBLE)[0], (4, 2, 3))
    add("TensorListSplit", lambda x: concatenated(raw.TensorListSplit(
        tensor=x, element_shape=[-1, 3], lengths=np.array([1, 3, 0]))), (4, 3))
    add("TensorListConcatLists of what stops", lambda x: stacked(
        raw.TensorListConcatLists(input_a=listed(tf.stop_gradient(x)),
                                  input_b=listed(tf.stop_gradient(x)),
                                  **DOUBLE)) * x[0], (4, 3))


def maps(case):
    kinds = {"value_dtype": tf.float64}

    def insert(found, key, value):
        return raw.TensorMapInsert(input_handle=found, key=tf.constant(key),
                                   value=value)

    def lookup(found, key):
        return raw.TensorMapLookup(input_handle=found, key=tf.constant(key),
                                   **kinds)

    def erase(found, key):
        return raw.TensorMapErase(input_handle=found, key=tf.constant(key),
                                  **kinds)

    def made(*values):
        found = raw.EmptyTensorMap()
        for key, value in enumerate(values):
            found = insert(found, key, value)
        return found
    for name, function in (
            ("TensorMapLookup", lambda x, y: lookup(made(x, y), 1)),
            ("TensorMapLookup, both", lambda x, y: lookup(
                made(x, y), 1) * lookup(made(x, y), 0)),
            ("TensorMapInsert over", lambda x, y: lookup(insert(
                made(x, y), 1, x), 1)),
            ("TensorMapErase", lambda x, y: lookup(erase(made(x, y), 1), 0))):
        case(name, lambda x, y, f=function: f(x, y) ** 2, (2, 3), (2, 3),
             unknown=False)


def respelled(graph, suffix):
    """A GraphDef with TensorArrays of strings ("V2") or references ("") in the
    place of resources.  These give no flow: a constant does, as long as it is
    0."""
    first = graph.node.add(name="first_flow", op="Const")
    first.attr["dtype"].type = tf.float32.as_datatype_enum
    first.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0.0))
    made = {n.name for n in graph.node if n.op == "TensorArrayV3"}
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name.endswith(":1") and name[:-2] in made:
                node.input[i] = "first_flow"
        if node.op.startswith("TensorArray"):
            node.op = node.op[:-len("V3")] + suffix
            node.attr.pop("identical_element_shapes", None)
        if node.op == "Enter" and node.input[0] in made:
            node.attr["T"].type = tf.string.as_datatype_enum
    graph.versions.producer = 25 if suffix else 15  # the last that has them
    return graph


def packed(graph):
    """All rows at once, which only references had ops for."""
    for node in respelled(graph, "").node:
        old = {"TensorArrayScatter": "TensorArrayUnpack",
               "TensorArrayGather": "TensorArrayPack"}.get(node.op)
        if old:
            node.op = old
            del node.input[1]  # indices
    return graph


def arrays(control):
    """The C API does not know them.  What no handle is refuses, in its three
    spellings."""
    for spelling in ("V3", "V2", ""):
        array_cases(lambda name, function, *shapes, s=spelling: control(
            "%s%s" % (name, "" if s == "V3" else " of strings" if s
                      else " of references"), function, *shapes,
            change=lambda graph, s=s: respelled(graph, s) if s != "V3" else
            graph), spelling)
    control("TensorArray of references, unpacked and packed",
            lambda x: tf.TensorArray(tf.float64, size=4).unstack(
                x).stack() ** 2, (4, 3), change=packed)


def array_cases(control, spelling):
    def made(size=4):
        return tf.TensorArray(tf.float64, size=size, infer_shape=False)
    control("TensorArray, written and read", lambda x: made().write(
        2, x).write(0, x * 3.0).read(2) ** 2, (2, 3))
    control("TensorArray, stacked", lambda x: made().unstack(x).stack() ** 2,
            (4, 3))
    control("TensorArray, gathered", lambda x: made().unstack(x).gather(
        [3, 1]) ** 2, (4, 3))
    control("TensorArray, scattered", lambda x: made().scatter(
        [3, 1], x).gather([1, 3]) ** 2, (2, 3))
    control("TensorArray, joined", lambda x: made().unstack(
        x).concat() ** 2, (4, 2, 3))
    control("TensorArray, split", lambda x: made(3).split(
        x, [1, 2, 1]).concat() ** 2, (4, 3))

    def scan(x):
        def body(i, state, out):
            state = tf.tanh(state * 1.5 + tf.reshape(rows.read(i), [3]))
            return i + 1, state, out.write(i, state)
        rows = made().unstack(x)
        out = tf.while_loop(lambda i, *_: i < 4, body, (
            0, tf.zeros([3], tf.float64), made()))[2]
        return out.stack() ** 2
    if spelling:
        control("TensorArray in a loop", scan, (4, 3))


AT = {2: np.array([[0, 1], [1, 0], [1, 2], [2, 1]]),
      3: np.array([[0, 0, 1], [0, 1, 0], [1, 1, 2], [1, 2, 1]])}
DIMS = {2: np.array([3, 3]), 3: np.array([2, 3, 3])}
FORMS = ({}, {"transpose": True}, {"adjoint": True})


def csr(values, rank=2, back=False):
    """Four elements; back: those of the transposed matrix."""
    at = AT[rank]
    if back:
        at = at[..., [1, 0] if rank == 2 else [0, 2, 1]]
        at = at[np.lexsort(at.T[::-1])]
    return raw.SparseTensorToCSRSparseMatrix(
        indices=at, values=values, dense_shape=DIMS[rank])


def dense(m, dtype):
    return raw.CSRSparseMatrixToDense(sparse_input=m, type=dtype)


def forms():
    for left in FORMS:
        for right in FORMS:
            yield "%s %s" % (list(left), list(right)), {
                **{k + "_a": v for k, v in left.items()},
                **{k + "_b": v for k, v in right.items()}}


def sparse_matrices(case):
    for rank in (2, 3):
        shape = tuple(int(n) for n in DIMS[rank])
        for text, more in forms():
            for out in ({}, {"transpose_output": True},
                        {"conjugate_output": True}):
                with_complex(
                    case, "SparseMatrixMatMul of rank %d %s %s" % (
                        rank, text, list(out)),
                    lambda x, y, r=rank, m={**more, **out}:
                    raw.SparseMatrixMatMul(a=csr(x, r), b=y, **m), (4,), shape)
            with_complex(
                case, "SparseMatrixSparseMatMul of rank %d %s" % (rank, text),
                lambda x, y, r=rank, m=more: dense(raw.SparseMatrixSparseMatMul(
                    a=csr(x, r), b=csr(y, r, True), type=x.dtype, **m), x.dtype),
                (4,), (4,))


def samples(case):
    """The same numbers in both libraries, by keys."""
    for shape, alpha in (((5,), ()), ((4, 2), (2,)), ((3, 2, 2), (2, 2))):
        text = " of %s by %s" % (shape, alpha)
        case("StatelessRandomGammaV2" + text, lambda x, s=shape:
             raw.StatelessRandomGammaV2(shape=s, seed=[3, 5], alpha=x), alpha)
        case("StatelessRandomGammaV3" + text, lambda x, s=shape:
             raw.StatelessRandomGammaV3(
                 shape=s, key=np.array([3], np.uint64),
                 counter=np.array([5, 0], np.uint64), alg=1, alpha=x), alpha)
        case("RandomGamma" + text, lambda x, s=shape: raw.RandomGamma(
            shape=s[:len(s) - len(x.shape)], alpha=x, seed=3, seed2=5), alpha,
            unknown=False)


def carried(case):
    """By way of variants and of variables."""
    one = np.array([0, 2, 2, 3])
    two = [np.array([0, 2, 3]), np.array([0, 1, 3, 3])]

    def back(found, rank):
        return raw.RaggedTensorFromVariant(
            encoded_ragged=found, input_ragged_rank=-1, output_ragged_rank=rank,
            Tvalues=tf.float64, Tsplits=tf.int64)[1]
    for name, splits in (("1", [one]), ("2", two)):
        for batched in (False, True):
            case("RaggedTensorToVariant of %s, %s" % (name, batched),
                 lambda x, s=splits, v=batched: back(raw.RaggedTensorToVariant(
                     rt_nested_splits=s, rt_dense_values=x,
                     batched_input=v), len(s)) ** 2, (3, 2), unknown=False)

    def optional(x, y):
        made = raw.OptionalFromValue(components=[x, y])
        return raw.OptionalGetValue(optional=made, output_types=[tf.float64] * 2,
                                    output_shapes=[x.shape, y.shape])
    case("OptionalFromValue", lambda x, y: list(optional(x, y)), (2, 3), (2,),
         unknown=False)
    case("OptionalFromValue, one part used", lambda x, y: optional(x, y)[1],
         (2, 3), (2,), unknown=False)


def colors(case):
    case("RGBToHSV", lambda x: raw.RGBToHSV(images=x), (4, 5, 3))
    case("RGBToHSV of ties", lambda x: raw.RGBToHSV(
        images=tf.round(x * 2.0) / 2.0 + 0.0 * x), (6, 6, 3))
    case("RGBToHSV of ties and zeros", lambda x: raw.RGBToHSV(
        images=x * np.array([[1.0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0],
                             [0, 0, 1], [0, 0, 0]])), (6, 3))
    case("RGBToHSV of greys", lambda x: raw.RGBToHSV(
        images=x * np.ones([1, 3])), (4, 1))


def norms(case):
    """Second derivatives, in float."""
    def single(x):
        return tf.cast(x, tf.float32)

    def twice(y, x, s, m, v, op, training, layout="NHWC"):
        more = {"reserve_space_3": single(v)} if op.endswith("V3") else {}
        return list(getattr(raw, op)(
            y_backprop=single(y), x=single(x), scale=single(s),
            reserve_space_1=single(m), reserve_space_2=single(v),
            epsilon=0.1, is_training=training, data_format=layout,
            **more))[:3]
    shape = (2, 3, 2, 2)
    for op in ("FusedBatchNormGrad", "FusedBatchNormGradV2",
               "FusedBatchNormGradV3"):
        for training in (True, False):
            for part in (None, 0, 1, 2):
                case("%s in float, %s, %s" % (op, training, part), lambda *x,
                     o=op, t=training, p=part: (lambda y: y if p is None else
                                                y[p])(twice(
                         *x[:3], *[tf.stop_gradient(v) for v in x[3:]], o, t)),
                     shape, shape, (2,), (2,), (2,), unknown=part is None)
    for layout, shape in (("NCHW", (2, 2, 3, 2)), ("NDHWC", (2, 3, 1, 2, 2)),
                          ("NCDHW", (2, 2, 3, 1, 2))):
        case("FusedBatchNormGradV3 in float of %s" % layout, lambda *x, f=layout:
             twice(*x[:3], *[tf.stop_gradient(v) for v in x[3:]],
                   "FusedBatchNormGradV3", True, f), shape, shape, (2,), (2,),
             (2,), unknown=False)


def branches(case):
    """Of functions, which Python's cond makes where control flow is new."""
    def both(x, y, limit):
        return tf.cond(tf.reduce_sum(x) > limit, lambda: x * y * 2.0,
                       lambda: tf.sin(x) + y)

    def within(x, y, limit):
        return tf.cond(tf.reduce_sum(x) > limit, lambda: tf.cond(
            tf.reduce_sum(y) > 0.0, lambda: x * y, lambda: x), lambda: y * y)

    def chosen(x, y, index):
        return tf.switch_case(tf.constant(index), [
            lambda: x * y, lambda: tf.exp(x), lambda: [y * y * x][0]])
    for limit in (0.0, 99.0):
        for name, function in (("If", both), ("If in If", within)):
            case("%s above %g" % (name, limit), lambda x, y, f=function,
                 n=limit: f(x, y, n), (2, 3), (2, 3), unknown=False)
    for index in (0, 1, 2, 7, -1):
        case("Case %d" % index, lambda x, y, i=index: chosen(x, y, i), (2, 3),
             (2, 3), unknown=False)


def fill_control(control):
    arrays(control)


def fill(case):
    for part in (lists, maps, activations, pairs, systems, factors,
                 sparse_matrices, samples, carried, colors, norms,
                 branches):
        part(case)
