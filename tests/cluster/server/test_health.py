"""The standard health service, as probes and load balancers use it."""
import signal

import grpc

from tests.cluster.cluster import Cluster
from tests.cluster.raw import Raw, message
from tests.cluster.suite import test

SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3


def watch(raw, name=""):
    """The stream of a Watch."""
    request = message("HealthCheckRequest", service=name)
    return raw.channel.unary_stream("/grpc.health.v1.Health/Watch")(
        request.SerializeToString(), timeout=20)


def status(body):
    return message("HealthCheckResponse").FromString(body).status


@test(tfd_only=True)
def watchers_hear_of_the_drain(server):
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        raw = Raw(task.address)
        streams = [watch(raw, name) for name in (
            "", "tensorflow.MasterService", "tensorflow.WorkerService")]
        for stream in streams:
            assert status(next(stream)) == SERVING
        task.signal(signal.SIGTERM)
        for stream in streams:
            assert status(next(stream)) == NOT_SERVING
        assert task.exit_code() == 0
        for stream in streams:
            try:
                raise AssertionError("one more: %r" % next(stream))
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error


@test(tfd_only=True)
def watching_what_is_unknown_goes_on(server):
    with Cluster(server, worker=1) as cluster:
        raw = Raw(cluster["worker", 0].address)
        stream = watch(raw, "nothing of this name")
        assert status(next(stream)) == SERVICE_UNKNOWN
        assert status(raw.bytes("/grpc.health.v1.Health/Check")) == SERVING
        stream.cancel()
        others = [watch(raw) for _ in range(50)]
        for other in others:
            assert status(next(other)) == SERVING
