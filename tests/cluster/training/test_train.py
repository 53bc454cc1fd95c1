"""`tfd --train`: MetaGraphDefs of Python trained without Python, MetaGraphDefs
of libtfd trained by Python, and what happens when tasks go."""
import inspect
import os
import pathlib
import signal
import subprocess
import time

from tests.cluster.client import np, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.suite import Skip, test

ROOT = pathlib.Path(__file__).parents[3]
WEIGHTS = np.array([[1], [2], [3], [4]], np.float32)


def keep_in_step(optimizer, replicas):
    """The optimizer, and a function that tells a trainer of tfd its parts."""
    sync = tf.train.SyncReplicasOptimizer(optimizer, replicas, replicas)

    def collect():
        # What is there is the inner optimizer's update, now the chief's.
        del tf.get_collection_ref("train_op")[:]
        for name, op in (("chief_init", sync.chief_init_op),
                         ("local_init", sync.local_step_init_op),
                         ("init_tokens", sync.get_init_tokens_op()),
                         ("update", sync.get_chief_queue_runner()
                          .enqueue_ops[0])):
            tf.add_to_collection("tfd_sync_" + name, op)
    return sync, collect


def random_rows():
    return tf.random.uniform([32, 4])


def write_model(path, resource=True, sharded=False, in_step=0, device=None,
                rows=random_rows, saver=True, parts=None):
    """A MetaGraphDef of Python that learns WEIGHTS and the offset 0.5."""
    with tf.Graph().as_default(), tf.device(device):
        x = rows()
        y = tf.matmul(x, WEIGHTS) + 0.5
        with tf.variable_scope("model", use_resource=resource,
                               partitioner=parts):
            w = tf.get_variable("w", [4, 1])
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        tf.add_to_collection("losses", loss)
        rate = 2.0 if in_step else 0.5  # few steps, as they wait
        optimizer, collect = tf.train.AdagradOptimizer(rate), lambda: None
        if in_step:
            optimizer, collect = keep_in_step(optimizer, in_step)
        train = optimizer.minimize(loss, global_step=step)
        collect()
        if train not in tf.get_collection("train_op"):
            tf.add_to_collection("train_op", train)
        tf.train.export_meta_graph(
            path, saver_def=tf.train.Saver(sharded=sharded).as_saver_def()
            if saver else None)


MODEL_OPTIONS = set(inspect.signature(write_model).parameters) - {"path"}


class Training:
    """A cluster whose chief and workers train a model of this folder."""

    def __init__(self, server, max_steps, flags=(), model=None, **jobs):
        """model: what write_model() takes; some of it may be among jobs."""
        model = dict(model or {}, **{k: jobs.pop(k) for k in list(jobs)
                                     if k in MODEL_OPTIONS})
        self.cluster = Cluster(server, start=False, **jobs)
        folder = self.cluster.folder.name
        self.checkpoints = os.path.join(folder, "checkpoints")
        self.model = os.path.join(folder, "model.meta")
        write_model(self.model, **model)
        self.flags = ["--train=" + self.model, "--max_steps=%d" % max_steps,
                      "--checkpoint_dir=" + self.checkpoints] + list(flags)

    def start(self, job, index=0, wait=True):
        flags = ["--exit_when=workers-exit"] if job == "ps" else self.flags
        return self.cluster.start(job, index, wait, flags)

    def start_all(self):
        # The ps come last: a chief that is ready first may need nobody else.
        for job, index in reversed(list(self.cluster.tasks)):
            self.start(job, index, wait=False)

    def expect_exit(self, seconds=60, code=0):
        for task in self.cluster.tasks.values():
            if task.process is not None:
                got = task.exit_code(seconds)
                assert got == code, "%s: exit %s" % (task.name, got)

    def saved(self):
        """The step of the latest checkpoint; None without one."""
        latest = tf.train.latest_checkpoint(self.checkpoints)
        return None if latest is None else int(latest.rpartition("-")[2])

    def check_learnt(self, max_steps):
        reader = tf.train.load_checkpoint(self.checkpoints)
        assert reader.get_tensor("global_step") >= max_steps
        np.testing.assert_allclose(reader.get_tensor("model/w"), WEIGHTS,
                                   atol=0.1)
        np.testing.assert_allclose(reader.get_tensor("model/b"), [0.5],
                                   atol=0.1)
        assert "model/w/Adagrad" in reader.get_variable_to_shape_map()


