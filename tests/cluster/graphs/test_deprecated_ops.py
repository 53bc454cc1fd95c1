"""Ops that were given up, in graphs of old producers and of new ones.

What is expected is what TensorFlow's own server answers, which this file passes
as well (--tensorflow).  That all ops are known is looked at by
tests/conformance/deprecated.py."""
import grpc

from tests.cluster.client import np, tf
from tests.cluster.raw import Raw, code_of, constant, message, node
from tests.cluster.suite import test

GONE = ("Op BatchMatrixDiag is not available in GraphDef version %d. It has been "
        "removed in version 14. Use MatrixDiag.")
NOW = tf.version.GRAPH_DEF_VERSION
DEVICE = "/job:worker/replica:0/task:0/device:CPU:0"
VECTOR = constant("a", [1.0, 2.0])
DIAGONAL = node("d", "BatchMatrixDiag", ["a"], T=tf.float32)
MATRIX = np.diag(np.float32([1, 2]))
OLD, NEW = (0, 13), (14, 15, NOW)


def graph_of(producer, *nodes, functions=()):
    """producer None: no versions."""
    graph = tf.GraphDef(node=nodes)
    if producer is not None:
        graph.versions.producer = producer
    graph.library.function.extend(functions)
    return graph


def step(raw, session, fetch, **fields):
    (fetched,) = raw.step(session, fetch=[fetch], **fields).tensor
    return tf.make_ndarray(fetched.tensor)


def run(raw, graph, fetch, **fields):
    session = raw.create(graph)
    try:
        return step(raw, session, fetch, **fields)
    finally:
        raw.close_session(session)


def expect_gone(producer, call, *args, **fields):
    code, text = code_of(call, *args, **fields)
    assert code == "UNIMPLEMENTED" and GONE % producer in text, (code, text)


def diagonal_function(name="F"):
    """y = BatchMatrixDiag(x)."""
    made = tf.GraphDef().library.function.add()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    made.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    made.node_def.add().CopyFrom(node("d", "BatchMatrixDiag", ["x"],
                                      T=tf.float32))
    made.ret["y"] = "d:output:0"
    return made


def call_of(op, **functions):
    made = node("c", op, ["a"])
    for name in ("Tin", "Tout"):
        made.attr[name].list.type.append(tf.float32.as_datatype_enum)
    for attr, function in functions.items():
        made.attr[attr].func.name = function
    return made


@test(worker=1)
def the_producer_decides(cluster):
    raw = Raw(cluster["worker", 0].address)
    for producer in (None, *OLD):
        np.testing.assert_array_equal(
            run(raw, graph_of(producer, VECTOR, DIAGONAL), "d:0"), MATRIX)
    for producer in NEW:
        expect_gone(producer, run, raw, graph_of(producer, VECTOR, DIAGONAL),
                    "d:0")


@test(worker=1)
def what_no_step_needs_may_be_there(cluster):
    raw = Raw(cluster["worker", 0].address)
    shape = tf.AttrValue(shape=tf.TensorShape([]).as_proto())
    fed = node("p", "PlaceholderV2", dtype=tf.float32, shape=shape)
    feed = message("NamedTensor", name="p:0", tensor=tf.make_tensor_proto(2.0))
    graph = graph_of(NOW, VECTOR, DIAGONAL, fed,
                     node("n", "Neg", ["p"], T=tf.float32),
                     functions=[diagonal_function()])
    np.testing.assert_array_equal(run(raw, graph, "a:0"), [1, 2])
    assert run(raw, graph, "n:0", feed=[feed]) == -2
    code, text = code_of(run, raw, graph, "n:0")
    assert code == "UNIMPLEMENTED" and "Op PlaceholderV2 is not" in text, text


