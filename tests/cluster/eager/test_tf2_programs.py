"""Programs of TensorFlow 2 (tests/cluster/tf2) on servers of their own: each
checks its results itself, mostly against the same steps in its own process."""
import json
import os
import pathlib
import sys
import tempfile

from tests.cluster import nursery
from tests.cluster.cluster import Cluster
from tests.cluster.faults import wire
from tests.cluster.ports import free_ports
from tests.cluster.suite import Skip, test

ROOT = pathlib.Path(__file__).parents[3]
FIT = ("TensorSliceDataset", "RepeatDataset", "BatchDatasetV2",
       "AnonymousIteratorV3", "MakeIterator", "IteratorGetNext",
       "GeneratorDataset")


def missing(task, ops):
    """Those that the server does not list among its kernels."""
    if not task.server.is_tfd:
        return []
    page = wire.get(task.port, "/kernels")[2].decode()
    have = {line.split()[0] for line in page.splitlines() if line.strip()}
    return [op for op in ops if op not in have]


def plays(server, name, ps=2, data=()):
    """Runs a program; data are the ops of tf.data that it cannot do without."""
    with Cluster(server, ps=ps, worker=2) as cluster, \
            tempfile.TemporaryDirectory() as folder:
        lacking = missing(cluster["worker", 0], data)
        if lacking:
            raise Skip("wants tf.data: no %s" % ", ".join(lacking))
        spec = dict(cluster.spec, chief=["127.0.0.1:%d" % free_ports(1)[0]])
        done = nursery.ran(
            [sys.executable, ROOT / "tests" / "cluster" / "tf2" /
             (name + ".py")], env=dict(os.environ, TF2_DIR=folder, TF_CONFIG=json.dumps({
                "cluster": spec, "task": {"type": "chief", "index": 0}})))
    assert done.returncode == 0 and "ok " + name in done.stdout.splitlines(), (
        done.stdout[-4000:])


@test(limit=240)
def p01_fit_subclassed(server):
    plays(server, "p01_fit_subclassed", ps=1, data=FIT)


@test(limit=180)
def p02_two_optimizers(server):
    plays(server, "p02_two_optimizers")


@test(limit=180)
def p03_bfloat16(server):
    plays(server, "p03_bfloat16", ps=1)


@test(limit=180)
def p04_shards_by_size(server):
    plays(server, "p04_shards_by_size", ps=3)


@test(limit=240)
def p05_recurrent(server):
    plays(server, "p05_recurrent")


@test(limit=180)
def p06_retracing(server):
    plays(server, "p06_retracing")


@test(limit=240)
def p07_files(server):
    plays(server, "p07_files")


@test(limit=240)
def p08_evaluation(server):
    plays(server, "p08_evaluation")


@test(limit=240)
def p09_backup(server):
    plays(server, "p09_backup", data=FIT)


@test(limit=180)
def p10_old_checkpoint(server):
    plays(server, "p10_old_checkpoint")


@test(limit=240)
def p11_saves(server):
    plays(server, "p11_saves", data=("SaveDataset", "LoadDataset",
                                     "SnapshotDatasetV2", "CompressElement"))


@test(limit=240)
def p12_iterators(server):
    plays(server, "p12_iterators", ps=1, data=FIT)
