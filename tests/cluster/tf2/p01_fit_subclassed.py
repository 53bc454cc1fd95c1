"""A subclassed Keras model: fit with validation, callbacks, and checkpoints
that give back what was saved."""
import os

from program import FOLDER, np, play, same, strategy, tf

EPOCHS, STEPS, BATCH = 4, 12, 16


class Wide(tf.keras.Model):
    """Two branches that meet: no Sequential says this."""

    def __init__(self):
        super().__init__()
        self.deep = [tf.keras.layers.Dense(8, activation="tanh"),
                     tf.keras.layers.Dense(1)]
        self.wide = tf.keras.layers.Dense(1, use_bias=False)

    def call(self, x, training=False):
        y = x
        for layer in self.deep:
            y = layer(y)
        return y + self.wide(x)


class Watch(tf.keras.callbacks.Callback):
    """Keeps the weights and the rate of each epoch."""

    def __init__(self):
        super().__init__()
        self.weights, self.rates = [], []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights())
        self.rates.append(float(self.model.optimizer.learning_rate))


def numbers(seed):
    x = np.random.RandomState(seed).randn(192, 4).astype(np.float32)
    return x, (x @ [[1.0], [-2.0], [0.5], [3.0]] + 0.25).astype(np.float32)


def source(seed):
    def made(context):
        return tf.data.Dataset.from_tensor_slices(
            numbers(seed)).repeat().batch(BATCH, drop_remainder=True)
    return tf.keras.utils.experimental.DatasetCreator(made)


def fit(model, watch):
    rate = tf.keras.callbacks.LearningRateScheduler(
        lambda epoch, rate: 0.05 * 0.8**epoch)
    saved = tf.keras.callbacks.ModelCheckpoint(
        os.path.join(FOLDER, "at-{epoch}"), save_weights_only=True)
    history = model.fit(
        source(1), epochs=EPOCHS, steps_per_epoch=STEPS, verbose=0,
        validation_data=source(2), validation_steps=6,
        callbacks=[rate, watch, saved])
    return history.history


def body():
    watch = Watch()
    scope = strategy().scope
    tf.keras.utils.set_random_seed(1)
    with scope():
        model = Wide()
        model.compile(tf.keras.optimizers.legacy.Adam(), loss="mse",
                      metrics=["mae"])
    seen = fit(model, watch)
    assert set(seen) == {"loss", "mae", "val_loss", "val_mae", "lr"}, seen
    assert seen["loss"][-1] < 0.3 * seen["loss"][0], seen
    nothing = np.mean(np.square(numbers(2)[1]))  # the loss of saying 0
    assert seen["val_loss"][-1] < 0.2 * nothing, seen
    assert int(model.optimizer.iterations) == EPOCHS * STEPS
    same(watch.rates, [0.05 * 0.8**i for i in range(EPOCHS)], "rates")
    x = numbers(3)[0]
    for epoch, weights in enumerate(watch.weights):
        plain = Wide()
        plain(x)
        plain.load_weights(
            os.path.join(FOLDER, "at-%d" % (epoch + 1))).expect_partial()
        same(plain.get_weights(), weights, "weights of epoch %d" % epoch)
    same(model(x), plain(x), "what the models say")


play(body)
