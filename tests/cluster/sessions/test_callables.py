"""Signatures named once: callables, and runs in parts."""
import threading

from tests.cluster.client import expect, graph, np, tf
from tests.cluster.raw import Raw, code_of, constant, graph_of, message, node
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
SETUP_FIRST = "Must run PartialRunSetup before performing partial runs"


def sum_and_product():
    """p, q, s = p + 1 on the ps, m = s * q on the master."""
    p = tf.placeholder(tf.float32, name="p")
    q = tf.placeholder(tf.float32, name="q")
    with tf.device("/job:ps"):
        s = tf.add(p, 1.0, name="s")
    return p, q, s, tf.multiply(s, q, name="m")


def raw_session(cluster):
    """The same graph in a session of its own; (Raw, handle)."""
    raw = Raw(cluster["worker", 0].address)
    f = dict(dtype=tf.float32)
    handle = raw.create(graph_of(
        constant("one", 1.0), node("p", "Placeholder", **f),
        node("q", "Placeholder", **f),
        node("s", "AddV2", ["p", "one"], "/job:ps/task:0", T=tf.float32),
        node("m", "Mul", ["s", "q"], T=tf.float32)))
    return raw, handle


def proto(value, dtype=tf.float32):
    return tf.make_tensor_proto(value, dtype)


def options(**fields):
    from tensorflow.core.protobuf import config_pb2
    return config_pb2.CallableOptions(**fields)


# ---- Callables ---------------------------------------------------------------


