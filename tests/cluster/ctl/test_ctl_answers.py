"""Answers in gRPC that are whole and wrong, and clocks that are not ours."""
import contextlib
import json
import tempfile
import time
from concurrent import futures

import grpc

from tests.cluster.client import graph, np, tf
from tests.cluster.ctl.ctl import DONE, REFUSED, bad, call, document
from tests.cluster.raw import message
from tests.cluster.suite import test

CREATED = message(
    "CreateSessionResponse", session_handle="s", graph_version=1).SerializeToString()
CLOSED = message("CloseSessionResponse").SerializeToString()


@contextlib.contextmanager
def answering(**answers):
    """A server whose methods answer bytes, or what a function makes of the
    request; others are not implemented."""
    class Any(grpc.GenericRpcHandler):
        def service(self, details):
            answer = answers.get(details.method.rpartition("/")[2])
            if answer is None:
                return None
            return grpc.unary_unary_rpc_method_handler(
                lambda request, _: answer(request) if callable(answer)
                else answer)

    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Any(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield "--target=127.0.0.1:%d" % port
    finally:
        server.stop(None)


def session(run_step):
    return answering(CreateSession=CREATED, CloseSession=CLOSED,
                     RunStep=run_step, GetStatus=b"")


def written_graph(folder):
    with graph() as g:
        tf.identity(tf.placeholder(tf.float32, [2], name="x"), name="y")
        np.save(folder + "/x.npy", np.ones(2, np.float32))
        return tf.io.write_graph(g, folder, "g.pb", False)


def tensor(name, array):
    response = message("RunStepResponse")
    named = response.tensor.add()
    named.name = name
    named.tensor.CopyFrom(tf.make_tensor_proto(array))
    return response


def broken(array, change):
    response = tensor("y:0", array)
    change(response.tensor[0].tensor)
    return response.SerializeToString()


def huge(proto):
    proto.tensor_shape.dim[0].size = 2**50
    proto.float_val.append(1)
    proto.tensor_content = b""


def negative(proto):
    proto.tensor_shape.dim[0].size = -5


def unknown_type(proto):
    proto.dtype = 99


def short(proto):
    proto.tensor_content = b"123"


ONE = np.ones(4, np.float32)
# Answers to a RunStep that asks for y:0.
STEPS = [
    b"", b"\xff" * 20, tensor("z:0", ONE).SerializeToString(),
    (tensor("y:0", ONE).SerializeToString()
     + tensor("y:0", ONE).SerializeToString()),
    broken(ONE, huge), broken(ONE, negative), broken(ONE, unknown_type),
    broken(ONE, short),
    tensor("y:0", ONE).SerializeToString()[:-3],
    message(
        "RunStepResponse", status_code=3,
        status_error_message="\x1b[2Jno\r\nyes").SerializeToString(),
]


@test(limit=60)
def a_step_with_a_wrong_answer_is_refused(_):
    with tempfile.TemporaryDirectory() as folder:
        path, wrong = written_graph(folder), []
        for i, answer in enumerate(STEPS):
            with session(answer) as target:
                code, said, complained = call(
                    "run", path, target, "--fetch=y",
                    "--feed=x=%s/x.npy" % folder)
                if code != REFUSED or said or "\x1b" in complained:
                    wrong.append((i, code, said, complained))
        assert not wrong, wrong
        with session(tensor("y:0", ONE).SerializeToString()) as target:
            assert document("run", path, target, "--fetch=y")[
                "fetches"][0]["values"] == [1, 1, 1, 1]
        with answering(GetStatus=b"", CreateSession=b"\xff\xff") as target:
            bad(REFUSED, ["CreateSession"], "run", path, target, "--fetch=y")
        with answering(GetStatus=b"") as target:
            bad(REFUSED, ["127.0.0.1"], "run", path, target, "--fetch=y")


@test(limit=60)
def devices_are_shown_whatever_they_are_called(_):
    def device(**fields):
        d = message("GetStatusResponse")
        d.device_attributes.add(**fields)
        return d.SerializeToString()

    odd = (device(name="\x1b[2Ja\r\nb", device_type="\u00fc" * 300,
                  memory_limit=-2**63, incarnation=2**64 - 1)
           + device() + device(name="x" * 100000))
    with answering(ListDevices=odd) as target:
        found = document("devices", target)["devices"]
        assert [d["name"] for d in found] == ["\x1b[2Ja\r\nb", "",
                                              "x" * 100000]
        assert found[0]["incarnation"] == "f" * 16
        assert found[0]["memory_bytes"] == -2**63
        code, said, _ = call("devices", target)
        assert code == DONE and len(said.splitlines()) == 4, said[:500]
        assert not set(said) & set("\x1b\r"), said[:500]
    # A name that is no UTF-8.
    raw = b"\x0a\x08\x0a\x06/a\xff\xfe/b"
    with answering(ListDevices=raw) as target:
        assert document("devices", target)["devices"][0]["name"] == (
            "/a\\xff\\xfe/b")
    for answer in b"\xff", b"\x0a\x7fx", b"\x0a\x02\x0a\x7f", b"\x08\x01":
        with answering(ListDevices=answer, GetStatus=answer) as target:
            bad(REFUSED, ["127.0.0.1"], "devices", target)
    with answering(ListDevices=device() * 100001, GetStatus=b"") as target:
        code, said, complained = call("devices", target, "--json")
        assert code == DONE and "100000" in complained, complained
        assert json.loads(said)["devices"] == []


def stats(events):
    """The answer of a step: (device, node, start in us, duration)."""
    response = tensor("y:0", ONE)
    devices = {}
    for name, node, start, duration in events:
        device = devices.get(name)
        if device is None:
            device = devices[name] = (
                response.metadata.step_stats.dev_stats.add(device=name))
        device.node_stats.add(node_name=node, all_start_micros=start,
                              all_end_rel_micros=duration)
    return response.SerializeToString()


A = "/job:ps/replica:0/task:0/device:CPU:0"
B = "/job:worker/replica:0/task:0/device:CPU:0"
B2 = "/job:worker/replica:0/task:0/device:GPU:0"


def traced(folder, run_step, steps=1):
    with session(run_step) as target:
        document("trace", written_graph(folder), target, "--fetch=y",
                 "--steps=%d" % steps, "--out=%s/out.json" % folder)
    with open(folder + "/out.json") as f:
        found = json.load(f)
    names = {e["pid"]: e["args"]["name"] for e in found["traceEvents"]
             if e["ph"] == "M"}
    return found["otherData"]["clock_shift_us"], [
        dict(e, device=names[e["pid"]]) for e in found["traceEvents"]
        if e["ph"] == "X"]


@test(limit=60)
def clocks_that_are_elsewhere_are_brought_here(_):
    hour = 3600 * 10**6
    asked = []

    def run_step(_):
        now = int(time.time() * 1e6)
        asked.append(now)
        # What is longer could end after the step, which takes no 100 us.
        return stats([(A, "here", now, 1), (B, "ahead", now + hour, 50),
                      (B2, "ahead too", now + hour + 20, 70)])

    with tempfile.TemporaryDirectory() as folder:
        shifts, events = traced(folder, run_step, steps=5)
        assert shifts[A.partition("/device")[0]] == 0, shifts
        shift = shifts[B.partition("/device")[0]]
        assert abs(shift + hour) < 1e6 and len(shifts) == 2, shifts
        assert len(events) == 15
        for e in events:
            begin = asked[e["args"]["step"]]
            assert abs(e["ts"] - begin) < 1e6, (e, begin)
        # What ran on two devices of a task stays as far apart as it was.
        by_name = {e["name"]: e["ts"] for e in events
                   if e["args"]["step"] == 2}
        assert by_name["ahead too"] - by_name["ahead"] == 20


@test(limit=60)
def times_that_no_clock_shows_are_left_out(_):
    now = int(time.time() * 1e6)
    odd = [(A, "good", now, 5), (A, "before all", -5, 5),
           (A, "never", 0, 5), (A, "end of time", 2**63 - 1, 5),
           (A, "backwards", now, -5), (A, "for ever", now, 2**63 - 1),
           ("", "nowhere", now, 1), ("x" * 5000, "far", now, 1),
           (A, "n\x1b\x00", now, 1)]
    with tempfile.TemporaryDirectory() as folder:
        _, events = traced(folder, stats(odd))
        # A name ends at its first zero byte, as in C.
        assert sorted(e["name"] for e in events) == [
            "far", "good", "n\x1b", "nowhere"], events
        # A thousand at once have a lane each, as far as there are lanes.
        _, events = traced(folder, stats(
            [(A, "n%d" % i, now, 100) for i in range(1000)]))
        assert len({e["tid"] for e in events}) == 256
        for answer in (tensor("y:0", ONE).SerializeToString(),
                       stats([("dev%d" % i, "n", now, 1)
                              for i in range(300)])):
            traced(folder, answer)
        with session(stats([("dev%d" % i, "n", now, 1)
                            for i in range(4097)])) as target:
            bad(REFUSED, ["4096"], "trace", written_graph(folder), target,
                "--fetch=y", "--out=%s/out.json" % folder)
