"""Ops whose cases are short stories: values, control flow, variables.

A scenario is a function(side) that runs the same steps in process and on the
server and returns a dict; every value in it is a case.  What raises is
recorded as the error's class.
"""
import functools
import itertools
import os
import tempfile

import numpy as np

from tensorflow.python.framework import function

from tests.cluster.client import plain_config, tf
from tests.conformance.inputs import FED, Data, types_of
from tests.conformance.table import scenario
from tests.conformance.words import words

STEP_MS = 20000
RUNS = itertools.count()
SWITCHED = [tf.as_dtype(name) for name in types_of("Switch")]
ASSIGNED = [tf.as_dtype(name) for name in types_of("Assign")
            if name in types_of("AssignVariableOp")]


class Side:
    """Where a scenario runs: in process (target "") or on a server."""

    def __init__(self, target, device="", pin=None):
        """pin(op): the device of an operation, asked when it is made; this
        one where it can."""
        self.target, self.device, self.pin = target, device, pin
        self.folder = tempfile.mkdtemp(prefix="tfd-conformance-")

    def session(self):
        return tf.Session(self.target, config=plain_config(
            operation_timeout_in_ms=STEP_MS if self.target else 0))

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes(self, name):
        """The bytes of a file that the server wrote."""
        with open(self.path(name), "rb") as file:
            return file.read()


def attempt(session, fetches, feeds=None):
    """The values, or the class of the error."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        return type(error).__name__


def told(session, fetches, feeds=None):
    """The values, or the class of the error and its text."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        return "%s: %s" % (type(error).__name__, words(error.message))


def hidden(value):
    """A tensor whose value and shape the client's own checks cannot see."""
    return tf.placeholder_with_default(value, None)


def sample(dtype, dims=(2, 3)):
    return Data(0, 90).draw(dtype, dims, dtype.name)


def fresh_graph(function):
    """The scenario starts with an empty default graph; all names have a
    prefix, as variables outlive sessions on a server: in each run another,
    which texts lose."""
    def wrapped(side):
        prefix = "p%d_%d" % (os.getpid(), next(RUNS))
        with tf.Graph().as_default(), tf.name_scope(prefix), tf.device(
                side.pin):
            found = function(side)
        return {key: value.replace(prefix, "p") if isinstance(value, str)
                else value for key, value in found.items()}
    wrapped.__name__ = function.__name__
    return wrapped


# ---- Feeds, fetches, constants ----------------------------------------------


@scenario("_Arg _Retval _Send _Recv _HostSend _HostRecv Placeholder Identity")
@fresh_graph
def every_type_is_fed_and_fetched(side):
    out = {}
    with side.session() as session:
        for dtype in FED:
            for dims in ((), (3,), (0,), (2, 0, 3), (2, 3)):
                p = tf.placeholder(dtype, None)
                y = tf.raw_ops.Identity(input=p)
                out["%s %s" % (dtype.name, dims)] = attempt(
                    session, y, {p: sample(dtype, dims)})
    return out


@scenario("Const NoOp ControlTrigger IdentityN")
@fresh_graph
def constants_of_every_type(side):
    """Const, with its value in each of TensorProto's forms."""
    fetches, out = {}, {}
    for dtype in FED:
        for dims in ((), (2, 3), (0,), (40,)):
            key = "%s %s" % (dtype.name, dims)
            fetches[key] = tf.constant(sample(dtype, dims), dtype)
    fetches["splat"] = tf.constant(7.0, shape=[30, 20])
    proto = tf.make_tensor_proto([1, 2, 3], tf.int32, [7])
    fetches["last repeats"] = tf.raw_ops.Const(value=proto, dtype=tf.int32)
    for i, tensor in enumerate(tf.raw_ops.IdentityN(
            input=[fetches["splat"], fetches["bool (2, 3)"]])):
        fetches["identity_n %d" % i] = tensor
    with side.session() as session:
        out.update(session.run(fetches))
        out["no_op"] = session.run(tf.no_op())
        with tf.control_dependencies([tf.raw_ops.ControlTrigger()]):
            out["triggered"] = session.run(tf.constant(1.0))
    return out