def train(server, max_steps, **arguments):
    training = Training(server, max_steps, **arguments)
    with training.cluster:
        training.start_all()
        training.expect_exit()
        training.check_learnt(max_steps)


@test(limit=90, tfd_only=True)
def a_python_model_is_trained_by_chief_and_worker(server):
    train(server, 3000, ps=1, chief=1, worker=1)


@test(limit=90, tfd_only=True)
def reference_variables_on_two_ps(server):
    train(server, 3000, resource=False, ps=2, chief=1, worker=1)


@test(limit=120, tfd_only=True)
def chief_and_worker_are_kept_in_step(server):
    train(server, 500, in_step=2, ps=1, chief=1, worker=1)


@test(limit=120, tfd_only=True)
def two_workers_are_kept_in_step_on_two_ps(server):
    train(server, 500, in_step=2, resource=False, ps=2, worker=2)


@test(limit=90, tfd_only=True)
def a_sharded_saver_and_worker_0_as_chief(server):
    train(server, 3000, sharded=True, ps=1, worker=2)


@test(limit=120, tfd_only=True)
def a_model_without_saver_is_saved_and_restored(server):
    """Of both kinds of variables, and split ones; Python reads the files."""
    for resource in (True, False):
        training = Training(
            server, 1500, resource=resource, saver=False, ps=2, chief=1,
            parts=tf.fixed_size_partitioner(2))
        with training.cluster as cluster:
            training.start_all()
            training.expect_exit()
            assert training.saved() == 1500
            training.flags.append("--max_steps=1600")
            training.start_all()
            training.expect_exit()
            training.check_learnt(1600)
            assert "restored" in cluster["chief", 0].log_text()
            shapes = tf.train.load_checkpoint(
                training.checkpoints).get_variable_to_shape_map()
            assert shapes["model/w"] == [4, 1], shapes
            check_python_restores(training, resource)


def check_python_restores(training, resource):
    """The same variables without parts, by an unmodified Saver."""
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("model", use_resource=resource):
            w = tf.get_variable("w", [4, 1])
        tf.train.Saver([w]).restore(
            session, tf.train.latest_checkpoint(training.checkpoints))
        np.testing.assert_allclose(session.run(w), WEIGHTS, atol=0.1)


@test(limit=90, tfd_only=True)
def one_task_without_cluster(server):
    train(server, 2000, worker=1)


@test(limit=120, tfd_only=True)
def training_resumes_after_its_ps_was_killed(server):
    training = Training(server, 8000, ["--save_steps=500"], ps=1, chief=1,
                        worker=1)
    with training.cluster as cluster:
        training.start_all()
        wait_until(lambda: (training.saved() or 0) > 0, 30, "a checkpoint")
        cluster["ps", 0].kill()
        training.start("ps")
        training.expect_exit(90)
        training.check_learnt(8000)
        assert "restored" in cluster["chief", 0].log_text()


@test(limit=90, tfd_only=True)
def a_chief_open_to_other_hosts_saves_without_file_root(server):
    """Nothing else below / is its graphs' there."""
    train(server, 3000, ps=1, chief=1, flags=["--bind=any"])


@test(limit=60, tfd_only=True)
def sigterm_saves_and_a_new_start_goes_on(server):
    training = Training(server, 0, ps=1, chief=1)
    with training.cluster as cluster:
        training.start_all()
        chief = cluster["chief", 0]
        wait_until(lambda: "step" in chief.log_text().partition("saved")[2],
                   30, "a step")
        chief.signal(signal.SIGTERM)
        training.expect_exit(20)
        step = training.saved()
        assert step > 0, chief.log_text()
        training.flags.append("--max_steps=%d" % (step + 100))
        training.start_all()
        training.expect_exit(30)
        assert training.saved() == step + 100
        assert "restored" in chief.log_text()


# ---- Models whose input comes through queues ---------------------------------


def queued_rows(epochs=None):
    """Rows of a table in any order, in batches: two queues, three threads."""
    table = np.random.RandomState(1).rand(64, 4).astype(np.float32)
    row, = tf.train.slice_input_producer([table], num_epochs=epochs)
    return tf.train.batch([row], 32, num_threads=2)


