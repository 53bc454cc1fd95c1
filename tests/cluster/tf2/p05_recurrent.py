"""Recurrent networks: loops over lists of tensors on the workers, forwards and
in their gradients, with sequences of different lengths."""
from program import Local, Remote, np, play, same, tf

UNITS, STEPS = 5, 8


class Layers:
    """A layer of LSTM cells, one of GRU cells, and a reading."""

    def __init__(self):
        self.lstm = tf.keras.layers.RNN(tf.keras.layers.LSTMCell(UNITS),
                                        return_sequences=True)
        self.gru = tf.keras.layers.RNN(tf.keras.layers.GRUCell(UNITS))
        self.out = tf.keras.layers.Dense(1)
        self.parts = [self.lstm, self.gru, self.out]
        self(tf.zeros([1, 2, 3]), tf.ones([1, 2], tf.bool))
        for number, part in enumerate(self.parts):
            rng = np.random.RandomState(10 + number)
            part.set_weights([rng.randn(*w.shape).astype(np.float32) * 0.4
                              for w in part.get_weights()])
        self.variables = [v for p in self.parts for v in p.weights]

    def __call__(self, x, mask):
        seen = self.lstm(x, mask=mask)
        return self.out(self.gru(seen, mask=mask))


def batches():
    """Sequences of 3 and of 7, each with its own length within."""
    rng = np.random.RandomState(13)
    for number in range(STEPS):
        steps = (3, 7)[number % 2]
        x = rng.randn(6, steps, 3).astype(np.float32)
        mask = np.arange(steps) < rng.randint(1, steps + 1, (6, 1))
        yield x, mask, (x[:, :, 0] * mask).sum(1, keepdims=True)


def train(place):
    with place.scope():
        net = Layers()
        opt = tf.keras.optimizers.legacy.Adam(0.05)

    def step(x, mask, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x, mask) - y))
        grads = tape.gradient(loss, net.variables)
        opt.apply_gradients(zip(grads, net.variables))
        return loss, tf.linalg.global_norm(grads)

    made = place.step(step)
    first = place.run(made, list(batches()))
    return first + place.run(made, list(batches()) * 2), net


def own_loop(place):
    """A loop that ends by its values, and writes a list as it goes."""
    with place.scope():
        factor = tf.Variable(1.5)

    def step(x):
        with tf.GradientTape() as tape:
            seen = tf.TensorArray(tf.float32, size=0, dynamic_size=True,
                                  element_shape=x.shape)
            at, count = x, tf.constant(0)
            while tf.reduce_max(at) < 100.0 and count < 30:
                if count % 3 == 2:
                    at = at + 1.0
                else:
                    at = at * factor
                seen = seen.write(count, at)
                count += 1
            every = seen.stack()
            total = tf.reduce_sum(every)
        return count, every, tape.gradient(total, factor)

    return place.run(place.step(step), [
        (np.array(x, np.float32),) for x in ([1, 2], [30, 0.5], [200, 1],
                                             [-1, -2])])


def mapped(place):
    """Scans and maps stand on the same lists."""
    def step(x):
        sums = tf.scan(lambda a, b: a + b, x)
        lower = tf.map_fn(lambda row: tf.reduce_max(row) - row, x)
        return sums, lower

    x = np.random.RandomState(14).randn(5, 4).astype(np.float32)
    return place.run(place.step(step), [(x,), (x * 2,)])


def body():
    remote, local = Remote(), Local()
    got, net = train(remote)
    want, twin = train(local)
    same(got, want, "losses and norms", 1e-3)
    assert np.mean([v[0] for v in got[-4:]]) < 0.5 * np.mean(
        [v[0] for v in got[:4]]), got
    for mine, other in zip(net.variables, twin.variables):
        same(mine.numpy(), other.numpy(), mine.name, 1e-3)
    same(own_loop(remote), own_loop(local), "a loop of one's own")
    same(mapped(remote), mapped(local), "scans and maps")


play(body)