@scenario("Assert")
@fresh_graph
def assert_fails_with_its_data(side):
    p = tf.placeholder(tf.bool, [])
    check = tf.raw_ops.Assert(condition=p, data=["x is", tf.constant([1, 2])],
                              summarize=1)
    with side.session() as session:
        return {str(v): attempt(session, check, {p: v}) for v in (True, False)}


@scenario("RandomUniform RandomStandardNormal TruncatedNormal")
@fresh_graph
def unseeded_random_differs_each_time(side):
    out = {}
    with side.session() as session:
        for kind in (tf.random.uniform, tf.random.normal,
                     tf.random.truncated_normal):
            tensor = kind([1000])
            first, second = session.run(tensor), session.run(tensor)
            out[kind.__name__] = first.shape
            out[kind.__name__ + " again"] = bool((first == second).all())
            out[kind.__name__ + " bound"] = bool(
                np.abs(first).max() < (1 if "uniform" in kind.__name__ else 9))
    return out


@scenario("RandomUniform RandomStandardNormal TruncatedNormal "
          "RandomUniformInt Multinomial", tol=10)
@fresh_graph
def seeded_streams_go_on_from_step_to_step(side):
    out, seeds, n = {}, {"seed": 87, "seed2": 42}, 1003
    raw, tensors = tf.raw_ops, {}
    for name in types_of("RandomUniform"):
        for op in (raw.RandomUniform, raw.RandomStandardNormal,
                   raw.TruncatedNormal):
            tensors[op.__name__ + " " + name] = op(shape=[n], dtype=name,
                                                   **seeds)
    for dtype in (np.int32, np.int64):
        tensors["int %s" % dtype.__name__] = raw.RandomUniformInt(
            shape=[n], minval=dtype(-3), maxval=dtype(2 ** 30), **seeds)
    logits = sample(tf.float32, (1, 300)) / 20
    logits[:, ::7] = -np.inf
    tensors["classes"] = raw.Multinomial(logits=logits, num_samples=99, **seeds)
    with side.session() as session:
        for step in range(3):
            for name, value in session.run(tensors).items():
                out["%s, step %d" % (name, step)] = value
    return out


@scenario("StridedSlice StridedSliceGrad", tol=0)
@fresh_graph
def steps_beyond_a_tensor_take_one_element(side):
    out = {}
    most, least = 2 ** 63 - 1, -2 ** 63
    x = hidden(sample(tf.float32, (4, 5)))
    with side.session() as session:
        for begin, end, step in ((1, 4, most), (3, -9, least), (3, -9, -most),
                                 (least, most, most), (2, 2, most),
                                 (most, least, least), (0, 4, 2 ** 62)):
            spec = {"begin": hidden(np.array([begin, 1])),
                    "end": hidden(np.array([end, 3])),
                    "strides": hidden(np.array([step, 1]))}
            name = "%d %d %d" % (begin, end, step)
            y = tf.raw_ops.StridedSlice(input=x, **spec)
            out[name] = attempt(session, y)
            out[name + " grad"] = attempt(session, tf.raw_ops.StridedSliceGrad(
                shape=np.array([4, 5]), dy=y, **spec))
    return out


@scenario("FixedUnigramCandidateSampler", tol=0)
@fresh_graph
def weights_of_candidates_come_from_a_file(side):
    out = {}
    files = {"good": b"a,3\nb,x y,1.5\n0.25\n", "blank": b"1\n\n2\n3",
             "word": b"1\ntwo\n3\n", "comma": b"1,\n2\n3\n",
             "few": b"1\n2\n", "empty": b""}
    with side.session() as session:
        for name, text in files.items():
            with open(side.path(name), "wb") as file:
                file.write(text)
            sampled = tf.raw_ops.FixedUnigramCandidateSampler(
                true_classes=[[2]], num_true=1, num_sampled=5, unique=False,
                range_max=3, vocab_file=side.path(name), seed=5,
                distortion=0.5)
            for step in range(2):
                values = attempt(session, list(sampled))
                for place, value in enumerate(
                        [values] if isinstance(values, str) else values):
                    out["%s %d %d" % (name, step, place)] = value
    return out


