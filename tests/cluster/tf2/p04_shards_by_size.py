"""Tables cut by their size over three ps: what lies where, lookups of every
kind, sparse gradients, and a checkpoint that knows nothing of the cut."""
import os

from program import FOLDER, Local, PS, Remote, np, play, same, task_of, tf

SIZES = {"big": (90, 8), "middle": (20, 8), "small": (3, 8)}
SHARDS = {"big": 3, "middle": 2, "small": 1}
LEAST = 330  # bytes of a shard: big 2,880, middle 640, small 96


def tables():
    rng = np.random.RandomState(8)
    return {name: tf.Variable(rng.randn(*shape).astype(np.float32), name=name)
            for name, shape in SIZES.items()}


def pieces(table):
    return getattr(table, "variables", [table])


def lies_well(made):
    for name, count in SHARDS.items():
        assert len(pieces(made[name])) == count, (name, made[name])
    where = [task_of(v) for v in pieces(made["big"])]
    assert sorted(where) == [0, 1, 2], where
    rows = [v.shape[0] for v in pieces(made["big"])]
    assert rows == [30, 30, 30], rows


def batches():
    """Ids of each table; the middle one's come in bags, with weights."""
    rng = np.random.RandomState(9)
    for _ in range(8):
        counts = rng.randint(1, 4, 12)
        rows = np.repeat(np.arange(12), counts)
        places = np.concatenate([np.arange(n) for n in counts])
        yield (rng.randint(0, 90, (12, 4)), np.stack([rows, places], 1),
               rng.randint(0, 20, len(rows)),
               rng.rand(len(rows)).astype(np.float32) + 0.5,
               rng.randint(0, 3, 12))


def look_up(made, big, where, middle, weights, small):
    shape = np.array([12, 3], np.int64)
    bags = tf.nn.safe_embedding_lookup_sparse(
        made["middle"], tf.SparseTensor(where, middle, shape),
        tf.SparseTensor(where, weights, shape), combiner="sqrtn")
    return (tf.reduce_sum(tf.nn.embedding_lookup(made["big"], big), 1)
            + bags
            + tf.nn.embedding_lookup(made["small"], small))


def train(place):
    with place.scope():
        made = tables()
        opt = tf.keras.optimizers.legacy.Adagrad(0.5)
    flat = [v for name in SIZES for v in pieces(made[name])]

    def step(*args):
        with tf.GradientTape() as tape:
            said = look_up(made, *args)
            loss = tf.reduce_mean(tf.square(said - 1.0))
        opt.apply_gradients(zip(tape.gradient(loss, flat), flat))
        return loss

    return place.run(place.step(step), list(batches()) * 3), made, opt


def whole(made):
    return {name: tf.convert_to_tensor(v).numpy() for name, v in made.items()}


def layer(place):
    """Keras' own layer over a table in shards."""
    with place.scope():
        one = tf.keras.layers.Embedding(
            60, 8, embeddings_initializer=tf.keras.initializers.Constant(2.0))
        one.build(None)
    made = place.run(place.step(one), [(np.array([[0, 59], [30, 7]]),)])
    same(made, [np.full((2, 2, 8), 2.0)], "Embedding")


def body():
    assert PS == 3, "three ps are needed"
    cut = tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=LEAST, max_shards=PS)
    remote = Remote(cut)
    losses, made, opt = train(remote)
    lies_well(made)
    want, twin, _ = train(Local())
    same(losses, want, "losses")
    assert np.mean(losses[-8:]) < 0.7 * np.mean(losses[:8]), losses
    same(whole(made), whole(twin), "tables")
    slots = [v for v in opt.variables() if "accumulator" in v.name]
    assert len(slots) == sum(SHARDS.values()), slots
    path = tf.train.Checkpoint(**made).save(os.path.join(FOLDER, "tables"))
    before = whole(made)
    for table in made.values():
        table.assign(tf.zeros(table.shape))
    with Local().scope():
        plain = {n: tf.Variable(tf.zeros(s)) for n, s in SIZES.items()}
    for kept in (plain, made):
        tf.train.Checkpoint(**kept).restore(path)
        same(whole(kept), before, "restored")
    layer(remote)


play(body)
