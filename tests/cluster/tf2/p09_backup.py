"""BackupAndRestore: a fit that ends in the middle goes on where it was, by a
new model, and leaves no backup behind when it is through."""
import os

from program import FOLDER, np, play, same, strategy, tf

EPOCHS, STEPS = 5, 8
BACKUP = os.path.join(FOLDER, "backup")


class Interrupted(Exception):
    pass


def slots(made):
    """What Adam knows of each variable, and how many steps it has made."""
    opt = made.optimizer
    return [int(opt.iterations)] + [
        opt.get_slot(v, name).numpy()
        for v in made.trainable_variables for name in ("m", "v")]


class Stops(tf.keras.callbacks.Callback):
    """Ends a fit as a lost chief would, when an epoch begins."""

    def __init__(self, at):
        super().__init__()
        self.at, self.begun = at, []

    def on_epoch_begin(self, epoch, logs=None):
        self.begun.append(epoch)
        if epoch == self.at:
            self.weights = self.model.get_weights()
            self.slots = slots(self.model)
            raise Interrupted


class First(tf.keras.callbacks.Callback):
    """What a model is when its first epoch begins."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def on_epoch_begin(self, epoch, logs=None):
        if not self.begun:
            self.weights = self.model.get_weights()
            self.slots = slots(self.model)
        self.begun.append(epoch)


def source(context):
    rng = np.random.RandomState(19)
    x = rng.randn(128, 4).astype(np.float32)
    y = (x[:, :1] - 2.0 * x[:, 1:2]).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)


def model(scope, start):
    with scope():
        made = tf.keras.Sequential([
            tf.keras.layers.Dense(6, "tanh", input_shape=(4,)),
            tf.keras.layers.Dense(1)])
        made.compile(tf.keras.optimizers.legacy.Adam(0.03), loss="mse")
    made.set_weights([np.full(w.shape, start, np.float32) + np.linspace(
        -0.4, 0.4, w.size, dtype=np.float32).reshape(w.shape)
                      for w in made.get_weights()])
    return made


def fit(made, *callbacks):
    return made.fit(
        tf.keras.utils.experimental.DatasetCreator(source), epochs=EPOCHS,
        steps_per_epoch=STEPS, verbose=0, callbacks=[
            tf.keras.callbacks.BackupAndRestore(BACKUP), *callbacks])


def body():
    scope = strategy().scope
    stops, first = Stops(3), First()
    try:
        fit(model(scope, 0.0), stops)
        raise AssertionError("it was not interrupted")
    except Interrupted:
        pass
    assert stops.begun == [0, 1, 2, 3], stops.begun
    assert os.listdir(BACKUP), "no backup"
    later = model(scope, 5.0)
    history = fit(later, first).history["loss"]
    assert first.begun == [3, 4] and len(history) == 2, first.begun
    same(first.weights, stops.weights, "weights after the restore")
    same(first.slots, stops.slots, "slots after the restore")
    assert int(later.optimizer.iterations) == EPOCHS * STEPS
    assert history[-1] < 1.0, history
    left = [name for _, _, names in os.walk(BACKUP) for name in names]
    assert not left, left


play(body)