# ---- Variables ----------------------------------------------------------------

@scenario("AssignVariableOp AssignAddVariableOp ReadVariableOp VarHandleOp")
@fresh_graph
def shapes_of_variables_bind_those_who_ask(side):
    """The shape of a handle binds nobody, that of a value those who validate."""
    raw, out = tf.raw_ops, {}
    ones = functools.partial(np.ones, dtype=np.float32)
    with side.session() as session:
        for declared in ([3], [None], None):
            for first, second, validate in (
                    ((2,), (2,), True), ((2,), (3,), True),
                    ((2,), (3, 1), False), ((), (2,), True),
                    ((3, 1), (1, 3), True)):
                key = "%s %s %s %s" % (declared, first, second, validate)
                v = hidden(raw.VarHandleOp(dtype=tf.float32, shape=declared,
                                           shared_name="v" + key))
                for i, shape in enumerate((first, second)):
                    out["%s %d" % (key, i)] = told(
                        session, raw.AssignVariableOp(
                            resource=v, value=hidden(ones(shape)),
                            validate_shape=validate))
                    out["%s %d read" % (key, i)] = told(
                        session, raw.ReadVariableOp(resource=v,
                                                    dtype=tf.float32))
                out[key + " other"] = told(session, raw.AssignVariableOp(
                    resource=v, value=hidden(np.ones(second, np.float64))))
                out[key + " add other"] = told(session, raw.AssignAddVariableOp(
                    resource=v, value=hidden(np.ones(second, np.float64))))
                out[key + " add"] = told(session, raw.AssignAddVariableOp(
                    resource=v, value=hidden(ones((2, 2)))))
    return out


@scenario("Assign AssignAdd VariableV2")
@fresh_graph
def what_references_say_of_shapes(side):
    raw = tf.raw_ops
    with side.session() as session:
        v = raw.VariableV2(shape=[3], dtype=tf.float32)
        two = hidden(np.ones(2, np.float32))
        return {
            "other": told(session, raw.Assign(ref=v, value=two)),
            "any": told(session, raw.Assign(ref=v, value=two,
                                            validate_shape=False)),
            "add": told(session, raw.AssignAdd(
                ref=v, value=hidden(np.ones(3, np.float32))))}


@scenario("ResourceScatterUpdate ResourceGather")
@fresh_graph
def lists_are_scattered_into_a_variable(side):
    raw, out = tf.raw_ops, {}

    def lists(*rows):
        return [hidden(raw.TensorListFromTensor(
            tensor=np.array(row, np.float32), element_shape=[1]))
            for row in rows]

    def element(i):
        return raw.TensorListStack(input_handle=hidden(raw.ResourceGather(
            resource=v, indices=hidden(np.int32(i)), dtype=tf.variant)),
            element_shape=-1, element_dtype=tf.float32)

    def scatter(indices, updates):
        return told(session, raw.ResourceScatterUpdate(
            resource=v, indices=hidden(indices), updates=hidden(updates)))

    with side.session() as session:
        v = hidden(raw.VarHandleOp(dtype=tf.variant, shape=[3]))
        new = lists([[7.], [8.]], [[9.]])
        session.run(raw.AssignVariableOp(resource=v, value=hidden(raw.Pack(
            values=lists([[1.]], [[2.], [3.]], [[4.]])))))
        old = hidden(raw.ReadVariableOp(resource=v, dtype=tf.variant))
        for name, indices, updates in (
                ("two", [2, 0], raw.Pack(values=new)),
                ("one for all", np.array([1, 0]), new[1]),
                ("beyond", [3], raw.Pack(values=new[:1])),
                ("too few", [0, 1], raw.Pack(values=new[:1]))):
            out[name] = scatter(indices, updates)
            for i in range(4):
                out["%s %d" % (name, i)] = told(session, element(i))
        out["read"] = told(session, raw.Shape(input=old))
    return out


# ---- Linear algebra ---------------------------------------------------------