@test(**PAIR)
def make_callable_runs_with_lists_and_structures(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        call = session.make_callable([s, m, {"again": m}], [p, q])
        for i in range(5):
            assert call(float(i), 2.0) == [i + 1, 2 * (i + 1),
                                           {"again": 2 * (i + 1)}]
        assert session.make_callable(s.op, [p])(1.0) is None


@test(**PAIR)
def callables_from_options_run_by_number(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        calls = [session._make_callable_from_options(options(
            feed=feed, fetch=fetch)) for feed, fetch in (
                (["p:0", "q:0"], ["m:0", "s:0"]), (["s:0", "q:0"], ["m:0"]),
                (["q:0", "p:0"], ["s:0", "m:0"]))]
        for i in np.arange(3, dtype=np.float32):
            assert calls[0](i, np.float32(2)) == [2 * (i + 1), i + 1]
            assert calls[1](i, np.float32(2)) == [2 * i]
            assert calls[2](np.float32(2), i) == [i + 1, 2 * (i + 1)]


@test(**PAIR)
def a_callable_may_only_run_targets(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        with tf.device("/job:ps"):
            v = tf.Variable(0.0)
            add = v.assign_add(1.0).op
        session.run(v.initializer)
        call = session._make_callable_from_options(options(target=[add.name]))
        for _ in range(3):
            assert call() == []
        assert session.run(v) == 3.0


@test(**PAIR)
def callables_outlive_the_growth_of_their_graph(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, _, s, _ = sum_and_product()
        call = session._make_callable_from_options(
            options(feed=["p:0"], fetch=["s:0"]))
        for i in range(3):
            assert call(np.float32(i)) == [i + 1]
            assert session.run(tf.constant(i) + 1) == i + 1


@test(**PAIR)
def callables_run_side_by_side(cluster):
    with graph() as g, tf.Session(cluster.target(), graph=g) as session:
        p, _, s, _ = sum_and_product()
        call = session._make_callable_from_options(
            options(feed=["p:0"], fetch=["s:0"]))
        wrong = []

        def work(base):
            for i in range(30):
                if call(np.float32(base + i)) != [base + i + 1]:
                    wrong.append((base, i))

        threads = [threading.Thread(target=work, args=[100 * i])
                   for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong


@test(**PAIR)
def a_callable_has_the_options_it_was_made_with(cluster):
    raw, handle = raw_session(cluster)
    made = raw.master("MakeCallable", session_handle=handle, options=options(
        feed=["p:0"], fetch=["s:0"], run_options=tf.RunOptions(
            trace_level=tf.RunOptions.FULL_TRACE,
            output_partition_graphs=True))).handle
    reply = raw.master("RunCallable", session_handle=handle, handle=made,
                       feed=[proto(1.0)])
    assert tf.make_ndarray(reply.fetch[0]) == 2.0
    assert reply.metadata.step_stats.dev_stats
    assert len(reply.metadata.partition_graphs) == 2


@test(**PAIR)
def a_mistake_in_a_callable_is_found_when_it_is_made(cluster):
    raw, handle = raw_session(cluster)
    for fields, code, text in (
            ({}, "INVALID_ARGUMENT", "Must specify at least one target to "
             "fetch or execute."),
            (dict(feed=["p:0"]), "INVALID_ARGUMENT", "Must specify at least"),
            (dict(fetch=["zz:0"]), "NOT_FOUND",
             "FetchOutputs node zz:0: not found"),
            (dict(fetch=["m:0"], feed=["zz:0"]), "NOT_FOUND",
             "FeedInputs: unable to find feed output zz:0"),
            (dict(target=["zz"]), "NOT_FOUND",
             "PruneForTargets: Some target nodes not found: zz"),
            (dict(fetch=["s:0"], feed=["p:0", "p:0"]), "INVALID_ARGUMENT",
             'Endpoint "p:0" fed more than once.'),
            (dict(fetch=["p:0"], feed=["p:0"]), "INVALID_ARGUMENT",
             "p:0 is both fed and fetched."),
            (dict(fetch=["s:0"], feed=["p:0"], feed_devices={"p:0": "x"}),
             "UNIMPLEMENTED", "CallableOptions::feed_devices")):
        got = code_of(raw.master, "MakeCallable", session_handle=handle,
                      options=options(**fields))
        assert got[0] == code and text in got[1], got
    first = raw.master("MakeCallable", session_handle=handle,
                       options=options(fetch=["one:0"]))
    assert first.handle == 0  # those before were none


def connected(*pairs, **fields):
    made = options(**fields)
    for source, to in pairs:
        made.tensor_connection.add(from_tensor=source, to_tensor=to)
    return made


@test(**PAIR)
def connections_of_a_callable_feed_it_with_its_own_tensors(cluster):
    """s = p + 1 on the ps, m = s * q."""
    raw, handle = raw_session(cluster)
    for pairs, feeds, fetch, want in (
            ([("one:0", "p:0")], {}, ["s:0"], [2.0]),
            ([("one:0", "p:0"), ("s:0", "q:0")], {}, ["m:0", "s:0"],
             [4.0, 2.0]),
            ([("s:0", "q:0"), ("one:0", "p:0")], {}, ["m:0"], [4.0]),
            ([("p:0", "q:0"), ("one:0", "p:0")], {}, ["m:0"], [2.0]),
            ([("s:0", "q:0")], {"p:0": 1.0, "s:0": 7.0}, ["m:0"], [14.0]),
            ([("m:0", "one:0")], {"p:0": 1.0, "s:0": 3.0, "q:0": 4.0},
             ["m:0"], [12.0])):
        made = raw.master("MakeCallable", session_handle=handle,
                          options=connected(*pairs, feed=list(feeds),
                                            fetch=fetch)).handle
        for _ in range(2):
            reply = raw.master("RunCallable", session_handle=handle,
                               handle=made,
                               feed=[proto(v) for v in feeds.values()])
            got = [tf.make_ndarray(t) for t in reply.fetch]
            assert got == want, (pairs, got)


@test(**PAIR)
def connections_that_make_no_sense_are_refused(cluster):
    raw, handle = raw_session(cluster)
    for pairs, fields, code, text in (
            ([("s:0", "p:0")], dict(fetch=["s:0"]), "INVALID_ARGUMENT",
             'Requested Tensor connection between nodes "p" and "s" would '
             "create a cycle."),
            ([("zz:0", "p:0")], dict(fetch=["s:0"]), "INVALID_ARGUMENT",
             'Requested tensor connection from unknown node: "p:0".'),
            ([("one:2", "p:0")], dict(fetch=["s:0"]), "INVALID_ARGUMENT",
             'Requested tensor connection from unknown edge: "p:0" (actual '
             "number of outputs = 1)."),
            ([("one:0", "zz:0")], dict(fetch=["s:0"]), "NOT_FOUND",
             "FeedInputs: unable to find feed output zz:0"),
            ([("one:0", "p:0")], dict(feed=["p:0"], fetch=["s:0"]),
             "INVALID_ARGUMENT", 'Endpoint "p:0" fed more than once.'),
            ([("one:0", "p:0")], dict(fetch=["p:0"]), "INVALID_ARGUMENT",
             "p:0 is both fed and fetched."),
            ([("one:0", "p:0")], {}, "INVALID_ARGUMENT",
             "Must specify at least one target")):
        got = code_of(raw.master, "MakeCallable", session_handle=handle,
                      options=connected(*pairs, **fields))
        assert got[0] == code and text in got[1], got


@test(**PAIR)
def unknown_callables_are_told_from_released_ones(cluster):
    raw, handle = raw_session(cluster)
    for _ in range(2):
        made = raw.master("MakeCallable", session_handle=handle,
                          options=options(fetch=["one:0"])).handle
    for number in (0, 0, 99):
        raw.master("ReleaseCallable", session_handle=handle, handle=number)
    for number, text in (
            (0, "Attempted to run callable after handle was released: 0"),
            (-1, "Attempted to run callable after handle was released: -1"),
            (2, "No such callable handle: 2"),
            (99, "No such callable handle: 99")):
        got = code_of(raw.master, "RunCallable", session_handle=handle,
                      handle=number)
        assert got == ("INVALID_ARGUMENT", text), got
    raw.master("RunCallable", session_handle=handle, handle=made)


@test(**PAIR)
def calls_of_unknown_sessions_are_aborted(cluster):
    raw, _ = raw_session(cluster)
    for method in ("MakeCallable", "RunCallable", "ReleaseCallable",
                   "PartialRunSetup", "RunStep", "ExtendSession"):
        got = code_of(raw.master, method, session_handle="nope")
        assert got == ("ABORTED", "Session nope is not found."), (method, got)
    for method, code in (("CloseSession", "ABORTED"),
                         ("ListDevices", "INVALID_ARGUMENT")):
        got = code_of(raw.master, method, session_handle="nope")
        assert got == (code, "Session nope is not found. Possibly, this "
                       "master has restarted."), (method, got)


@test(**PAIR)
def a_request_id_is_good_for_one_call_of_any_method(cluster):
    raw, handle = raw_session(cluster)
    calls = (("MakeCallable", dict(options=options(fetch=["one:0"]))),
             ("RunCallable", dict(handle=0)),
             ("PartialRunSetup", dict(fetch=["one:0"])),
             ("RunStep", dict(fetch=["one:0"])))
    for number, (method, fields) in enumerate(calls, 5000):
        fields = dict(fields, session_handle=handle, request_id=number)
        raw.master(method, **fields)
        got = code_of(raw.master, method, **fields)
        assert got[0] == "ABORTED", got
        assert "The same %s (Master) request was received twice." % method \
            in got[1], got
    got = code_of(raw.master, "RunStep", session_handle=handle,
                  fetch=["one:0"], request_id=5000)
    assert got[0] == "ABORTED", got


@test(tfd_only=True, **PAIR)
def a_callable_wants_all_its_feeds_and_no_more(cluster):
    """TensorFlow runs with what is there, and answers twice asked once."""
    raw, handle = raw_session(cluster)
    raw.master("MakeCallable", session_handle=handle, options=options(
        feed=["p:0", "q:0"], fetch=["m:0", "m:0"]))
    for feeds in ([], [proto(1.0)], [proto(1.0)] * 3):
        got = code_of(raw.master, "RunCallable", session_handle=handle,
                      feed=feeds)
        assert got[0] == "INVALID_ARGUMENT" and "2 feeds" in got[1], got
    reply = raw.master("RunCallable", session_handle=handle,
                       feed=[proto(1.0), proto(3.0)])
    assert [tf.make_ndarray(t) for t in reply.fetch] == [6.0, 6.0]


# ---- Partial runs ------------------------------------------------------------


@test(**PAIR)
def a_run_in_parts_keeps_its_values(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        for i in range(5):
            run = session.partial_run_setup([s, m], [p, q])
            assert session.partial_run(run, s, {p: float(i)}) == i + 1
            assert session.partial_run(run, m, {q: 2.0}) == 2 * (i + 1)


@test(**PAIR)
def a_run_in_parts_may_be_run_at_once(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        run = session.partial_run_setup([s, m], [p, q])
        assert session.partial_run(run, [m, s], {p: 1.0, q: 3.0}) == [6.0, 2.0]


@test(**PAIR)
def runs_in_parts_interleave(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q, s, m = sum_and_product()
        runs = [session.partial_run_setup([s, m], [p, q]) for _ in range(8)]
        for i, run in enumerate(runs):
            assert session.partial_run(run, s, {p: float(i)}) == i + 1
        assert session.run(m, {p: 1.0, q: 1.0}) == 2.0
        for i, run in reversed(list(enumerate(runs))):
            assert session.partial_run(run, m, {q: 2.0}) == 2 * (i + 1)


@test(**PAIR)
def each_part_runs_stateful_ops_once(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        with tf.device("/job:ps"):
            v = tf.Variable(0.0)
        x = tf.placeholder(tf.float32, [])
        added = v.assign_add(x)
        y = tf.placeholder(tf.float32, [])
        total = added + y
        session.run(v.initializer)
        run = session.partial_run_setup([added, total], [x, y])
        assert session.partial_run(run, added, {x: 5.0}) == 5.0
        assert session.partial_run(run, total, {y: 1.0}) == 6.0
        assert session.run(v) == 5.0


@test(**PAIR)
def misuse_of_runs_in_parts_is_named(cluster):
    raw, handle = raw_session(cluster)

    def setup(**fields):
        return raw.master("PartialRunSetup", session_handle=handle,
                          **fields).partial_run_handle

    def part(run, feeds, *fetches):
        return raw.step(handle, partial_run_handle=run, fetch=fetches, feed=[
            message("NamedTensor", name=name, tensor=proto(value))
            for name, value in feeds.items()])

    for fields, code, text in (
            ({}, "INVALID_ARGUMENT", "Must specify at least one target"),
            (dict(feed=["p:0"]), "INVALID_ARGUMENT", "Must specify at least"),
            (dict(fetch=["zz:0"]), "NOT_FOUND",
             "FetchOutputs node zz:0: not found"),
            (dict(feed=["p:0", "p:0"], fetch=["s:0"]), "INVALID_ARGUMENT",
             'Endpoint "p:0" fed more than once.')):
        got = code_of(setup, **fields)
        assert got[0] == code and text in got[1], got
    run = setup(feed=["p:0", "q:0"], fetch=["s:0", "m:0"])
    early = "can't be computed from the feeds that have been fed so far."
    assert early in code_of(part, run, {"p:0": 1.0}, "m:0")[1]
    assert len(part(run, {"p:0": 1.0}, "s:0").tensor) == 1
    for feeds, fetch, text in (
            ({"p:0": 1.0}, "m:0", "The feed p:0 has already been fed."),
            ({"q:0": 1.0}, "s:0", "The fetch s:0 has already been fetched."),
            ({"one:0": 1.0}, "m:0",
             "The feed one:0 was not specified in partial_run_setup."),
            ({"q:0": 1.0}, "one:0",
             "The fetch one:0 was not specified in partial_run_setup."),
            ({}, "m:0", early)):
        got = code_of(part, run, feeds, fetch)
        assert got[0] == "INVALID_ARGUMENT" and text in got[1], got
    assert not part(run, {}).tensor
    assert len(part(run, {"q:0": 2.0}, "m:0").tensor) == 1
    for unknown in (run, "nope", "99", "-1", "00"):
        assert code_of(part, unknown, {"q:0": 2.0}, "m:0") == (
            "INVALID_ARGUMENT", SETUP_FIRST)


@test(**PAIR)
def a_failed_part_ends_the_whole(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with tf.device("/job:ps"):
            product = tf.raw_ops.MatMul(a=p, b=p, name="product")
        total = product + q
        run = session.partial_run_setup([product, total], [p, q])
        with expect(tf.errors.InvalidArgumentError, "Matrix size-incompatible",
                    "{{node product}}"):
            session.partial_run(run, product, {p: np.ones((2, 3))})
        with expect(tf.errors.InvalidArgumentError, SETUP_FIRST):
            session.partial_run(run, total, {q: 1.0})
        run = session.partial_run_setup([product, total], [p, q])
        assert session.partial_run(run, product, {p: [[2.0]]}) == [[4.0]]
        assert session.partial_run(run, total, {q: 1.0}) == [[5.0]]


@test(**PAIR)
def a_part_of_another_type_ends_the_whole(cluster):
    raw, handle = raw_session(cluster)
    run = raw.master("PartialRunSetup", session_handle=handle,
                     feed=["p:0", "q:0"], fetch=["s:0", "m:0"])
    fields = dict(partial_run_handle=run.partial_run_handle, fetch=["s:0"],
                  feed=[message("NamedTensor", name="p:0",
                                tensor=proto(1, tf.int32))])
    got = code_of(raw.step, handle, **fields)
    assert got[0] == "INTERNAL", got
    assert "Output 0 of type int32 does not match declared output type " \
        "float for node {{node _recv_p_0}}" in got[1], got
    assert code_of(raw.step, handle, **fields) == (
        "INVALID_ARGUMENT", SETUP_FIRST)


@test(**PAIR)
def a_session_closes_with_parts_that_never_came(cluster):
    with graph():
        p, q, s, m = sum_and_product()
        for begun in (False, True):
            session = tf.Session(cluster.target())
            run = session.partial_run_setup([s, m], [p, q])
            if begun:
                assert session.partial_run(run, s, {p: 1.0}) == 2.0
            session.close()
        with tf.Session(cluster.target()) as session:
            assert session.run(m, {p: 1.0, q: 2.0}) == 4.0


@test(**PAIR)
def the_last_part_brings_the_metadata(cluster):
    raw, handle = raw_session(cluster)
    run = raw.master("PartialRunSetup", session_handle=handle,
                     feed=["p:0", "q:0"], fetch=["s:0", "m:0"])
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    for name, fetch in (("p:0", "s:0"), ("q:0", "m:0")):
        reply = raw.step(
            handle, partial_run_handle=run.partial_run_handle, fetch=[fetch],
            options=traced, feed=[message("NamedTensor", name=name,
                                          tensor=proto(1.0))])
        assert bool(reply.metadata.step_stats.dev_stats) == (fetch == "m:0")
