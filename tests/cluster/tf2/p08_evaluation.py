"""Evaluation during training: metrics on the ps that every worker updates,
amid the steps, and an evaluator that reads the checkpoints."""
import os

from program import FOLDER, Local, Remote, np, play, same, tf

EPOCHS, BATCHES = 4, 6


def batches(seed):
    rng = np.random.RandomState(seed)
    for _ in range(BATCHES):
        x = rng.randn(40, 3).astype(np.float32)
        yield x, (x.sum(1, keepdims=True) > 0.3).astype(np.float32)


class Job:
    """A model, its training step, and a step that evaluates it."""

    def __init__(self, place):
        self.place = place
        with place.scope():
            self.net = tf.keras.Sequential([
                tf.keras.layers.Dense(6, "relu", input_shape=(3,)),
                tf.keras.layers.Dense(1, "sigmoid")])
            self.opt = tf.keras.optimizers.legacy.RMSprop(0.03)
            self.metrics = [tf.keras.metrics.AUC(num_thresholds=20),
                            tf.keras.metrics.BinaryAccuracy(),
                            tf.keras.metrics.Mean()]
        rng = np.random.RandomState(15)
        self.net.set_weights([
            0.5 * rng.randn(*w.shape) for w in self.net.get_weights()])
        self.step, self.test = place.step(self.train), place.step(self.look)

    def loss(self, x, y):
        said = self.net(x)
        return said, tf.reduce_mean(
            tf.keras.losses.binary_crossentropy(y, said))

    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(x, y)[1]
        variables = self.net.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, variables),
                                     variables))
        return loss

    def look(self, x, y):
        said, loss = self.loss(x, y)
        for metric in self.metrics[:2]:
            metric.update_state(y, said)
        self.metrics[2].update_state(loss, sample_weight=tf.size(y))

    def results(self):
        made = [float(metric.result()) for metric in self.metrics]
        for metric in self.metrics:
            metric.reset_state()
        return made

    def evaluate(self):
        self.place.run(self.test, list(batches(16)))
        return self.results()


def history(job, manager=None):
    """Results after each epoch."""
    made = []
    for _ in range(EPOCHS):
        job.place.run(job.step, list(batches(17)))
        made.append(job.evaluate())
        if manager:
            manager.save()
    return made


def all_at_once(job):
    """The workers share the batches as they come; sums are the same."""
    place = job.place
    place.run_at_once(job.test, list(batches(16)) * 3)
    same(job.results(), job.evaluate(), "evaluated by both workers at once")


def amid_training(job):
    """Steps and evaluations in one queue: no batch is lost."""
    place = job.place
    for x, y in list(batches(18)):
        place.coordinator.schedule(job.step, args=(x, y))
        place.coordinator.schedule(job.test, args=(x, y))
    place.coordinator.join()
    assert int(job.metrics[2].count) == BATCHES * 40
    before = int(job.opt.iterations)
    assert before == (EPOCHS + 1) * BATCHES, before
    job.results()


def of_checkpoints(paths, seen):
    """An evaluator of its own finds in each what was seen then."""
    job = Job(Local())
    for path, want in zip(paths, seen):
        tf.train.Checkpoint(net=job.net).restore(path).expect_partial()
        same(job.evaluate(), want, path)


def body():
    job = Job(Remote())
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(net=job.net, opt=job.opt),
        os.path.join(FOLDER, "ck"), max_to_keep=EPOCHS)
    seen = history(job, manager)
    same(seen, history(Job(Local())), "results of each epoch", 1e-3)
    assert seen[-1][2] < 0.8 * seen[0][2] and seen[-1][1] > 0.8, seen
    all_at_once(job)
    amid_training(job)
    assert len(manager.checkpoints) == EPOCHS
    of_checkpoints(manager.checkpoints, seen)


play(body)
