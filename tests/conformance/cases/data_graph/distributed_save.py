"""Cases of kernels/data_graph/distributed_save.c.

What waits for a dispatcher is in tests/cluster/graphs/test_distributed_save.py:
TensorFlow's kernel cannot be cancelled."""
import os

from tests.cluster.client import tf
from tests.cluster.data_service import Service, elements_of, save
from tests.conformance.cases.data.pipelines import data, numbers, plain
from tests.conformance.scenarios import attempt, fresh_graph, told
from tests.conformance.table import scenario

MAKERS = {
    "numbers": lambda: numbers(5),
    "squares": lambda: numbers(9).map(lambda x: x * x),
    "nested": lambda: data.from_tensor_slices({"a": [1, 2], "b": ["x", "y"]}),
    "captured": lambda: numbers(4).map(
        lambda x, by=tf.constant(3, tf.int64): x * by),
    "none": lambda: numbers(0),
}


@scenario("DistributedSave")
@fresh_graph
def datasets_saved_by_a_service(side):
    found = {}
    with Service() as service, side.session() as session:
        for name, make in MAKERS.items():
            path = side.path(name)
            session.run(save(plain(make()), path, service.address))
            found[name] = " ".join(sorted(map(str, elements_of(path))))
        found["again"] = told(session, save(
            numbers(5), side.path("numbers"), service.address)).replace(
                side.folder, "FOLDER")
    return found


@scenario("DistributedSave")
@fresh_graph
def datasets_that_no_service_saves(side):
    found = {}
    path = side.path("x")
    with Service() as service, side.session() as session:
        for name, args in {
                "no directory": (numbers(2), "", service.address),
                "directories": (numbers(2), [path], service.address),
                "no address": (numbers(2), path, ""),
                "addresses": (numbers(2), path, [service.address]),
                "infinite": (numbers(2).repeat(), path, service.address),
                "not to be made": (numbers(2), "/proc/x/y", service.address),
        }.items():
            found[name] = told(session, save(*args)).replace(
                side.folder, "FOLDER")
        for number, damaged in enumerate((b"\x0f", b"\x0a\x05a")):
            found["metadata %d" % number] = attempt(session, save(
                numbers(2), path, service.address, damaged))
        found["nothing"] = os.path.exists(path)
    return found
