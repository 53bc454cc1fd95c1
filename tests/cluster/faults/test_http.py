"""What operators ask on the same port: health, readiness, metrics."""
import re

from tests.cluster.client import graph, run, tf
from tests.cluster.faults import wire
from tests.cluster.raw import Raw, code_of, message
from tests.cluster.suite import test

ONE = dict(tfd_only=True, worker=1)
HEALTH = "/grpc.health.v1.Health/Check"
# A sample of the Prometheus text format.
SAMPLE = re.compile(r'[a-z_][a-z0-9_]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*,?'
                    r'\})? [-+]?([0-9.]+(e[-+]?[0-9]+)?|Inf|NaN)$')


def port_of(cluster):
    return cluster["worker", 0].port


@test(**ONE)
def health_and_readiness_are_ok(cluster):
    for path in ("/healthz", "/readyz"):
        status, _, body = wire.get(port_of(cluster), path)
        assert status == 200, (path, status, body)


@test(**ONE)
def metrics_are_in_prometheus_format(cluster):
    with graph():
        run(cluster.target(), tf.constant(1.0))
    status, headers, body = wire.get(port_of(cluster), "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    samples = [line for line in body.decode().splitlines()
               if line and not line.startswith("#")]
    wrong = [line for line in samples if not SAMPLE.match(line)]
    assert not wrong, wrong[:5]
    assert any(line.startswith("tfd_") for line in samples), samples[:5]


@test(**ONE)
def connections_ended_for_being_late_are_counted(cluster):
    name = "tfd_intake_late_total"
    lines = wire.get(port_of(cluster), "/metrics")[2].decode().splitlines()
    own = [line for line in lines if name in line]
    assert len(own) == 3, own
    assert own[0].startswith("# HELP %s connections " % name), own
    assert own[1:] == ["# TYPE %s counter" % name, name + " 0"], own


@test(**ONE)
def metrics_count_calls(cluster):
    def count():
        body = wire.get(port_of(cluster), "/metrics")[2].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in body.splitlines()
                   if line.startswith("tfd_") and "RunStep" in line
                   and "_bucket" not in line and "_seconds" not in line)

    before = count()
    with graph(), tf.Session(cluster.target()) as session:
        one = tf.constant(1)
        for _ in range(10):
            session.run(one)
    assert count() >= before + 10, (before, count())


@test(**ONE)
def other_paths_and_methods_are_refused(cluster):
    port = port_of(cluster)
    assert wire.get(port, "/no/such/page")[0] == 404
    assert wire.get(port, "/../../etc/hosts")[0] in (400, 404)
    status, headers, body = wire.http(
        port, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert status == 200
    assert int(headers.get("content-length", len(body))) == len(body)


@test(limit=40, **ONE)
def heads_that_are_too_long_are_refused(cluster):
    for head in (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 10000,
                 b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n"):
        link = wire.connect(port_of(cluster))
        try:
            link.sendall(head)
        except ConnectionError:
            pass
        received = wire.read_to_end(link, 15)
        assert received is not None
        assert not received or 400 <= wire.parse_http(received)[0] < 500
        link.close()
    assert wire.get(port_of(cluster), "/healthz")[0] == 200


@test(**ONE)
def health_over_grpc(cluster):
    raw = Raw(cluster["worker", 0].address)
    for name in ("", "tensorflow.MasterService", "tensorflow.WorkerService"):
        request = message("HealthCheckRequest", service=name)
        reply = message("HealthCheckResponse").FromString(
            raw.bytes(HEALTH, request.SerializeToString()))
        assert reply.status == 1, (name, reply)  # SERVING
    request = message("HealthCheckRequest", service="no.such.Service")
    assert code_of(raw.bytes, HEALTH,
                   request.SerializeToString())[0] == "NOT_FOUND"
