"""Graphs that take long to build are nobody else's business.

Every test counts what others get done meanwhile, never how long it takes: a
server whose loop waits for the build answers one or two of them."""
import functools

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.raw import Raw, code_of, constant, graph_of, message, node
from tests.cluster.suite import test
from tests.cluster.watch import metric

PAIR = dict(ps=1, worker=1)
LIMIT = 120
NODES = 120_000
MEANWHILE = 20
SOON = 30
PATH = "/tensorflow.MasterService/"
CALLS = 'tfd_rpc_requests_total{method="tensorflow.MasterService/%s"}'


@functools.lru_cache(None)
def wide(name):
    """NODES nodes that read one, on both tasks in turn."""
    graph = graph_of(constant(name, 1.0))
    like = [node("x", "Neg", [name], "/job:%s" % job, T=tf.float32)
            for job in ("ps", "worker")]
    for i in range(NODES):
        graph.node.add().CopyFrom(like[i % 2])
        graph.node[-1].name = "%s%d" % (name, i)
    return graph


def doubling(depth):
    """y = F0(x), in which each of the functions calls the next one twice."""
    graph = graph_of(constant("x", 1.0), node("y", "F0", ["x"]))
    for i in range(depth):
        f = graph.library.function.add()
        f.signature.name = "F%d" % i
        f.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
        f.signature.output_arg.add(name="z", type=tf.float32.as_datatype_enum)
        f.node_def.add(name="a", op="F%d" % (i + 1), input=["x"])
        f.node_def.add(name="b", op="F%d" % (i + 1), input=["a:z:0"])
        f.ret["z"] = "b:z:0"
    f = graph.library.function.add()
    f.CopyFrom(graph.library.function[-2])
    f.signature.name = "F%d" % depth
    del f.node_def[:]
    f.node_def.add().CopyFrom(node("b", "Identity", ["x"], T=tf.float32))
    f.ret["z"] = "b:output:0"
    return graph


class Others:
    """A client with a session of its own."""

    def __init__(self, cluster):
        self.task = cluster["worker", 0]
        self.raw = Raw(self.task.address)
        self.session = self.raw.create(graph_of(
            constant("one", 1.0), node("n", "Neg", ["one"], T=tf.float32)))

    def during(self, future):
        """The reply; counts the steps that others have done before it."""
        done = 0
        while not future.done():
            reply = self.raw.step(self.session, fetch=["n:0"], timeout=LIMIT)
            assert tf.make_ndarray(reply.tensor[0].tensor) == -1.0
            if done % 10 == 0:
                assert wire.get(self.task.port, "/healthz")[0] == 200
            done += not future.done()
        assert done >= MEANWHILE, "%d steps" % done
        return future.result()


def send(raw, method, **fields):
    return raw.future(PATH + method, message(
        method + "Request", **fields).SerializeToString(), LIMIT)


def created(reply):
    return message("CreateSessionResponse").FromString(reply).session_handle


def calls(task, method):
    """How many of them have come; a call that is not whole yet has not."""
    return metric(task, CALLS % method)


@test(limit=LIMIT, tfd_only=True, **PAIR)
def others_go_on_while_a_large_graph_is_built(cluster):
    others, raw = Others(cluster), Raw(cluster["worker", 0].address)
    session = created(others.during(
        send(raw, "CreateSession", graph_def=wide("a"))))
    others.during(send(raw, "ExtendSession", session_handle=session,
                       graph_def=wide("b")))
    targets = ["b%d" % i for i in range(0, NODES, 2)]
    others.during(send(raw, "RunStep", session_handle=session,
                       target=targets))
    raw.master("CloseSession", session_handle=session, timeout=LIMIT)


@test(limit=LIMIT, tfd_only=True, **PAIR)
def others_go_on_while_functions_are_expanded(cluster):
    others, raw = Others(cluster), Raw(cluster["worker", 0].address)
    session = created(others.during(
        send(raw, "CreateSession", graph_def=doubling(13))))
    reply = raw.step(session, fetch=["y:0"], timeout=LIMIT)
    assert tf.make_ndarray(reply.tensor[0].tensor) == 1.0
    raw.master("CloseSession", session_handle=session, timeout=LIMIT)


