"""A checkpoint of TensorFlow 1, by names and in slices, read into variables on
the ps, trained on, and written for TensorFlow 1 again."""
import os

from program import FOLDER, Local, Remote, np, play, same, tf

v1 = tf.compat.v1
OLD = os.path.join(FOLDER, "old", "model")
SHAPES = {"net/kernel": (7, 4), "net/bias": (4,), "table": (12, 4)}


def old_graph(cut):
    """Its variables, made as programs of TensorFlow 1 make them."""
    variables = {}
    for name, shape in SHAPES.items():
        variables[name] = v1.get_variable(
            name, shape, use_resource=name != "net/bias",
            partitioner=v1.fixed_size_partitioner(3) if (
                cut and name == "table") else None,
            initializer=v1.random_normal_initializer(seed=len(name)))
    return variables


def write_old():
    """Trains a graph a little, saves it by a Saver, and gives its values."""
    with tf.Graph().as_default(), v1.Session() as session:
        variables = old_graph(cut=True)
        step = v1.train.get_or_create_global_step()
        loss = tf.add_n([tf.reduce_sum(tf.square(tf.convert_to_tensor(v)))
                         for v in variables.values()])
        train = v1.train.MomentumOptimizer(0.05, 0.9).minimize(loss, step)
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        v1.train.Saver().save(session, OLD, global_step=step)
        values = session.run({k: tf.convert_to_tensor(v)
                              for k, v in variables.items()})
        slots = session.run([v for v in v1.global_variables()
                             if v.op.name == "net/kernel/Momentum"])
    return values, slots[0]


def read_old(path):
    """Values of a checkpoint, as a graph of TensorFlow 1 sees them."""
    with tf.Graph().as_default(), v1.Session() as session:
        variables = old_graph(cut=False)
        v1.train.Saver(variables).restore(session, path)
        return session.run(variables)


def fresh(scope):
    with scope():
        return {name: tf.Variable(tf.zeros(shape), name=name)
                for name, shape in SHAPES.items()}


def numbers(variables):
    return {name: tf.convert_to_tensor(v).numpy()
            for name, v in variables.items()}


def by_names(scope, path, values):
    """tf.train.Checkpoint finds variables by their names."""
    made = fresh(scope)
    tf.train.Checkpoint(**{n.replace("/", "_"): v for n, v in made.items()
                           }).restore(path).assert_existing_objects_matched()
    same(numbers(made), values, "restored by name")


def by_saver(scope, path, values):
    """A Saver that maps names to variables, as old code does."""
    made = fresh(scope)
    v1.train.Saver(made).restore(None, path)
    same(numbers(made), values, "restored by a Saver")
    return made


def by_reader(scope, path, slot):
    """Single tensors, such as an optimizer's slot."""
    reader = tf.train.load_checkpoint(path)
    assert reader.get_tensor("global_step") == 3
    with scope():
        kept = tf.Variable(reader.get_tensor("net/kernel/Momentum"))
    same(kept.numpy(), slot, "a slot")


def train_on(place, made):
    opt = tf.keras.optimizers.legacy.SGD(0.02)

    def step(ids):
        with tf.GradientTape() as tape:
            rows = tf.gather(made["table"], ids)
            said = tf.matmul(rows, made["net/kernel"], transpose_b=True)
            loss = tf.reduce_sum(tf.square(said)) + tf.reduce_sum(
                tf.square(made["net/bias"]))
        every = list(made.values())
        opt.apply_gradients(zip(tape.gradient(loss, every), every))
        return loss
    return place.run(place.step(step), [(np.array([i, 11 - i]),)
                                        for i in range(6)])


def body():
    values, slot = write_old()
    path = tf.train.latest_checkpoint(os.path.dirname(OLD))
    assert path == OLD + "-3", path
    remote, local = Remote(), Local()
    by_names(remote.scope, path, values)
    by_reader(remote.scope, path, slot)
    made = by_saver(remote.scope, path, values)
    twin = by_saver(local.scope, path, values)
    same(train_on(remote, made), train_on(local, twin), "losses")
    same(numbers(made), numbers(twin), "after the training")
    again = v1.train.Saver(made).save(None, os.path.join(FOLDER, "new"))
    same(read_old(again), numbers(made), "in TensorFlow 1 again")


play(body)
