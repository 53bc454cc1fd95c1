"""Trainers that are processes of their own, against clusters of every kind."""
import os
import re
import subprocess
import sys

from tests.cluster.client import tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.runner import die_with_parent
from tests.cluster.suite import test

TRAINER = os.path.join(os.path.dirname(__file__), "programs", "trainer.py")


def start_trainer(cluster, index, folder, options):
    command = [sys.executable, TRAINER, "--job_name=worker",
               "--task_index=%d" % index, "--checkpoint_dir=" + folder,
               "--ps_hosts=" + ",".join(cluster.spec["ps"]),
               "--worker_hosts=" + ",".join(cluster.spec["worker"])]
    return subprocess.Popen(command + list(options), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            preexec_fn=die_with_parent)


def finish(trainers, seconds):
    """The last step and loss of each that made one."""
    results = []
    for trainer in trainers:
        text = trainer.communicate(timeout=seconds)[0]
        assert trainer.returncode == 0, text
        # Threads that the end has taken by surprise may say so beside it.
        results += re.findall(r"last step (\d+) loss (\S+)", text)
    assert results, "no trainer made a step"
    return [(int(step), float(loss)) for step, loss in results]


def chief_has_saved(folder):
    return os.path.exists(folder + "/checkpoint")


def own_servers(server, *options, **jobs):
    """Two processes train, each with its own tf.train.Server; the ps is the
    tested server."""
    with Cluster(server, start=False, worker=2, **jobs) as cluster:
        for index in range(jobs["ps"]):
            cluster.start("ps", index)
        folder = cluster.folder.name + "/checkpoints"
        trainers = [start_trainer(cluster, 0, folder, options)]
        if "--sync=2" in options:
            # The chief cannot train alone, and the other would wait half a
            # minute for variables that are not there when it asks.
            wait_until(lambda: chief_has_saved(folder), 60 * server.slow,
                       "the chief's first checkpoint")
        trainers.append(start_trainer(cluster, 1, folder, options))
        check(finish(trainers, 100), folder)


def given_servers(server, real, *options):
    """Two processes train on servers that run already; of these `real` are
    TensorFlow's."""
    others = {key: tensorflow_server(server.slow) for key in real}
    with Cluster(server, others=others, ps=1, worker=2) as cluster:
        folder = cluster.folder.name + "/checkpoints"
        trainers = [
            start_trainer(cluster, i, folder, options + (
                "--target=" + cluster.target("worker", i),))
            for i in range(2)]
        check(finish(trainers, 100), folder)


def check(results, folder, steps=400):
    # What a step reads is what the other may not have counted yet.
    assert max(step for step, _ in results) >= steps - 2, results
    assert min(loss for _, loss in results) < 0.3, results
    saved = tf.train.latest_checkpoint(folder)
    assert saved, os.listdir(folder)
    values = tf.train.load_checkpoint(saved)
    assert values.get_tensor("global_step") >= steps
    w = values.get_tensor("w")
    assert (w[:, 1] > w[:, 0]).all(), w


@test(limit=150)
def two_processes_with_servers_of_their_own(server):
    own_servers(server, ps=1)


@test(limit=150)
def two_processes_with_servers_of_their_own_and_two_ps(server):
    own_servers(server, "--resource", ps=2)


@test(limit=150)
def two_processes_in_step_with_servers_of_their_own(server):
    own_servers(server, "--sync=2", ps=1)


@test(limit=150)
def two_processes_on_running_servers(server):
    given_servers(server, ())


@test(limit=150, tfd_only=True)
def two_processes_on_a_real_and_a_tfd_worker(server):
    given_servers(server, (("worker", 1),), "--resource")


@test(limit=150, tfd_only=True)
def two_processes_with_a_real_ps(server):
    given_servers(server, (("ps", 0),))