@scenario("Cholesky")
@fresh_graph
def cholesky_of_what_is_not_positive_definite_is_no_number(side):
    out = {}
    with side.session() as session:
        for name, value in {"negative": [[1, 2], [2, 1]],
                            "zero": [[0, 0], [0, 0]],
                            "nan": [[np.nan, 0], [0, 1]]}.items():
            factor = session.run(tf.raw_ops.Cholesky(
                input=tf.constant(value, tf.float32)))
            out[name] = np.tril(factor)
    return out


@scenario("SelfAdjointEigV2 Svd", tol=100)
@fresh_graph
def vectors_of_decompositions_agree_but_for_their_sign(side):
    raw, out = tf.raw_ops, {}
    rng = np.random.RandomState(3)
    with side.session() as session:
        for dtype in (tf.float32, tf.float64, tf.complex64, tf.complex128):
            flat = rng.uniform(-1, 1, (2, 5, 3, 2)) @ [1, 1j]
            flat = (flat if dtype.is_complex else flat.real).astype(
                dtype.as_numpy_dtype)
            turned = np.conj(np.swapaxes(flat, 1, 2))
            square = flat[:, :3] + turned[..., :3]
            square[:, 0, 2] = 99  # nobody reads above the diagonal
            e, v = session.run(raw.SelfAdjointEigV2(input=square))
            out["%s e" % dtype.name] = e
            out["%s v" % dtype.name] = np.abs(v)
            out["%s only e" % dtype.name] = session.run(
                raw.SelfAdjointEigV2(input=square, compute_v=False)[0])
            for x in (flat, turned):
                out["%s only s" % dtype.name] = session.run(
                    raw.Svd(input=x, compute_uv=False)[0])
                for full in (False, True):
                    key = "%s %s %d " % (dtype.name, full, x.shape[1])
                    found = session.run(raw.Svd(input=x, full_matrices=full))
                    out.update(describe_svd(key, *found))
    return out


def describe_svd(key, s, u, v):
    """What of singular values and vectors does not depend on signs."""
    count = s.shape[-1]
    few_u, few_v = u[..., :count], v[..., :count]
    return {
        key + "s": s, key + "shapes": np.array([u.shape, v.shape]),
        key + "u": np.abs(few_u), key + "v": np.abs(few_v),
        key + "product": (few_u * s[:, None]) @ np.conj(
            np.swapaxes(few_v, 1, 2)),
        key + "unitary": np.conj(np.swapaxes(u, 1, 2)) @ u}


@scenario("MatrixSetDiagV2 MatrixSetDiagV3", tol=0)
@fresh_graph
def bands_are_set_in_every_alignment(side):
    raw, out = tf.raw_ops, {}
    rng = np.random.RandomState(4)
    with side.session() as session:
        for dims, band, rows in [
                ((3, 4), [-1, 1], 3), ((3, 4), [-2, 0], 3),
                ((3, 4), [1, 2], 3),
                ((2, 4, 3), [-1, 1], 3), ((2, 4, 3), [-3, -1], 3),
                ((2, 4, 3), [-3, 2], 3)]:
            x, d = rng.rand(*dims), rng.rand(*dims[:-2], band[1] - band[0] + 1,
                                             rows)
            key = "%s %s " % (dims, band)
            out[key] = attempt(session, raw.MatrixSetDiagV2(
                input=x, diagonal=d, k=band))
            for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT",
                          "RIGHT_RIGHT"):
                out[key + align] = attempt(session, raw.MatrixSetDiagV3(
                    input=x, diagonal=d, k=band, align=align))
    return out


# ---- Control flow -----------------------------------------------------------


@scenario("Switch Merge RefSwitch RefMerge")
@fresh_graph
def switch_and_merge_of_every_type(side):
    out = {}
    pred = tf.placeholder(tf.bool, [])
    with side.session() as session:
        for dtype in SWITCHED:
            p = tf.placeholder(dtype, None)
            off, on = tf.raw_ops.Switch(data=p, pred=pred)
            merged = tf.raw_ops.Merge(inputs=[
                tf.raw_ops.Identity(input=off),
                tf.raw_ops.Pack(values=[on, on])])
            for value in (False, True):
                out["%s %s" % (dtype.name, value)] = attempt(
                    session, merged, {p: sample(dtype), pred: value})[0]
        both = attempt(session, merged.value_index, {p: sample(dtype),
                                                     pred: True})
        out["index"] = both
        out["vector pred"] = attempt(session, tf.raw_ops.Switch(
            data=1.0, pred=hidden([True])).output_true)
        out.update(_dead_paths(session, pred))
        out.update(_ref_switch(session, pred))
    return out


