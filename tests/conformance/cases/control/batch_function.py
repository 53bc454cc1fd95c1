"""Cases of kernels/control/batch_function.c: a function of the rows of several steps.
A time that a batch waits is either none, or so long that nobody waits for it."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.control.batching import LONG_US, until_one_ends
from tests.conformance.cases.control.unbatch import floats, place
from tests.conformance.cases.state.waiting import TYPES, Waiting
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
ANY = tf.TensorSpec(None, tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)


def concrete(body, specs):
    return tf.function(body, autograph=False).get_concrete_function(*specs)


def call(inputs, body=lambda x: x * 2, captured=(), specs=None, out=None, rows=4, timeout=0,
         threads=1, sizes=(), split=False, **attrs):
    inputs = [tf.convert_to_tensor(x) for x in inputs]
    f = concrete(body, specs or [tf.TensorSpec(None, x.dtype) for x in inputs])
    attrs.setdefault("shared_name", place("call"))
    return raw.BatchFunction(
        in_tensors=inputs, captured_tensors=list(captured) + list(f.captured_inputs), f=f,
        num_batch_threads=threads, max_batch_size=rows, batch_timeout_micros=timeout,
        allowed_batch_sizes=list(sizes), Tout=out or [y.dtype for y in f.outputs],
        enable_large_batch_splitting=split, **attrs)


def with_size(x):
    """The rows, and how many there are in the batch."""
    return tf.fill([tf.shape(x)[0]], tf.shape(x)[0]), x


def outcomes(side, calls):
    with side.session() as session:
        out = {}
        for name, fetches in calls.items():
            found = told(session, fetches)
            if isinstance(found, str):
                out[name] = found.split(". Below")[0]
            else:
                out.update({"%s %d" % (name, i): value for i, value in enumerate(found)})
        return out


def steps_of(side, build, feeds, dtype=tf.float32):
    """What steps of several threads get, with these values."""
    x = tf.placeholder(dtype, None)
    fetches = build(x)
    with side.session() as session:
        steps = [Waiting(session, fetches, {x: value}) for value in feeds]
        out = {}
        for i, step in enumerate(steps):
            found = step.result()
            found = [found] if isinstance(found, str) else found
            out.update({"%d %d" % (i, j): value for j, value in enumerate(found)})
        return out


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_function_of_one_step(side):
    count = np.arange(5, dtype=np.float32)
    return outcomes(side, {
        "in time": call([floats(1, 2)]),
        "full": call([floats(1, 2)], rows=2, timeout=LONG_US),
        "filled up": call([floats(1, 2)], with_size, sizes=[3, 4]),
        "exactly": call([floats(1, 2)], with_size, sizes=[2, 4]),
        "several": call([floats(1, 2), [3, 4]], lambda x, y: (y, x)),
        "captured": call([floats(1, 2)], lambda x, c: x * c, captured=[tf.constant(3.0)],
                         specs=[ANY, SCALAR]),
        "strings": call([[b"a", b"b"]], lambda x: tf.strings.join([x, x]), sizes=[3, 4]),
        "no rows": call([floats()], with_size),
        "no rows of three": call([np.zeros((0, 3), np.float32)], with_size),
        "no limit": call([floats(1)], rows=-1),
        "no line": call([floats(1)], max_enqueued_batches=0),
        "less than no line": call([floats(1)], max_enqueued_batches=-1),
        "queue": call([floats(1)], batching_queue="q"),
        "split in twos": call([count], with_size, rows=8, split=True, sizes=[2]),
        "split and filled up": call([count], with_size, rows=8, split=True, sizes=[2, 4]),
        "split and left": call([count], with_size, rows=8, split=True, sizes=[1, 2]),
        "split strings": call([[b"a", b"b", b"c"]], lambda x: tf.strings.join([x, x]), rows=8,
                              split=True, sizes=[2]),
        "splits to the end of the line": call([np.ones(8, np.float32)], with_size, rows=16,
                                              split=True, sizes=[2], max_enqueued_batches=4),
    })


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_function_of_as_many_threads_as_it_wants(side):
    count = np.arange(5, dtype=np.float32)
    return outcomes(side, {
        "none": call([floats(1, 2)], with_size, threads=0),
        "less": call([floats(1, 2)], with_size, threads=-3),
        "split": call([count], with_size, rows=8, sizes=[2], threads=0, split=True),
        "past": call([floats(1)], timeout=-1, threads=0),
        "too many": call([np.ones(5, np.float32)], threads=0),
        "no rows": call([floats(1)], rows=0, threads=0),
        "fewer rows": call([floats(1)], rows=-1, threads=0),
        "no line": call([floats(1)], max_enqueued_batches=0, threads=0),
        "another end": call([count], rows=8, sizes=[2], threads=0),
        "large end": call([floats(1)], sizes=[2, 8], threads=0, split=True),
        "full": call([np.ones(9, np.float32)], rows=16, sizes=[2], threads=0, split=True,
                     max_enqueued_batches=4),
        "full line": call([np.ones(8, np.float32)], rows=16, sizes=[2], threads=0, split=True,
                          max_enqueued_batches=4),
    })


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_node_that_asks_for_them_has_as_many_threads_as_it_wants(side):
    """By an attribute that its definition lacks; a line is one node's then."""
    one, other, plain = (call([floats(1, 2)], with_size, rows=3, threads=1, timeout=0,
                              shared_name=place("asks")) for _ in range(3))
    for y in one, other:
        y[0].op._set_attr("_enable_adaptive_scheduler", tf.AttrValue(b=True))
    large = call([np.ones(4, np.float32)], threads=1, rows=3)
    large[0].op._set_attr("_enable_adaptive_scheduler", tf.AttrValue(b=True))
    return outcomes(side, {"one": one, "other": other, "plain": plain, "large": large})


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_function_of_each_type(side):
    return outcomes(side, {dtype.name: call([tf.constant(sample(dtype), dtype)], lambda x: x,
                                            sizes=[3, 4]) for dtype in TYPES})


