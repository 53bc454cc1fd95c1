"""A coordinator of a ParameterServerStrategy whose tasks die; TF_CONFIG says
where they are.  It says what it has come to, and is told when to go on.

  python -m tests.cluster.eager.coordinator_client worker_dies|ps_dies|...
"""
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf  # noqa: E402


def say(word):
    print(word, flush=True)


def hear():
    return sys.stdin.readline().strip()


class Job:
    """Two counters, on ps 0 and (if there is one) ps 1, and steps on them."""

    def __init__(self):
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver(
                rpc_layer="grpc"))
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(
            strategy)
        with strategy.scope():
            self.count = tf.Variable(0, dtype=tf.int64)
            self.total = tf.Variable(0.0)
        count, total = self.count, self.total

        @tf.function
        def step(x):
            count.assign_add(1)
            total.assign_add(x)
            return x * 2.0

        @tf.function
        def long_step(rounds):
            for _ in tf.range(rounds):
                count.assign_add(1)
            return count.read_value()

        self.step, self.long_step = step, long_step

    def schedule(self, count):
        return [self.coordinator.schedule(self.step, args=(tf.constant(1.0),))
                for _ in range(count)]

    def run(self, count):
        made = self.schedule(count)
        self.coordinator.join()
        return made


def worker_dies(job):
    """Steps go on while one worker is away, and on it when it is back."""
    job.run(20)
    say("running")
    assert hear() == "killed"
    made = job.run(40)
    say("survived")
    assert hear() == "back"
    made += job.run(100)
    values = job.coordinator.fetch(made)
    assert all(float(v) == 2.0 for v in values), values
    assert int(job.count) >= 160, job.count
    say("ok")


def fails(job, run):
    """What a lost ps is: raised soon, and named."""
    begin = time.time()
    try:
        while time.time() - begin < 60:
            run()
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        assert "/job:ps/replica:0/task:0" in str(error), str(error)
        assert "GRPC error information from remote target /job:ps" in str(
            error), str(error)
        assert time.time() - begin < 15, time.time() - begin
        say("ok")
        return
    raise AssertionError("no failure")


def ps_dies(job):
    job.run(20)
    say("running")
    assert hear() == "killed"
    fails(job, lambda: job.run(10))


def mid_step(job):
    """One long step is under way when it dies."""
    job.coordinator.schedule(job.long_step, args=(tf.constant(10),))
    job.coordinator.join()
    job.coordinator.schedule(job.long_step, args=(tf.constant(100000000),))
    before = int(job.count)
    while int(job.count) < before + 100:
        pass
    say("running")
    fails(job, job.coordinator.join)


def closed_queue(job):
    """An op says CANCELLED by itself: that is an error, and no echo."""
    @tf.function
    def step():
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32])
        with tf.control_dependencies([tf.raw_ops.QueueCloseV2(
                handle=queue, cancel_pending_enqueues=True)]):
            tf.raw_ops.QueueEnqueueV2(handle=queue, components=[1.0])
        job.count.assign_add(1)
        return 1.0
    say("running")
    job.coordinator.schedule(step)
    try:
        job.coordinator.join()
    except tf.errors.FailedPreconditionError as error:
        assert "is closed" in str(error), str(error)
    else:
        raise AssertionError("no failure")
    job.run(20)  # the cluster is as it was
    say("ok")


def waits(job):
    """A step on a worker that waits for a token of ps 0."""
    with tf.device("/job:ps/task:0"):
        queue = tf.queue.FIFOQueue(9, tf.float32, [()], shared_name="tokens")

    @tf.function
    def step():
        return queue.dequeue(name="take") + 1.0
    made = job.coordinator.schedule(step)
    say("running")
    assert hear() == "seen"
    with tf.device("/job:ps/task:0"):
        queue.enqueue(1.0)
    job.coordinator.join()
    assert float(job.coordinator.fetch(made)) == 2.0
    say("ok")


globals()[sys.argv[1]](Job())
sys.stdout.flush()
os._exit(0)
