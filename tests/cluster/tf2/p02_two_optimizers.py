"""A loop of one's own: an optimizer for the table and one for the rest, and
gradients of several batches summed on the ps before they are applied."""
from program import Local, Remote, np, play, same, tf

ROUNDS, MICRO, ROWS = 6, 4, 30


class Model:
    """A table and a dense part, and a place for the sum of the gradients."""

    def __init__(self):
        rng = np.random.RandomState(4)
        self.table = tf.Variable(rng.randn(ROWS, 5).astype(np.float32))
        self.kernel = tf.Variable(rng.randn(5, 1).astype(np.float32))
        self.bias = tf.Variable(tf.zeros([1]))
        self.dense = [self.kernel, self.bias]
        self.all = [self.table] + self.dense
        self.sums = [tf.Variable(tf.zeros(v.shape), trainable=False)
                     for v in self.all]
        self.count = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.of_table = tf.keras.optimizers.legacy.Adagrad(0.3)
        self.of_dense = tf.keras.optimizers.legacy.Adam(0.05)

    def add(self, ids, y):
        with tf.GradientTape() as tape:
            rows = tf.gather(self.table, ids)
            said = tf.matmul(tf.reduce_mean(rows, 1), self.kernel)
            loss = tf.reduce_mean(tf.square(said + self.bias - y))
        for total, one in zip(self.sums, tape.gradient(loss, self.all)):
            if isinstance(one, tf.IndexedSlices):
                total.scatter_add(one)
            else:
                total.assign_add(one)
        self.count.assign_add(1)
        return loss

    def apply(self):
        share = 1.0 / tf.cast(self.count, tf.float32)
        means = [total * share for total in self.sums]
        self.of_table.apply_gradients([(means[0], self.table)])
        self.of_dense.apply_gradients(zip(means[1:], self.dense))
        with tf.control_dependencies(means):
            for total in self.sums:
                total.assign(tf.zeros(total.shape))
            self.count.assign(0)
        return tf.linalg.global_norm(means)


def batches():
    rng = np.random.RandomState(5)
    true = rng.randn(ROWS).astype(np.float32)
    for _ in range(MICRO):
        ids = rng.randint(0, ROWS, (16, 3))
        yield ids, true[ids].mean(1, keepdims=True)


def train(place):
    """Losses, norms and the model after some rounds."""
    with place.scope():
        model = Model()
    add, apply = place.step(model.add), place.step(model.apply)
    losses, norms, data = [], [], list(batches())
    for _ in range(ROUNDS):
        losses.append(place.run(add, data))
        norms += place.run(apply, [()])
    return losses, norms, model


def together(place, model):
    """Sums do not ask for an order: batches on both workers at once."""
    place.run_at_once(place.step(model.add), list(batches()) * 4)
    assert int(model.count) == 4 * MICRO
    return [v.numpy() for v in model.sums]


def body():
    remote, local = Remote(), Local()
    losses, norms, model = train(remote)
    want, want_norms, twin = train(local)
    assert np.mean(losses[-1]) < 0.5 * np.mean(losses[0]), losses
    same(losses, want, "losses")
    same(norms, want_norms, "norms")
    for got, other in zip(model.all, twin.all):
        same(got.numpy(), other.numpy(), got.name)
    assert int(model.of_table.iterations) == ROUNDS
    assert int(model.of_dense.iterations) == ROUNDS
    local.run(local.step(twin.add), list(batches()) * 4)
    same(together(remote, model), [v.numpy() for v in twin.sums], "sums")


play(body)