@test(worker=1)
def bodies_of_functions(cluster):
    raw = Raw(cluster["worker", 0].address)
    library = [diagonal_function()]
    for call in (node("c", "F", ["a"]), call_of("PartitionedCall", f="F"),
                 call_of("StatefulPartitionedCall", f="F")):
        old = graph_of(13, VECTOR, call, functions=library)
        np.testing.assert_array_equal(run(raw, old, "c:0"), MATRIX)
        expect_gone(NOW, run, raw, graph_of(NOW, VECTOR, call,
                                            functions=library), "c:0")


def as_diagonals(graph):
    """The graph with Neg as BatchMatrixDiag, and shapes that nobody knows."""
    for function in graph.library.function:
        for inner in function.node_def:
            inner.op = inner.op.replace("Neg", "BatchMatrixDiag")
            inner.input[:] = [name.replace("Neg:y:", "Neg:output:")
                              for name in inner.input]
        for name, source in function.ret.items():
            function.ret[name] = source.replace("Neg:y:", "Neg:output:")
    for made in (*graph.node, *(inner for function in graph.library.function
                                for inner in function.node_def)):
        for shape in made.attr["output_shapes"].list.shape:
            shape.Clear()
            shape.unknown_rank = True
        if not made.attr["output_shapes"].list.shape:
            del made.attr["output_shapes"]
    return graph


@test(worker=1)
def functions_of_datasets(cluster):
    raw = Raw(cluster["worker", 0].address)
    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.from_tensors([1.0, 2.0]).map(tf.negative)
        tf.identity(tf.data.make_one_shot_iterator(data).get_next(), "y")
    made = as_diagonals(graph.as_graph_def())
    made.versions.producer = 13
    np.testing.assert_array_equal(run(raw, made, "y:0"), MATRIX)
    made.versions.producer = NOW
    expect_gone(NOW, run, raw, made, "y:0")


@test(worker=1)
def sessions_that_grow(cluster):
    """Versions are those of the last addition, which is looked at from the
    fifth on."""
    raw = Raw(cluster["worker", 0].address)
    for first, second in ((13, 13), (14, 13), (NOW, 0), (NOW, None), (13, 14),
                          (0, NOW), (None, NOW)):
        for before, after in (([VECTOR], [DIAGONAL]),
                              ([VECTOR, DIAGONAL], [node("n")])):
            session = raw.create(graph_of(first, *before))
            extend = dict(session_handle=session, current_graph_version=0,
                          graph_def=graph_of(second, *after))
            if (second or 0) < 14:
                raw.master("ExtendSession", **extend)
                np.testing.assert_array_equal(
                    step(raw, session, "d:0"), MATRIX)
            else:
                expect_gone(second, raw.master, "ExtendSession", **extend)
                np.testing.assert_array_equal(
                    step(raw, session, "a:0"), [1, 2])
            raw.close_session(session)


@test(worker=1)
def the_oldest_sessions_grow_by_anything(cluster):
    raw = Raw(cluster["worker", 0].address)
    for producer, code in ((1, "OK"), (2, "OK"), (4, "OK"),
                           (5, "UNIMPLEMENTED")):
        session = raw.create(graph_of(producer, constant("a", np.ones(
            [2, 2, 3])), constant("b", 1.0)))
        bright = node("d", "AdjustContrast", ["a", "b", "b", "b"], T=tf.float32)
        extend = dict(session_handle=session, current_graph_version=0,
                      graph_def=graph_of(producer, bright))
        if code == "OK":
            raw.master("ExtendSession", **extend)
        else:
            assert code_of(raw.master, "ExtendSession", **extend)[0] == code
        raw.close_session(session)


@test(worker=1)
def graphs_that_another_master_registers(cluster):
    raw = Raw(cluster["worker", 0].address)
    nodes = [constant("a", [1.0], device=DEVICE),
             node("d", "BatchMatrixDiag", ["a"], DEVICE, T=tf.float32)]
    raw.worker("RegisterGraph", graph_def=graph_of(13, *nodes))
    expect_gone(14, raw.worker, "RegisterGraph", graph_def=graph_of(14, *nodes))