@scenario("BatchFunction", tol=0)
@fresh_graph
def attributes_of_low_priority_change_nothing(side):
    return outcomes(side, {
        "rows": call([floats(1)], low_priority_max_batch_size=2),
        "all": call([floats(1)], low_priority_max_batch_size=2,
                    low_priority_max_enqueued_batches=1, low_priority_allowed_batch_sizes=[2, 1],
                    mixed_priority_policy="priority_merge"),
        "less": call([floats(1)], low_priority_max_batch_size=-2,
                     low_priority_batch_timeout_micros=-2),
        "isolated": call([floats(1)], mixed_priority_policy="priority_isolation"),
        "too large": call([floats(1)], low_priority_max_batch_size=2**33),
    })


@scenario("BatchFunction", tol=0)
@fresh_graph
def functions_that_are_refused(side):
    return outcomes(side, {
        "scalar": call([hidden(np.float32(1))]),
        "unlike": call([hidden(floats(1)), hidden(floats(1, 2))], lambda x, y: x),
        "too many": call([np.ones(5, np.float32)]),
        "too many to split": call([np.ones(5, np.float32)], split=True),
        "line is full": call([np.ones(9, np.float32)], rows=16, split=True, sizes=[2],
                             max_enqueued_batches=4),
        "no rows": call([floats(1)], rows=0),
        "past": call([floats(1)], timeout=-1),
        "far": call([floats(1)], timeout=2**31),
        "no line to split to": call([floats(1)], split=True, max_enqueued_batches=0),
        "descending": call([floats(1)], sizes=[3, 2]),
        "twice": call([floats(1)], sizes=[4, 4]),
        "another end": call([floats(1)], sizes=[2, 3]),
        "large end": call([floats(1)], split=True, sizes=[2, 8]),
        "large size": call([floats(1)], sizes=[2**33]),
        "arguments": call([floats(1)], lambda x, c: x * c, specs=[ANY, SCALAR]),
        "results": call([floats(1)], lambda x: (x, x), out=[tf.float32]),
        "more results": call([floats(1)], out=[tf.float32, tf.float32]),
        "scalar result": call([floats(1, 2)], tf.reduce_sum),
        "fewer rows come": call([floats(1, 2)], lambda x: x[:1], sizes=[3, 4]),
        "more rows come": call([floats(1, 2)], lambda x: tf.concat([x, x], 0)),
        "quantised": call([tf.bitcast(tf.constant([1], tf.int8), tf.qint8)], lambda x: x)[0],
        "resource": call([tf.reshape(raw.VarHandleOp(
            dtype=tf.float32, shape=[], shared_name=place()), [1])], lambda x: tf.ones([1])),
    })


