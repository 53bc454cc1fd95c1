"""Coordinators of a ParameterServerStrategy that come to a point, say so, and
wait to be told that something was lost there.

  python -m tests.cluster.losses.coordinator SOCKET

TensorFlow is imported once; each connection gets a process of its own, whose
first line is a job: {"cluster", "phase", "victim", "kills", "folder"}.  It says
its number, "at", and in the end "ok COUNT", "lost TEXT" (a ps, named as
coordinators expect it) or "error TEXT"."""
import json
import os
import pathlib
import signal
import socket
import sys
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402

STEPS = 12


class Program:
    def __init__(self, job, line):
        self.job, self.line = job, line

    def reach(self):
        """The point where something is lost."""
        self.say("at")
        assert self.line.readline() == "go\n"

    def say(self, words):
        self.line.write(words + "\n")
        self.line.flush()

    # ---- What every program does --------------------------------------------

    def connect(self):
        os.environ["TF_CONFIG"] = json.dumps({
            "cluster": self.job["cluster"],
            "task": {"type": "chief", "index": 0}})
        if self.job["kills"] and self.job["victim"] == "chief":
            context._KEEP_ALIVE_SECS = 2
            context.Context.set_server_def.__defaults__ = (2,)
        if self.job["phase"] == "connecting":
            self.reach()
        self.strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver(
                rpc_layer="grpc"))
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(
            self.strategy)

    def build(self):
        with self.strategy.scope():
            self.count = tf.Variable(0, dtype=tf.int64)
            self.total = tf.Variable(tf.zeros([64, 64]))
            self.goes_on = tf.Variable(1, dtype=tf.int64)
        count, total, goes_on = self.count, self.total, self.goes_on

        @tf.function
        def step(x):
            total.assign_add(tf.ones([64, 64]) * x)
            return count.assign_add(1)

        @tf.function
        def long_step():
            while goes_on.read_value() > 0:
                count.assign_add(1)
        self.step, self.long_step = step, long_step
        self.checkpoint = tf.train.Checkpoint(count=count, total=total)
        self.manager = tf.train.CheckpointManager(
            self.checkpoint, self.job["folder"], max_to_keep=3)

    def steps(self):
        for _ in range(STEPS):
            self.coordinator.schedule(self.step, args=(tf.constant(1.0),))
        self.coordinator.join()

    def run(self):
        self.connect()
        self.build()
        if self.manager.latest_checkpoint:
            self.checkpoint.restore(
                self.manager.latest_checkpoint).assert_consumed()
            assert int(self.count) >= STEPS, self.count
        self.steps()
        self.manager.save()
        getattr(self, self.job["phase"])()
        self.steps()
        count = int(self.count)
        assert count >= 2 * STEPS, count
        self.say("ok %d" % count)

    # ---- The points ---------------------------------------------------------

    def nothing(self):
        pass

    connecting = nothing

    def creating(self):
        made = []
        with self.strategy.scope():
            for i in range(20):
                made.append(tf.Variable(tf.ones([100]) * i))
                if i == 5:
                    self.reach()
        assert float(made[-1][0]) == 19.0

    def tracing(self):
        @tf.function
        def traced(x):
            self.reach()
            self.count.assign_add(1)
            return x * 2.0
        made = self.coordinator.schedule(traced, args=(tf.constant(2.0),))
        self.coordinator.join()
        assert float(made.fetch()) == 4.0

    def stepping(self):
        """Both workers are amid a long step."""
        before = int(self.count)
        for _ in range(2):
            self.coordinator.schedule(self.long_step)
        while int(self.count) < before + 20:
            pass
        self.reach()
        if self.job["victim"] != "ps" or not self.job["kills"]:
            self.goes_on.assign(0)
        self.coordinator.join()

    def dataset(self):
        def numbers():
            return tf.data.Dataset.range(10**9).map(
                lambda x: x * 2).batch(4).prefetch(2)
        data = iter(self.coordinator.create_per_worker_dataset(numbers))

        @tf.function
        def consume(iterator):
            self.count.assign_add(1)
            return tf.reduce_sum(next(iterator))
        made = [self.coordinator.schedule(consume, args=(data,))
                for _ in range(6)]
        made[0].fetch()
        made += [self.coordinator.schedule(consume, args=(data,))
                 for _ in range(20)]
        self.reach()
        self.coordinator.join()
        assert all(int(v.fetch()) % 4 == 0 for v in made)

    def saving(self):
        failed, begun = [], threading.Event()

        def save():
            try:
                for _ in range(6):
                    self.manager.save()
                    begun.set()
            except tf.errors.OpError as error:
                failed.append(error)
                begun.set()
        thread = threading.Thread(target=save)
        thread.start()
        begun.wait()
        self.reach()
        thread.join()
        if failed:
            raise failed[0]


def verdict(error):
    if isinstance(error, UnicodeDecodeError):
        return "error %s in %r" % (error, error.object[:1000])
    text = ("%s: %s" % (type(error).__name__, error)).replace("\n", " ")
    if isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError)
                  ) and "/job:ps/replica:0/task:0" in text and (
                      "GRPC error information from remote target /job:ps"
                      in text):
        return "lost " + text[-2000:]
    return "error " + text[-2000:]


def serve(connection):
    line = connection.makefile("rw")
    job = json.loads(line.readline())
    program = Program(job, line)
    program.say("pid %d" % os.getpid())
    try:
        program.run()
    except Exception as error:  # whatever it was, the test hears of it
        program.say(verdict(error))
    os._exit(0)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(32)
    pathlib.Path(sys.argv[1] + ".ready").touch()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            serve(connection)
        connection.close()


if __name__ == "__main__":
    main()