@test(worker=1)
def the_server_goes_on(cluster):
    raw = Raw(cluster["worker", 0].address)
    session = raw.create(graph_of(NOW, VECTOR, DIAGONAL,
                                  node("n", "Neg", ["a"], T=tf.float32)))
    for _ in range(20):
        try:
            step(raw, session, "d:0")
            raise AssertionError("it ran")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
        np.testing.assert_array_equal(step(raw, session, "n:0"), [-1, -2])
    raw.close_session(session)


def tile_grad(x, multiples, producer=2, **attrs):
    """The answer to TileGrad of constants; its kernel wants an attribute that
    its definition does not have."""
    x = np.asarray(x)
    dtype = tf.as_dtype(x.dtype)
    return graph_of(
        producer, constant("x", x, dtype), constant("m", multiples, tf.int32),
        node("t", "TileGrad", ["x", "m"], T=dtype, **attrs))


@test(worker=1)
def gradients_of_tile(cluster):
    raw = Raw(cluster["worker", 0].address)
    drawn = np.random.RandomState(1)
    for shape, multiples in (((4,), [2]), ((4,), [4]), ((4,), [1]), ((), []),
                             ((6, 4), [3, 2]), ((6, 4), [1, 4]), ((0,), [1]),
                             ((4, 3, 6), [2, 1, 3]), ((2, 2, 2), [2, 2, 2]),
                             ((2, 1, 3, 2, 4), [1, 1, 3, 2, 2]),
                             ((2,) * 7, [2, 1, 2, 1, 2, 1, 2])):
        for dtype in (np.float32, np.float64, np.int32, np.int64, np.int16,
                      np.float16, np.complex64, np.complex128):
            x = drawn.randint(-9, 9, shape).astype(dtype)
            parts = np.reshape(x, [n for m, d in zip(multiples, shape)
                                   for n in (m, d // m)])
            np.testing.assert_array_equal(
                run(raw, tile_grad(x, multiples, Tmultiples=tf.int32), "t:0"),
                parts.sum(tuple(range(0, 2 * len(shape), 2))))


@test(worker=1)
def gradients_of_tile_that_there_are_not(cluster):
    raw = Raw(cluster["worker", 0].address)
    x = np.ones([4], np.float32)
    known = dict(Tmultiples=tf.int32)
    for graph, code, text in (
            (tile_grad(x, [2, 1], **known), "INVALID_ARGUMENT",
             "Expected multiples argument to be a vector of length 1 but got "
             "length 2"),
            (tile_grad(x, [[2]], **known), "INVALID_ARGUMENT",
             "Expected multiples to be 1-D, but got shape [1,1]"),
            (tile_grad(x, 2, **known), "INVALID_ARGUMENT",
             "Expected multiples to be 1-D, but got shape []"),
            (tile_grad(x, [0], **known), "INVALID_ARGUMENT",
             "Expected multiples[0] > 0, but got 0"),
            (tile_grad(x, [-2], **known), "INVALID_ARGUMENT",
             "Expected multiples[0] > 0, but got -2"),
            (tile_grad(x, [3], **known), "INVALID_ARGUMENT",
             "Expected input_dim[0] to be divisible by multiples[0], but 4 % 3 "
             "!= 0"),
            (tile_grad([True, True], [2], **known), "UNIMPLEMENTED",
             "TileGradientOp : The input data type or dimension is not "
             "supported, DataType : bool, Dimension : 1"),
            (tile_grad(np.ones([2] * 8, np.float32), [2] * 8, **known),
             "UNIMPLEMENTED", "DataType : float, Dimension : 8"),
            (tile_grad(x, [2]), "INVALID_ARGUMENT",
             "OpKernel 'TileGrad' has constraint on attr 'Tmultiples' not in "
             "NodeDef '[T=DT_FLOAT]'"),
            (tile_grad(x, [2], 3, **known), "UNIMPLEMENTED",
             "Op TileGrad is not available in GraphDef version 3. It has been "
             "removed in version 3. TileGrad has been replaced with "
             "reduce_sum.")):
        found = code_of(run, raw, graph, "t:0")
        assert found[0] == code and text in found[1], found
