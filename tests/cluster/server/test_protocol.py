"""Calls of the master service one by one: replies, codes, texts."""
import time

import grpc

from tests.cluster.client import TensorProto, graph, np, tf
from tests.cluster.raw import (Raw, code_of, constant, graph_of, message,
                               node)
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
UNKNOWN = "feedfacefeedface"


def small_graph():
    return graph_of(constant("a", 1.0), node("n"),
                    node("b", "Neg", ["a"], T=tf.float32))


def feed(name, tensor):
    return message("NamedTensor", name=name, tensor=tensor)


def one(value=1.0):
    return tf.make_tensor_proto(value)


def misshapen(dtype, content, *dims):
    proto = TensorProto(dtype=dtype, tensor_content=content)
    for size in dims:
        proto.tensor_shape.dim.add(size=size)
    return proto


METHODS = dict(
    MasterService="CreateSession ExtendSession PartialRunSetup RunStep "
    "CloseSession ListDevices Reset MakeCallable RunCallable ReleaseCallable",
    WorkerService="GetStatus CreateWorkerSession DeleteWorkerSession "
    "RegisterGraph DeregisterGraph RunGraph CleanupGraph CleanupAll RecvTensor "
    "Logging Tracing")


@test(**PAIR)
def bodies_that_are_no_messages_are_refused_by_every_method(cluster):
    with grpc.insecure_channel(cluster["worker", 0].address) as channel:
        for service, methods in METHODS.items():
            for method in methods.split():
                call = channel.unary_unary("/tensorflow.%s/%s" %
                                           (service, method))
                for body in (b"\xff\xff\xff", b"\x0a\x05ab", b"\x0a",
                             b"\x0b", b"\x00\x00"):
                    code, text = code_of(call, body, timeout=10)
                    assert (code, text) == (
                        "INTERNAL", "Unable to parse request"), (
                            method, body, code, text)


@test(limit=60, **PAIR)
def compressed_requests_are_answered(cluster):
    """gzip and deflate, small and large, in a cluster's whole session."""
    large = np.arange(3 << 18, dtype=np.float32)
    for kind in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        with grpc.insecure_channel(
                cluster["worker", 0].address, compression=kind,
                options=[("grpc.max_send_message_length", -1),
                         ("grpc.max_receive_message_length", -1)]) as channel:
            def call(method, request):
                return channel.unary_unary(
                    "/tensorflow.MasterService/" + method)(
                        request.SerializeToString(), timeout=20)

            made = message("CreateSessionResponse")
            made.ParseFromString(call("CreateSession", message(
                "CreateSessionRequest", graph_def=small_graph())))
            reply = message("RunStepResponse")
            reply.ParseFromString(call("RunStep", message(
                "RunStepRequest", session_handle=made.session_handle,
                feed=[feed("a:0", tf.make_tensor_proto(large))],
                fetch=["b:0"])))
            np.testing.assert_array_equal(
                tf.make_ndarray(reply.tensor[0].tensor), -large)
            call("CloseSession", message(
                "CloseSessionRequest", session_handle=made.session_handle))


@test(limit=60, tfd_only=True, **PAIR)
def a_compressed_request_holds_no_other_up(cluster):
    """48 MiB of an unknown field in 48 KiB; steps go on beside it."""
    address = cluster["worker", 0].address
    raw = Raw(address)
    session = raw.create(small_graph())
    field = b"\x82\x7d\x80\x80\x80\x18" + bytes(48 << 20)
    with grpc.insecure_channel(
            address, compression=grpc.Compression.Gzip,
            options=[("grpc.max_send_message_length", -1)]) as channel:
        reset = channel.unary_unary(
            "/tensorflow.MasterService/ListDevices").future(field, timeout=50)
        slowest = 0
        while not reset.done():
            before = time.monotonic()
            raw.step(session, target=["n"])
            slowest = max(slowest, time.monotonic() - before)
        assert reset.result() is not None
    assert slowest < 2.0, slowest


