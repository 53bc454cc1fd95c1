"""Tasks of a TensorFlow 2 program that are killed, as its coordinator sees
it."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

from tests.cluster import nursery
from tests.cluster.cluster import Cluster
from tests.cluster.ports import free_ports
from tests.cluster.suite import test

ROOT = pathlib.Path(__file__).parents[3]


class Coordinator:
    """A process that says what it has come to, and is told to go on."""

    def __init__(self, cluster, mode):
        spec = dict(cluster.spec, chief=["127.0.0.1:%d" % free_ports(1)[0]])
        config = {"cluster": spec, "task": {"type": "chief", "index": 0}}
        self.process = nursery.start(
            [sys.executable, "-m", "tests.cluster.eager.coordinator_client",
             mode], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=dict(os.environ, TF_CONFIG=json.dumps(config)))

    def says(self, word):
        said = self.process.stdout.readline().strip()
        assert said == word, (said, self.process.stdout.read())

    def hears(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def program(server, mode, flags=(), **jobs):
    """A cluster, and a coordinator whose steps run there."""
    with Cluster(server, flags, **jobs) as cluster:
        coordinator = Coordinator(cluster, mode)
        try:
            coordinator.says("running")
            yield cluster, coordinator
        finally:
            coordinator.process.kill()
            coordinator.process.wait()


@test(limit=120)
def a_worker_that_dies_is_replaced(server):
    with program(server, "worker_dies", ps=2, worker=2) as (cluster, chief):
        cluster["worker", 1].kill()
        chief.hears("killed")
        chief.says("survived")
        cluster.start("worker", 1)
        chief.hears("back")
        chief.says("ok")


@test(limit=120)
def a_ps_that_dies_is_named(server):
    with program(server, "ps_dies", ps=2, worker=2) as (cluster, chief):
        cluster["ps", 0].kill()
        chief.hears("killed")
        chief.says("ok")


@test(limit=120)
def a_ps_that_dies_amid_a_step_is_named(server):
    with program(server, "mid_step", ps=2, worker=2) as (cluster, chief):
        cluster["ps", 0].kill()
        chief.says("ok")


@test(limit=120)
def a_ps_that_comes_back_is_a_stranger(server):
    with program(server, "ps_dies", ps=2, worker=2) as (cluster, chief):
        cluster["ps", 0].kill()
        cluster.start("ps", 0)
        chief.hears("killed")
        chief.says("ok")


@test(limit=120, tfd_only=True)
def what_an_op_cancels_is_an_error(server):
    """A coordinator runs a function that was CANCELLED again, for ever."""
    with program(server, "closed_queue", ps=1, worker=2) as (_, chief):
        chief.says("ok")
