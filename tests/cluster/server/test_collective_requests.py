"""Requests for collectives as no member makes them: wrong, missing, huge."""
import grpc

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster
from tests.cluster.raw import Raw, code_of
from tests.cluster.suite import test

DEVICE = "/job:worker/replica:0/task:%d/device:CPU:0"


def attributes(task, incarnation=7, name=None):
    from tensorflow.core.framework import device_attributes_pb2
    return device_attributes_pb2.DeviceAttributes(
        name=DEVICE % task if name is None else name, device_type="CPU",
        incarnation=incarnation)


class Members:
    """Tasks that join groups of a worker, which leads them."""

    def __init__(self, cluster):
        self.raw = Raw(cluster["worker", 0].address)

    def group(self, key, size, task, **fields):
        return self.raw.call("WorkerService", "CompleteGroup", group_key=key,
                             group_size=size, device_type="CPU",
                             device_attributes=attributes(task, **fields))

    def later(self, method, **fields):
        """A call that waits."""
        request = self.raw.messages(method + "Request", **fields)
        return self.raw.future("/tensorflow.WorkerService/" + method,
                               request.SerializeToString(), 30)

    def joining(self, key, size, task):
        return self.later("CompleteGroup", group_key=key, group_size=size,
                          device_attributes=attributes(task))

    def instance(self, **fields):
        return self.raw.call("WorkerService", "CompleteInstance", type=1,
                             **fields)

    def buf(self, **fields):
        return self.raw.call("WorkerService", "RecvBuf", **fields)

    def code(self, call, *args, **fields):
        """The status' name; None: there is an answer."""
        try:
            call(*args, **fields)
        except grpc.RpcError as error:
            return error.code().name
        return None


@test(limit=60, tfd_only=True)
def groups_of_many_kinds(server):
    with Cluster(server, worker=1) as cluster:
        m = Members(cluster)
        waits = [m.joining(5, 12, i) for i in range(10, -1, -1)]
        whole = m.group(5, 12, 11)
        names = [d.name for d in whole.device_attributes]
        assert names == [DEVICE % i for i in range(12)], names
        assert whole.num_tasks == 12 and whole.group_size == 12
        for wait in waits:
            wait.result()
        assert len(m.group(5, 12, 3).device_attributes) == 12
        again = m.group(5, 12, 3, incarnation=99).device_attributes
        assert [d.incarnation for d in again] == [7] * 3 + [99] + [7] * 8
        for code, key, size, fields in (
                ("INTERNAL", 5, 11, {}),               # another size
                ("INTERNAL", 5, 12, {"name": "/job:x/replica:0/task:0"}),
                ("INTERNAL", 5, 12, {"name": ""}),
                ("INVALID_ARGUMENT", 6, 0, {}),
                ("INVALID_ARGUMENT", 6, -1, {}),
                ("INVALID_ARGUMENT", 6, 2 ** 31 - 1, {})):
            got = m.code(m.group, key, size, 0, **fields)
            assert got == code, (code, got, key, size, fields)
        assert m.code(m.raw.call, "WorkerService", "CompleteGroup",
                      group_key=5, group_size=12) == "INTERNAL"


@test(limit=60, tfd_only=True)
def more_groups_than_there_may_be(server):
    with Cluster(server, worker=1) as cluster:
        m = Members(cluster)
        wait = m.joining(5000, 2, 0)
        codes = [m.code(m.group, key, 1, 0) for key in range(1, 2100)]
        assert codes == [None] * 2099, codes
        # Forgotten ones begin anew; one that somebody waits for is there.
        assert m.group(1, 1, 0).num_tasks == 1
        assert m.code(m.group, 2099, 2, 0) == "INTERNAL"
        m.group(5000, 2, 1)
        wait.result()


@test(limit=60, tfd_only=True)
def sources_of_broadcasts(server):
    with Cluster(server, worker=1) as cluster:
        m = Members(cluster)
        wait = m.joining(5, 2, 0)
        m.group(5, 2, 1)
        wait.result()
        fields = dict(group_key=5, group_size=2, instance_key=8)
        asked = m.later("CompleteInstance", type=1, device=DEVICE % 0, **fields)
        assert m.instance(device=DEVICE % 1, is_source=True,
                          **fields).source_rank == 1
        asked.result()
        for code, change in (
                ("INTERNAL", dict(device=DEVICE % 0, is_source=True)),
                ("INTERNAL", dict(device=DEVICE % 2)),
                ("INTERNAL", dict(device="")),
                ("FAILED_PRECONDITION", dict(device=DEVICE % 0, group_key=6))):
            got = m.code(m.instance, **dict(fields, **change))
            assert got == code, (code, got, change)
        reply = m.raw.call("WorkerService", "CompleteInstance", type=0,
                           device=DEVICE % 0, **fields)
        assert reply.source_rank == -1, "only a broadcast has a source"


@test(limit=60, tfd_only=True)
def values_that_nobody_has(server):
    with Cluster(server, worker=1) as cluster:
        m = Members(cluster)
        local = tf.Session(cluster.target()).list_devices()
        incarnation = next(d.incarnation for d in local
                           if d.device_type == "CPU")
        signed = incarnation - 2 ** 64 if incarnation >= 2 ** 63 else incarnation
        fields = dict(step_id=9, buf_rendezvous_key="1:2:0:0:0:0:1",
                      src_device=DEVICE % 0, src_incarnation=signed)
        for code, change in (
                ("INVALID_ARGUMENT", dict(src_device=DEVICE[:-1] % 0 + "9")),
                ("INVALID_ARGUMENT", dict(src_device="")),
                ("FAILED_PRECONDITION", dict(src_incarnation=signed ^ 1)),
                ("FAILED_PRECONDITION", dict(src_incarnation=0))):
            got = m.code(m.buf, **dict(fields, **change))
            assert got == code, (code, got, change)
        first = m.later("RecvBuf", **fields)
        huge = m.later("RecvBuf", **dict(fields, buf_rendezvous_key="x" * 10 ** 6))
        # The first is there once the second one of the same key is refused.
        while True:
            second = m.later("RecvBuf", **fields)
            done = [w for w in (first, second) if w.done()]
            if not done:
                try:
                    second.result(0.2)
                except grpc.FutureTimeoutError:
                    pass
                except grpc.RpcError:
                    done = [second]
            second.cancel()
            if done:
                assert done[0].code() == grpc.StatusCode.INTERNAL
                break
        first.cancel()
        huge.cancel()
        for text in (b"\xff", b"\x0a", b"\x10\xff\xff\xff\xff\xff\xff\xff\xff"
                     b"\xff\xff\x01"):
            for method in ("CompleteGroup", "CompleteInstance", "RecvBuf"):
                got = code_of(m.raw.bytes,
                              "/tensorflow.WorkerService/" + method, text)
                assert got[0] == "INTERNAL", (method, text, got)


@test(limit=60, tfd_only=True)
def callers_that_leave(server):
    """They wait for a group and a value, and are gone; others are served."""
    with Cluster(server, worker=1) as cluster:
        for _ in range(20):
            m = Members(cluster)
            waits = [m.joining(5, 3, 1), m.joining(5, 3, 2)]
            for wait in waits:
                wait.cancel()
            m.raw.channel.close()
        m = Members(cluster)
        waits = [m.joining(5, 3, 1), m.joining(5, 3, 2)]
        assert m.group(5, 3, 0).num_tasks == 3
        for wait in waits:
            wait.result()
