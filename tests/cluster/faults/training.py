"""A training loop as users write it: new session, restore, go on."""
import os
import tempfile

from tests.cluster.client import kept_session, np, tf


class Trainer:
    """Trains a small model through one master, saving as it goes.

    Variables lie on the ps tasks.  After an error of the `fatal` classes the
    loop makes a new session and restores the last checkpoint, as
    MonitoredSession does; `lost` counts how often."""

    def __init__(self, target, fatal, ps_tasks=1, task=0):
        self.target, self.fatal, self.lost = target, fatal, 0
        self.folder = tempfile.mkdtemp(prefix="tfd-training-")
        self.graph = tf.Graph()
        rng = np.random.RandomState(0)
        self.xs = rng.rand(64, 8).astype(np.float32)
        self.ys = self.xs @ np.arange(8, dtype=np.float32)[:, None]
        setter = tf.train.replica_device_setter(
            ps_tasks=ps_tasks, worker_device="/job:worker/task:%d" % task)
        with self.graph.as_default(), tf.device(setter):
            self.step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [8, 1])
            b = tf.get_variable("b", [1])
            loss = tf.reduce_mean(tf.square(
                tf.matmul(self.xs, w) + b - self.ys))
            self.loss = loss
            self.train = tf.train.AdagradOptimizer(0.5).minimize(
                loss, global_step=self.step)
            self.saver = tf.train.Saver()
            self.init = tf.global_variables_initializer()

    def new_session(self):
        session = kept_session(self.target, graph=self.graph)
        last = tf.train.latest_checkpoint(self.folder)
        if last:
            self.saver.restore(session, last)
        else:
            session.run(self.init)
        return session

    def save(self, session):
        self.saver.save(session, os.path.join(self.folder, "model"),
                        global_step=self.step, write_meta_graph=False)

    def run(self, until, after_step):
        """Trains up to a global step; after_step(step) may break things.
        Returns (first loss, last loss, last step)."""
        first = loss = step = None
        session = None
        while step is None or step < until:
            try:
                if session is None:
                    session = self.new_session()
                loss, step, _ = session.run([self.loss, self.step, self.train])
                first = loss if first is None else first
                if step % 10 == 0:
                    self.save(session)
                after_step(int(step))
            except self.fatal as error:
                print("lost:", type(error).__name__, error.message[:200])
                self.lost += 1
                session = None
        return first, loss, step
