"""Trainers that are processes of their own, against clusters of every kind."""
import os
import pathlib
import re
import signal
import subprocess
import sys

from tests.cluster import nursery
from tests.cluster.client import np, tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.programs.test_programs import (PROGRAMS,
                                                 python_with_tensorflow_1)
from tests.cluster.runner import WITH_PARENT
from tests.cluster.suite import Skip, test

TRAINER = str(pathlib.Path(__file__).parents[1] / "programs" / "trainer.py")


def start_trainer(cluster, index, folder, options):
    command = [sys.executable, TRAINER, "--job_name=worker",
               "--task_index=%d" % index, "--checkpoint_dir=" + folder,
               "--ps_hosts=" + ",".join(cluster.spec["ps"]),
               "--worker_hosts=" + ",".join(cluster.spec["worker"])]
    return nursery.start(command + list(options), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(trainers, seconds):
    """The last step and loss of each that made one."""
    results = []
    for trainer in trainers:
        text = trainer.communicate(timeout=seconds)[0]
        assert trainer.returncode == 0, text
        # Threads that the end has taken by surprise may say so beside it,
        # on the same line even.
        results += re.findall(r"last step (\d+) loss (nan|-?\d+\.\d+)", text)
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


WAITS = ["--exit_when=workers-exit"]


@test(limit=100, tfd_only=True)
def a_ps_ends_with_trainers_that_have_servers_of_their_own(server):
    """One of them is killed on the way and started again."""
    with Cluster(server, start=False, ps=1, worker=2) as cluster:
        ps = cluster.start("ps", 0, flags=WAITS)
        ends_with_trainers(cluster, ps, lambda index: ())


@test(limit=100, tfd_only=True)
def a_ps_ends_with_trainers_on_workers_that_stay(server):
    """The session that the killed one has left is still open there."""
    with Cluster(server, start=False, ps=1, worker=2) as cluster:
        ps = cluster.start("ps", 0, flags=WAITS)
        for index in (0, 1):
            cluster.start("worker", index)
        ends_with_trainers(cluster, ps, lambda index: (
            "--target=" + cluster.target("worker", index),))
        assert cluster["worker", 0].alive() and cluster["worker", 1].alive()


def ends_with_trainers(cluster, ps, options):
    folder = cluster.folder.name + "/checkpoints"
    trainer = start_trainer(cluster, 0, folder,
                            options(0) + ("--steps=1000000",))
    wait_until(lambda: chief_has_saved(folder), 60, "the first checkpoint")
    trainer.kill()
    trainer.wait()
    # They could not without the ps; it may end before Python has.
    finish([start_trainer(cluster, index, folder, options(index))
            for index in (1, 0)], 80)
    assert ps.exit_code(15) == 0
    assert "every worker has left" in ps.log_text()


def last_saved(folder):
    """The step of the newest checkpoint; -1 before the first."""
    path = tf.train.latest_checkpoint(folder)
    return int(path.rsplit("-", 1)[1]) if path else -1


def goes_on_when_the_ps_is_back(cluster, *options):
    """From the last save before the ps was stopped, not from the beginning."""
    ps = cluster["ps", 0]
    folder = cluster.folder.name + "/checkpoints"
    trainer = start_trainer(cluster, 0, folder, options + (
        "--steps=4000", "--save_steps=100"))
    wait_until(lambda: last_saved(folder) > 200, 60, "some checkpoints")
    ps.signal(signal.SIGTERM)
    assert ps.exit_code(20) == 0, ps.log_tail()
    saved = last_saved(folder)
    first = os.stat(folder + "/checkpoint").st_mtime_ns
    assert saved < 4000, "it has trained to the end already"
    assert trainer.poll() is None, "it ended with its ps"
    cluster.start("ps", 0)
    wait_until(lambda: os.stat(folder + "/checkpoint").st_mtime_ns != first, 60,
               "the next checkpoint")
    assert last_saved(folder) >= saved, (last_saved(folder), saved)
    check(finish([trainer], 60), folder, 4000)


@test(limit=150, tfd_only=True)
def a_python_chief_goes_on_when_its_ps_is_back(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        goes_on_when_the_ps_is_back(
            cluster, "--target=" + cluster.target("worker", 0))


@test(limit=150, tfd_only=True)
def so_does_one_with_a_server_of_its_own(server):
    with Cluster(server, start=False, ps=1, worker=1) as cluster:
        cluster.start("ps", 0)
        goes_on_when_the_ps_is_back(cluster)


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


# What the text from which tfd is made leaves open in its trainer.  The chief
# waits for the other one, which asks half a minute later once more whether there
# are variables, and cannot make a session when the chief has ended.
LOSS = """with tf.device("/job:ps/task:0"):
        met = tf.FIFOQueue(10000, tf.float32, [[]], shared_name="met")
      if FLAGS.task_index == 0:
        token = met.dequeue()
        meeting = met.enqueue(token)
      else:
        meeting = met.enqueue(1.0)
      with tf.control_dependencies([meeting]):
        x = tf.random_normal([32, 16])
      w = tf.get_variable("w", [16, 2], initializer=tf.zeros_initializer())
      h = tf.layers.dense(x, 16, activation=tf.nn.relu)
      labels = tf.cast(tf.reduce_sum(x, 1) > 0, tf.int32)
      loss = tf.reduce_mean(
          tf.nn.sparse_softmax_cross_entropy_with_logits(
              labels=labels, logits=tf.matmul(x + h, w)))"""
STEPS = 300


def seeds_trainer(folder):
    """The trainer of the seeds as a file: its loss, the count of steps and the
    folder of its checkpoints are filled in, and nothing else is changed."""
    seeds = sorted((PROGRAMS.parent / "seeds").glob("004*.txt"))
    if not seeds:
        raise Skip("no %s" % (PROGRAMS.parent / "seeds"))
    code = seeds[0].read_text().split("```python\n")[1].split("```")[0]
    for old, new in (("loss = ...", LOSS), ("last_step=1000000",
                                            "last_step=%d" % STEPS),
                     ("/tmp/train_logs", folder)):
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    path = pathlib.Path(folder + ".py")
    path.write_text(code)
    return str(path)


@test(limit=240, tfd_only=True)
def the_trainer_of_the_seeds_unmodified(server):
    """TensorFlow 1.15 starts a server in each of two processes; their master
    rewrites graphs, and the ps initialises variables."""
    python = python_with_tensorflow_1()
    with Cluster(server, start=False, ps=1, worker=2) as cluster:
        cluster.start("ps", 0)
        folder = cluster.folder.name + "/checkpoints"
        command = [python, seeds_trainer(folder), "--job_name=worker",
                   "--ps_hosts=" + ",".join(cluster.spec["ps"]),
                   "--worker_hosts=" + ",".join(cluster.spec["worker"])]
        # TensorFlow 2 leaves a wish there that 1.15 heeds.
        environment = {key: value for key, value in os.environ.items()
                       if key != "TF2_BEHAVIOR"}
        trainers = [subprocess.Popen(
            WITH_PARENT + command + ["--task_index=%d" % index], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
            for index in range(2)]
        for trainer in trainers:
            text = trainer.communicate(timeout=200)[0]
            assert trainer.returncode == 0, text
        check_moved(folder)


def check_moved(folder):
    first, last = (tf.train.load_checkpoint(path) for path in (
        folder + "/model.ckpt-0", tf.train.latest_checkpoint(folder)))
    assert last.get_tensor("global_step") >= STEPS
    for name in ("w", "w/Adagrad", "dense/kernel", "dense/bias"):
        a, b = (saved.get_tensor(name) for saved in (first, last))
        assert np.isfinite(b).all() and not np.allclose(a, b), name