def _dead_paths(session, pred):
    """A dead control input kills; a merge of two dead inputs is dead."""
    off, on = tf.raw_ops.Switch(data=tf.constant(3.0), pred=pred)
    # Not on the Switch itself: the node is alive, one output is dead.
    with tf.control_dependencies([tf.raw_ops.Identity(input=on)]):
        guarded = tf.constant(5.0)
    negative = tf.raw_ops.Neg(x=on)
    inner = tf.raw_ops.Merge(inputs=[negative, negative]).output
    fetches = {"control": tf.raw_ops.Merge(inputs=[guarded, off]).output,
               "merge": tf.raw_ops.Merge(inputs=[inner, off]).output}
    return {"%s %s" % (name, value): attempt(session, tensor, {pred: value})
            for name, tensor in fetches.items() for value in (False, True)}


def _ref_switch(session, pred):
    v = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    off, on = tf.raw_ops.RefSwitch(data=v, pred=pred)
    merged = tf.raw_ops.RefMerge(inputs=[off, on])
    session.run(tf.raw_ops.Assign(ref=v, value=[1.0, 2.0]).op)
    return {"ref %s" % value: session.run(merged.output, {pred: value})
            for value in (False, True)}


@scenario("Enter Exit NextIteration LoopCond Merge Switch")
@fresh_graph
def while_loops(side):
    """v1 loops: invariants, several variables, nested, zero iterations."""
    tf.disable_control_flow_v2()
    n = tf.placeholder(tf.int32, [])
    scale = tf.placeholder(tf.float32, [2])
    count = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
    power = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * scale),
                          [0, tf.ones([2])], parallel_iterations=1)[1]
    grid = tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, tf.while_loop(
            lambda j, t: j <= i, lambda j, t: (j + 1, t + i * j), [0, s])[1]),
        [0, 0])[1]
    strings = tf.while_loop(lambda i, s: i < n, lambda i, s: (
        i + 1, tf.strings.join([s, "x"])), [0, "a"])[1]
    branch = tf.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, tf.cond(
            tf.equal(i % 2, 0), lambda: s + i, lambda: s * 2)), [0, 1])[1]
    fetches = [count, power, grid, strings, branch]
    out = {}
    with side.session() as session:
        for value in (0, 1, 7, 200):
            feeds = {n: value, scale: [0.99, -1]}
            for i, got in enumerate(session.run(fetches, feeds)):
                out["%d %d" % (value, i)] = got
        out["parallel"] = session.run(
            tf.while_loop(lambda i: i < n, lambda i: i + 1, [0],
                          parallel_iterations=32), {n: 1000})
    return out


@scenario("RefEnter RefExit RefNextIteration")
@fresh_graph
def a_ref_variable_goes_through_a_loop(side):
    tf.disable_control_flow_v2()
    v = tf.Variable(1.0, use_resource=False)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)
    with side.session() as session:
        session.run(v.initializer)
        return {"count": session.run(loop), "variable": session.run(v)}


@scenario("Switch Identity Enter Exit VarHandleOp ReadVariableOp")
@fresh_graph
def a_resource_goes_through_control_flow(side):
    tf.disable_control_flow_v2()
    v = tf.Variable(2.0, use_resource=True)
    pred = tf.placeholder(tf.bool, [])
    value = tf.cond(pred, lambda: v.read_value() + 1, lambda: v * 10)
    loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + v),
                         [0, 0.0])
    with side.session() as session:
        session.run(v.initializer)
        return {"true": session.run(value, {pred: True}),
                "false": session.run(value, {pred: False}),
                "loop": session.run(loop[1])}