@test(limit=LIMIT, **PAIR)
def a_step_sees_the_extension_that_was_sent_before_it(cluster):
    """Without waiting for its answer; steps of known plans need not wait."""
    raw = Raw(cluster["worker", 0].address)
    session = raw.create(graph_of(constant("one", 1.0)))
    raw.step(session, fetch=["one:0"])
    assert code_of(raw.step, session, fetch=["a7:0"])[0] == "NOT_FOUND"
    extension = send(raw, "ExtendSession", session_handle=session,
                     graph_def=wide("a"))
    again = send(raw, "ExtendSession", session_handle=session,
                 graph_def=graph_of(node("last", "Neg", ["a8"],
                                         T=tf.float32)),
                 current_graph_version=1)
    steps = [send(raw, "RunStep", session_handle=session, fetch=[fetch])
             for fetch in ("a7:0", "one:0", "last:0")]
    extension.result()
    again.result()
    got = [message("RunStepResponse").FromString(s.result()) for s in steps]
    assert [tf.make_ndarray(r.tensor[0].tensor) for r in got] == [
        -1.0, 1.0, 1.0]
    stale = send(raw, "ExtendSession", session_handle=session,
                 graph_def=graph_of(), current_graph_version=1)
    assert code_of(stale.result) == (
        "ABORTED", "Current version is 2 but caller expected 1.")
    raw.master("CloseSession", session_handle=session, timeout=LIMIT)


@test(limit=LIMIT, tfd_only=True, **PAIR)
def a_client_that_leaves_takes_its_build_with_it(cluster):
    task = cluster["worker", 0]
    others, raw = Others(cluster), Raw(task.address)
    session = raw.create(graph_of(constant("one", 1.0)))
    before = metric(task, "tfd_sessions")
    for method, fields in (
            ("CreateSession", dict(graph_def=wide("a"))),
            ("CreateSession", dict(graph_def=doubling(15))),
            ("ExtendSession", dict(session_handle=session,
                                   graph_def=wide("a")))):
        leaving, came = Raw(task.address), calls(task, method)
        future = send(leaving, method, **fields)
        wait_until(lambda: calls(task, method) > came, SOON, method)
        others.raw.step(others.session, fetch=["n:0"], timeout=LIMIT)
        leaving.channel.close()
        assert code_of(future.result)[0] == "CANCELLED"
    got = raw.step(session, fetch=["one:0"], timeout=LIMIT)
    assert tf.make_ndarray(got.tensor[0].tensor) == 1.0
    wait_until(lambda: "session_not_opened" in task.log_text()
               and metric(task, "tfd_sessions") == before, SOON, "their end")
    raw.master("CloseSession", session_handle=session, timeout=LIMIT)


@test(limit=LIMIT, tfd_only=True)
def a_server_stops_while_it_builds(server):
    with Cluster(server, worker=1) as cluster:
        raw = Raw(cluster["worker", 0].address)
        session = raw.create(graph_of(constant("one", 1.0)))
        graphs = [doubling(13), wide("a")]
        for graph in graphs:
            send(raw, "CreateSession", graph_def=graph)
        send(raw, "ExtendSession", session_handle=session,
             graph_def=graph_of(*[node("n%d" % i, "Neg", ["one"],
                                       T=tf.float32) for i in range(20000)]))
        raw.step(session, fetch=["one:0"], timeout=LIMIT)


def chain(count, jobs, together):
    """-(-(...1.0)), of which `together` nodes in a row are on one task."""
    graph = graph_of(constant("x", 1.0))
    for i in range(count):
        job = jobs[i // together % len(jobs)]
        graph.node.add().CopyFrom(node(
            "n%d" % i, "Neg", ["n%d" % (i - 1) if i else "x"], "/job:" + job,
            T=tf.float32))
    return graph


@test(limit=LIMIT, tfd_only=True, **PAIR)
def chains_of_a_hundred_thousand_nodes_run(cluster):
    """They end a real server: its passes go down a chain by calls."""
    raw, count = Raw(cluster["worker", 0].address), 100_000
    for jobs, together in ((("worker",), 1), (("ps",), 1),
                           (("worker", "ps"), 10)):
        session = raw.create(chain(count, jobs, together), timeout=LIMIT)
        for last, want in (count - 1, 1.0), (count - 2, -1.0):
            answer = raw.step(session, fetch=["n%d:0" % last], timeout=LIMIT)
            assert tf.make_ndarray(answer.tensor[0].tensor) == want, jobs