@scenario("BatchFunction", tol=0)
@fresh_graph
def functions_that_fail(side):
    def broken(x):
        return tf.debugging.check_numerics(x / 0.0, "no")

    with side.session() as session:
        return {name: attempt(session, fetch) for name, fetch in {
            "alone": call([floats(1, 2)], broken),
            "split": call([np.ones(5, np.float32)], broken, rows=8, split=True, sizes=[2]),
            "declared": call([floats(1)], out=[tf.int32]),
            "argument": call([[1, 2]], lambda x: x, specs=[ANY], out=[tf.float32]),
        }.items()}


@scenario("BatchFunction", tol=0)
@fresh_graph
def many_steps_call_a_function(side):
    return steps_of(side, lambda x: call([x, x + 1], lambda x, y: (x + y, *with_size(x)), rows=8,
                                         threads=4, timeout=LONG_US), 8 * [np.ones((1, 3))])


@scenario("BatchFunction", tol=0)
@fresh_graph
def each_step_gets_its_own_results(side):
    return steps_of(side, lambda x: call([x], lambda x: x * 10, rows=9, timeout=LONG_US),
                    [np.full((1 + i % 2, 3), i) for i in range(6)])


@scenario("BatchFunction", tol=0)
@fresh_graph
def steps_fill_batches_with_parts(side):
    return steps_of(side, lambda x: call([x], with_size, split=True, timeout=LONG_US),
                    4 * [floats(1, 1, 1)])


@scenario("BatchFunction", tol=0)
@fresh_graph
def steps_that_do_not_fit_each_other(side):
    out = {}
    for name, (one, other) in {
            "ranks": (floats(1, 1), np.ones((2, 2))),
            "dims": (np.ones((2, 3)), np.ones((2, 2)))}.items():
        found = steps_of(side, lambda x: call([x], timeout=LONG_US), [one, other])
        out.update({"%s %s" % (name, key): value.split(":")[0] for key, value in found.items()})
    return out


@scenario("BatchFunction", tol=0)
@fresh_graph
def batches_that_rather_are_smaller(side):
    """A batch of three that may have two or four rows: nodes of one step, which come
    at once."""
    calls = {}
    for policy in "PAD_UP", "BATCH_DOWN", "MINIMIZE_TPU_COST_PER_REQUEST":
        name = place()
        calls[policy] = tf.concat([call(
            [floats(1)], lambda x: with_size(x)[0], sizes=[2, 4], timeout=300000,
            batch_padding_policy=policy, shared_name=name)[0] for _ in range(3)], 0)
    with side.session() as session:
        return {policy: told(session, fetch) for policy, fetch in calls.items()}


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_batch_is_over_when_the_next_begins(side):
    """Three rows go, as three more have no room, which wait for another one."""
    x = tf.placeholder(tf.float32, None)
    fetches = call([x], with_size, timeout=LONG_US)
    with side.session() as session:
        ended, waits = until_one_ends(
            [Waiting(session, fetches, {x: np.ones(3)}) for _ in range(2)])
        last = told(session, fetches, {x: np.ones(1)})
        return {"ended": ended.result()[0], "waits": waits.result()[0], "last": last[0]}


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_line_that_is_full_refuses(side):
    """One batch may wait, which has no room for another step."""
    out = {}
    for split in False, True:
        x = tf.placeholder(tf.float32, None)
        fetches = call([x], with_size, timeout=LONG_US, max_enqueued_batches=1, split=split)
        with side.session() as session:
            refused, waits = until_one_ends(
                [Waiting(session, fetches, {x: np.ones(3)}) for _ in range(2)])
            told(session, fetches, {x: np.ones(1)})
            out["refused %d" % split] = refused.result()
            out["waits %d" % split] = waits.result()[0]
    return out


@scenario("BatchFunction", tol=0)
@fresh_graph
def a_step_that_waits_for_a_function_is_cancelled(side):
    """TensorFlow waits on, with its rows: what is right is said here."""
    if not side.target:
        return {"late": "DeadlineExceededError", "next": floats(2, 2, 2, 2)}
    with side.session() as session:
        x = tf.placeholder(tf.float32, None)
        fetch = call([x], timeout=LONG_US)[0]
        try:
            late = str(session.run(fetch, {x: np.ones(2)},
                                   options=tf.RunOptions(timeout_in_ms=200)))
        except tf.errors.OpError as error:
            late = type(error).__name__
        return {"late": late, "next": told(session, fetch, {x: np.ones(4)})}