# ---- Variables --------------------------------------------------------------


@scenario("VariableV2 VarHandleOp Assign AssignVariableOp ReadVariableOp "
          "IsVariableInitialized VarIsInitializedOp")
@fresh_graph
def variables_of_every_type(side):
    out = {}
    with side.session() as session:
        for dtype in ASSIGNED:
            for resource in (False, True):
                v = tf.Variable(tf.placeholder(dtype, [2, 3]), dtype=dtype,
                                use_resource=resource, trainable=False,
                                name="%s_%s" % (dtype.name, resource))
                feed = {v.initializer.inputs[1]: sample(dtype)}
                key = "%s %s" % (dtype.name, resource)
                ready = tf.is_variable_initialized(v)
                out[key + " before"] = session.run(ready)
                out[key + " read"] = attempt(session, v.read_value())
                session.run(v.initializer, feed)
                out[key + " after"] = session.run(ready)
                out[key] = session.run(v.read_value())
    return out


@scenario("VarHandleOp ReadVariableOp AssignVariableOp VariableV2 Assign")
@fresh_graph
def wrong_uses_of_variables_are_refused(side):
    raw, out = tf.raw_ops, {}
    name = tf.get_default_graph().get_name_scope() + "/v"
    good = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name)
    other = raw.VarHandleOp(dtype=tf.float64, shape=[2], shared_name=name)
    with side.session() as session:
        session.run(raw.AssignVariableOp(resource=good, value=[1.0, 2.0]))
        out["type"] = attempt(session, raw.ReadVariableOp(
            resource=other, dtype=tf.float64))
        out["assign type"] = attempt(session, raw.AssignVariableOp(
            resource=other, value=np.float64([1, 2])))
        out["fine"] = session.run(raw.ReadVariableOp(
            resource=good, dtype=tf.float32))
        first = raw.VariableV2(shape=[2], dtype=tf.float32,
                               shared_name=name + "r")
        second = raw.VariableV2(shape=[2], dtype=tf.float64,
                                shared_name=name + "r")
        session.run(raw.Assign(ref=first, value=[1.0, 2.0]).op)
        out["ref type"] = attempt(session, raw.Identity(input=second))
        out["container"] = attempt(session, raw.Assign(
            ref=raw.VariableV2(shape=[], dtype=tf.float32, container="a b"),
            value=1.0))
    return out


@scenario("While DecodeRaw GatherNd OptionalGetValue")
@fresh_graph
def what_tests_of_tensorflow_match_on(side):
    """Texts of mistakes that no row of the table makes."""
    raw = tf.raw_ops

    @function.Defun(tf.int32)
    def two(x):
        return x < 3, x < 3

    @function.Defun(tf.int32)
    def more(x):
        return x + 1

    def strings(*values):
        return hidden(np.array(values, object))

    def value(dtype, *shape):
        return raw.OptionalGetValue(
            optional=hidden(raw.OptionalFromValue(
                components=[hidden(np.ones([2, 3], np.float32))])),
            output_types=[dtype], output_shapes=[tf.TensorShape(shape)])[0]

    with side.session() as session:
        return {
            "component's shape": told(session, value(tf.float32, 2, None)),
            "component's rank": told(session, value(tf.float32, 3)),
            "component's size": told(session, value(tf.float32, None, 4)),
            "component's type": told(session, value(tf.int32, 2, 3)),
            "cond of two": told(session, raw.While(
                input=[hidden(0)], cond=two, body=more)[0]),
            "longer": told(session, raw.DecodeRaw(
                bytes=strings(b"ab", b"abcd"), out_type=tf.uint8)),
            "shorter": told(session, raw.DecodeRaw(
                bytes=strings(b"abcd", b"ab", b"a"), out_type=tf.uint8)),
            "no multiple": told(session, raw.DecodeRaw(
                bytes=strings(b"abc"), out_type=tf.int32)),
            "components": told(session, raw.OptionalGetValue(
                optional=hidden(raw.OptionalFromValue(components=[1, 2])),
                output_types=[tf.int32], output_shapes=[None])[0])}
