"""Synchronous replicas: two worker processes, on clusters of every kind."""
import functools
import subprocess
import sys

from tests.cluster import nursery, sync_worker
from tests.cluster.client import graph, np, run, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.suite import test

# Which tasks a real server runs.
MIXES = {
    "real_workers": (("worker", 0), ("worker", 1)),
    "real_ps": (("ps", 0),),
    "real_chief": (("worker", 0),),
    "real_other_worker": (("worker", 1),),
}


def descend(steps):
    """The weights after so many steps of plain gradient descent."""
    w = np.zeros([3, 1], np.float64)
    x, y = sync_worker.INPUTS.astype(np.float64), sync_worker.LABELS
    for _ in range(steps):
        w -= sync_worker.RATE * 2 / len(x) * x.T @ (x @ w - y)
    return w.ravel()


def start_worker(cluster, index, steps, kind):
    return nursery.start(
        [sys.executable, "-m", "tests.cluster.sync_worker", str(index),
         cluster.target("worker", index), str(steps), kind, "2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(worker):
    worker.stdin.write("go\n")
    worker.stdin.flush()


def check_last_words(worker, text, steps):
    words = text.split()
    assert worker.returncode == 0, "exit %d" % worker.returncode
    assert int(words[1]) <= steps, text
    np.testing.assert_allclose(np.float64(words[2:]), descend(int(words[1])),
                               atol=1e-4)


def weights(cluster, kind):
    with graph(), tf.device("/job:ps/task:0"), tf.variable_scope(
            "model", use_resource=kind == "resource"):
        w = tf.get_variable("w", [3, 1])
        return run(cluster.target(), w.read_value()).ravel()


def train_in_step(server, kind, real=(), steps=40):
    """Two workers whose gradients are the same: whichever two are averaged,
    each step is one of plain descent."""
    others = {key: tensorflow_server(server.slow) for key in real}
    with Cluster(server, others=others, ps=1, worker=2) as cluster:
        workers = [start_worker(cluster, index, steps, kind)
                   for index in range(2)]
        # The second would wait half a minute for variables of the chief's.
        for worker in workers:
            go(worker)
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            go(worker)
        for worker in workers:
            text = worker.communicate(timeout=60 * server.slow)[0]
            check_last_words(worker, text, steps)
        np.testing.assert_allclose(weights(cluster, kind), descend(steps),
                                   atol=1e-4)


@test(limit=100)
def two_processes_with_resource_variables(server):
    train_in_step(server, "resource")


@test(limit=100)
def two_processes_with_reference_variables(server):
    train_in_step(server, "ref")


def register(kind, name, real):
    body = functools.partial(train_in_step, kind=kind, real=real)
    body.__name__ = "two_processes_with_%s_variables__%s" % (kind, name)
    body.__module__ = __name__
    test(limit=100, tfd_only=True)(body)


for _name, _real in MIXES.items():
    register("ref" if "ps" in _name else "resource", _name, _real)
register("ref", "real_workers", MIXES["real_workers"])