# request fields, code, what the text has
BAD_STEPS = [
    (dict(), "INVALID_ARGUMENT",
     "Must specify at least one target to fetch or execute."),
    (dict(fetch=["zzz:0"]), "NOT_FOUND", "FetchOutputs node zzz:0: not found"),
    (dict(fetch=["b:x"]), "NOT_FOUND", "FetchOutputs node b:x: not found"),
    (dict(fetch=["b:3"]), "INVALID_ARGUMENT",
     "FetchOutputs b:3: output index too large, must be < 1"),
    (dict(fetch=["n:0"]), "INVALID_ARGUMENT",
     "Tried to fetch data for 'n:0', which produces no output."),
    (dict(fetch=["^b"]), "INVALID_ARGUMENT", ""),
    (dict(target=["zzz"]), "NOT_FOUND",
     "PruneForTargets: Some target nodes not found: zzz"),
    (dict(fetch=["b:0"], feed=[feed("zz:0", one())]), "NOT_FOUND",
     "FeedInputs: unable to find feed output zz:0"),
    (dict(fetch=["b:0"], feed=[feed("a:0", one())] * 2), "INVALID_ARGUMENT",
     'Endpoint "a:0" fed more than once.'),
    (dict(fetch=["a:0"], feed=[feed("a:0", one())]), "INVALID_ARGUMENT",
     "a:0 is both fed and fetched."),
    (dict(fetch=["b:0"], feed=[feed("a:0", misshapen(1, b"abc", 5))]),
     "INVALID_ARGUMENT", "Invalid TensorProto for feed value 0"),
    (dict(fetch=["b:0"], feed=[feed("a:0", misshapen(1, b"abcd", -5))]),
     "INVALID_ARGUMENT", "Invalid TensorProto for feed value 0"),
    (dict(fetch=["b:0"], feed=[feed("a:0", misshapen(1, b"", 2 ** 40,
                                                     2 ** 40))]),
     "INVALID_ARGUMENT", "Invalid TensorProto for feed value 0"),
    (dict(fetch=["b:0"], feed=[feed("a:0", misshapen(9999, b"abcd"))]),
     "INVALID_ARGUMENT", "Invalid TensorProto for feed value 0"),
    # TensorFlow says INTERNAL here, as its own _Recv gave the wrong type.
    (dict(fetch=["b:0"], feed=[feed("a:0", one(1))]), "INTERNAL",
     "of type int32 does not match declared output type float"),
]