def starved_rows():
    """Its runner waits for a queue that nobody fills."""
    never = tf.FIFOQueue(4, tf.float32, [4])
    queue = tf.FIFOQueue(64, tf.float32, [4])
    tf.train.add_queue_runner(tf.train.QueueRunner(
        queue, [queue.enqueue(never.dequeue())]))
    first = tf.random.uniform([64, 4])
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS,
                         queue.enqueue_many(first))
    return queue.dequeue_many(32)


def bad_rows():
    """Its runner fails after a few rows."""
    queue = tf.FIFOQueue(8, tf.float32, [4])
    row = tf.random.uniform([4])
    checked = tf.debugging.assert_less(row, 0.9, message="too large")
    with tf.control_dependencies([checked]):
        row = tf.identity(row)
    tf.train.add_queue_runner(tf.train.QueueRunner(
        queue, [queue.enqueue(row)]))
    return queue.dequeue_many(32)


@test(limit=90, tfd_only=True)
def queues_are_filled_for_chief_and_worker(server):
    train(server, 2000, rows=queued_rows, ps=1, chief=1, worker=1)


@test(limit=60, tfd_only=True)
def the_end_of_the_input_ends_a_training(server):
    training = Training(server, 0, rows=lambda: queued_rows(10), worker=1)
    with training.cluster as cluster:
        training.start_all()
        training.expect_exit(30)
        assert training.saved() == 20, cluster["worker", 0].log_text()
        assert "end of input at step 20" in cluster["worker", 0].log_text()


@test(limit=60, tfd_only=True)
def sigterm_ends_a_step_that_waits_for_its_queue(server):
    """Two batches are there; the third step waits for ever."""
    training = Training(server, 0, rows=starved_rows, ps=1, chief=1)
    with training.cluster as cluster:
        training.start_all()
        chief = cluster["chief", 0]
        wait_until(lambda: "step 1" in chief.log_text(), 30, "a step")
        before = time.monotonic()
        chief.signal(signal.SIGTERM)
        assert chief.exit_code(20) == 0, chief.log_text()
        assert time.monotonic() - before < 6, "of 10 s that a drain may take"
        # The log may have told of step 1 before the loop began step 2.
        assert training.saved() in (1, 2), chief.log_text()


@test(limit=60, tfd_only=True)
def a_queue_that_cannot_be_filled_is_exit_70(server):
    training = Training(server, 0, rows=bad_rows, worker=1)
    with training.cluster as cluster:
        training.start_all()
        training.expect_exit(30, 70)
        log = cluster["worker", 0].log_text()
        assert "too large" in log, log


@test(limit=60, tfd_only=True)
def a_peer_that_never_comes_is_exit_138(server):
    training = Training(server, 100, ["--peer_wait=2s"], ps=1, chief=1)
    with training.cluster as cluster:
        training.start("chief")
        training.expect_exit(30, 138)
        log = cluster["chief", 0].log_text()
        assert "/job:ps/replica:0/task:0" in log, log


@test(limit=60, tfd_only=True)
def a_bad_model_is_exit_70(server):
    training = Training(server, 100, ps=1, chief=1)
    with training.cluster as cluster:
        with open(training.flags[0].partition("=")[2], "wb") as model:
            model.write(b"no model")
        training.start("chief", wait=False)
        training.expect_exit(30, 70)
        assert "model.meta" in cluster["chief", 0].log_text()


@test(limit=120, tfd_only=True)
def a_model_of_libtfd_is_trained_by_python(server):
    writer = ROOT / "build/examples/mnist/model"
    if not writer.exists():
        raise Skip("no %s" % writer)
    training = Training(server, 0, worker=1)
    with training.cluster as cluster:
        meta = os.path.join(cluster.folder.name, "mnist.meta")
        subprocess.run([str(writer), str(ROOT / "examples/mnist/data"), meta],
                       check=True)
        with tf.Graph().as_default(), tf.Session() as session:
            saver = tf.train.import_meta_graph(meta)
            session.run([tf.global_variables_initializer(),
                         tf.local_variables_initializer()])
            step = tf.train.get_global_step()
            loss, = tf.get_collection("losses")
            first = session.run(loss)
            for _ in range(30):
                session.run(tf.get_collection("train_op"))
            assert session.run(step) == 30
            assert session.run(loss) < first
            assert len(tf.trainable_variables()) == 4
            saver.save(session, os.path.join(cluster.folder.name, "m"),
                       global_step=step)
