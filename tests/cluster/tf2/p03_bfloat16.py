"""Mixed precision: steps in bfloat16 on variables of float32, and variables of
bfloat16 themselves."""
import os

from program import FOLDER, Local, Remote, np, play, same, tf

STEPS = 12
CLOSE = 0.03  # eight bits of a number, and a few steps of them


def network():
    """Layers by the policy; the same numbers each time."""
    rng = np.random.RandomState(6)
    layers = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="relu", input_shape=(6,)),
        tf.keras.layers.LayerNormalization(),
        tf.keras.layers.Dense(1, dtype="float32")])
    layers.set_weights([w + rng.randn(*w.shape).astype(np.float32) * 0.3
                        if w.ndim == 1 else
                        rng.randn(*w.shape).astype(np.float32) * 0.3
                        for w in layers.get_weights()])
    return layers


def batches():
    rng = np.random.RandomState(7)
    for _ in range(STEPS):
        x = rng.randn(32, 6).astype(np.float32)
        yield x, np.sin(x[:, :1]) + x[:, 1:2]


def train(place):
    with place.scope():
        net = network()
        opt = tf.keras.optimizers.legacy.SGD(0.05, momentum=0.5)

    def step(x, y):
        with tf.GradientTape() as tape:
            inner = net.layers[0](x)
            assert inner.dtype == tf.bfloat16, inner
            loss = tf.reduce_mean(tf.square(net(x) - y))
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return loss, tf.cast(inner, tf.float32)

    return place.run(place.step(step), list(batches())), net


def halves(place):
    """Variables of bfloat16: assigned, scattered to, gathered, multiplied."""
    with place.scope():
        table = tf.Variable(tf.cast(tf.reshape(tf.range(24), [8, 3]),
                                    tf.bfloat16))
        total = tf.Variable(tf.zeros([3], tf.bfloat16))

    def step(ids, x):
        rows = tf.gather(table, ids)
        total.assign_add(tf.reduce_sum(rows, 0))
        table.scatter_add(tf.IndexedSlices(tf.cast(x, tf.bfloat16), ids))
        return tf.matmul(rows, rows, transpose_b=True)

    made = place.run(place.step(step), [
        (np.array([1, 5]), np.full((2, 3), v, np.float32)) for v in (1, 2, -4)])
    return [np.float32(m) for m in made], table, total


def saved(table, place):
    path = tf.train.Checkpoint(table=table).save(os.path.join(FOLDER, "half"))
    with place.scope():
        other = tf.Variable(tf.ones([8, 3], tf.bfloat16))
    tf.train.Checkpoint(table=other).restore(path).assert_consumed()
    same(np.float32(other), np.float32(table), "restored", 0)
    kinds = tf.train.load_checkpoint(path).get_variable_to_dtype_map()
    assert tf.bfloat16 in kinds.values(), kinds


def body():
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    remote, local = Remote(), Local()
    got, net = train(remote)
    want, twin = train(local)
    assert all(v.dtype == tf.float32 for v in net.variables)
    same(got, want, "losses and layers", CLOSE)
    assert got[-1][0] < 0.7 * got[0][0], [loss for loss, _ in got]
    same(net.get_weights(), twin.get_weights(), "weights", CLOSE)
    made, table, total = halves(remote)
    want, other, other_total = halves(local)
    same(made, want, "products of bfloat16", 0.01)
    same(np.float32(table), np.float32(other), "table", 0)
    same(np.float32(total), np.float32(other_total), "total", 0)
    saved(table, remote)


play(body)