@test(**PAIR)
def bad_steps_get_their_code_and_text(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    for fields, code, text in BAD_STEPS:
        got = code_of(raw.step, handle, **fields)
        assert got[0] == code and text in got[1], "%s: %s" % (fields, got)
    assert len(raw.step(handle, fetch=["b:0"]).tensor) == 1


@test(**PAIR)
def step_errors_go_into_the_body_when_asked(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    reply = raw.step(handle, fetch=["zz:0"],
                     store_errors_in_response_body=True)
    assert reply.status_code == 5, reply
    assert reply.status_error_message == "FetchOutputs node zz:0: not found"


@test(**PAIR)
def replies_carry_the_fetch_names(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    reply = raw.step(handle, fetch=["b:0", "a:0", "b:0"], target=["n"])
    names = sorted(t.name for t in reply.tensor)
    assert names == ["a:0", "b:0"], names
    for tensor in reply.tensor:
        want = 1.0 if tensor.name == "a:0" else -1.0
        assert tf.make_ndarray(tensor.tensor) == want
        assert tensor.tensor.tensor_content  # never float_val


@test(**PAIR)
def a_feed_may_come_in_either_form(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    repeated = TensorProto(dtype=1, float_val=[7.0])
    repeated.tensor_shape.dim.add(size=3)
    for proto, want in ((one(5.0), [-5.0]), (repeated, [-7.0] * 3),
                        (misshapen(1, b"\0\0\x80\x3f", 1), [-1.0])):
        reply = raw.step(handle, feed=[feed("a:0", proto)], fetch=["b:0"])
        got = tf.make_ndarray(reply.tensor[0].tensor).ravel().tolist()
        assert got == want


@test(**PAIR)
def a_request_is_not_run_twice(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    raw.step(handle, fetch=["b:0"], request_id=12345)
    code, text = code_of(raw.step, handle, fetch=["b:0"], request_id=12345)
    assert code == "ABORTED"
    assert "The same RunStep (Master) request was received twice." in text
    for _ in range(3):  # 0 means none
        raw.step(handle, fetch=["b:0"], request_id=0)


@test(**PAIR)
def unknown_sessions_are_aborted(cluster):
    raw = Raw(cluster["worker", 0].address)
    extension = graph_of(constant("c", 2.0))
    for code, function, fields in (
            ("ABORTED", "RunStep", dict(fetch=["b:0"])),
            ("ABORTED", "ExtendSession", dict(graph_def=extension)),
            ("ABORTED", "CloseSession", {}),
            ("INVALID_ARGUMENT", "ListDevices", {})):
        got = code_of(raw.master, function, session_handle=UNKNOWN, **fields)
        assert got[0] == code, "%s: %s" % (function, got)
        assert "Session %s is not found." % UNKNOWN in got[1], got


@test(**PAIR)
def a_closed_session_is_unknown(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())
    assert len(handle) == 16 and int(handle, 16), handle
    raw.master("CloseSession", session_handle=handle)
    assert code_of(raw.step, handle, fetch=["b:0"])[0] == "ABORTED"
    assert code_of(raw.master, "CloseSession",
                   session_handle=handle)[0] == "ABORTED"


@test(**PAIR)
def extensions_count_versions(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(small_graph())

    def extend(name, version):
        return raw.master("ExtendSession", session_handle=handle,
                          graph_def=graph_of(constant(name, 2.0)),
                          current_graph_version=version)

    assert extend("c", 0).new_graph_version == 1
    assert extend("d", 1).new_graph_version == 2
    code, text = code_of(extend, "e", 0)
    assert code == "ABORTED"
    assert "Current version is 2 but caller expected 0." in text
    code, text = code_of(extend, "c", 2)
    assert code == "INVALID_ARGUMENT"
    assert "includes node 'c', which was created by a previous call" in text
    assert extend("e", 2).new_graph_version == 3
    assert len(raw.step(handle, fetch=["c:0", "e:0", "b:0"]).tensor) == 3


@test(**PAIR)
def list_devices_without_a_session_tells_own_from_others(cluster):
    reply = Raw(cluster["worker", 1].address).master("ListDevices")
    own = [d.name for d in reply.local_device]
    others = sorted(d.name for d in reply.remote_device)
    name = "/job:%s/replica:0/task:%d/device:CPU:0"
    assert own == [name % ("worker", 1)], own
    assert others == [name % ("ps", 0), name % ("worker", 0)], others


@test(**PAIR)
def garbage_is_answered_and_forgotten(cluster):
    raw = Raw(cluster["worker", 0].address)
    for method in ("CreateSession", "RunStep", "ExtendSession"):
        path = "/tensorflow.MasterService/" + method
        for body in (b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x05"):
            got = code_of(raw.bytes, path, body)
            assert got == ("INTERNAL", "Unable to parse request"), got
    assert raw.step(raw.create(small_graph()), fetch=["b:0"])


@test(**PAIR)
def unknown_methods_are_unimplemented(cluster):
    raw = Raw(cluster["ps", 0].address)
    for path in ("/tensorflow.MasterService/Nope", "/no.such.Service/Call",
                 "/tensorflow.WorkerService/Nope", "/plain",
                 "/tensorflow.ProfilerService/Nope"):
        assert code_of(raw.bytes, path)[0] == "UNIMPLEMENTED", path


@test(tfd_only=True, **PAIR)
def what_comes_later_is_unimplemented_by_name(cluster):
    raw = Raw(cluster["ps", 0].address)
    path = "/tensorflow.WorkerService/Tracing"
    assert code_of(raw.bytes, path)[0] == "UNIMPLEMENTED", path


@test(**PAIR)
def a_cancelled_call_ends_its_step(cluster):
    """The caller goes away; the session answers on, and closes at once."""
    raw = Raw(cluster["worker", 0].address)
    tf.disable_control_flow_v2()
    with graph() as built:
        loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])
        tf.constant(1.0, name="a")
    handle = raw.create(built.as_graph_def())
    request = message("RunStepRequest", session_handle=handle,
                      fetch=[loop.name]).SerializeToString()
    call = raw.future("/tensorflow.MasterService/RunStep", request)
    assert len(raw.step(handle, fetch=["a:0"]).tensor) == 1
    call.cancel()
    try:
        call.result()
        raise AssertionError("the endless step ended")
    except grpc.FutureCancelledError:
        pass
    assert len(raw.step(handle, fetch=["a:0"]).tensor) == 1
    raw.master("CloseSession", session_handle=handle)
