"""The program of tests/bench/coordinator: it connects, makes a first step, says
how long that took, and then runs a case for each line of its input, a JSON list
of a name and seconds.  The answer is a line, too: the microseconds of a step,
or what went wrong."""
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

SCHEDULED = 20       # steps under way at once
ROWS, WIDTH, LOOKED_UP = 1000000, 64, 256
VARIABLES = 1000
FIT_STEPS = 50       # of an epoch


class Program:
    """The cluster, and what the cases have made on it."""

    def __init__(self):
        self.strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver(
                rpc_layer="grpc"))
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(
            self.strategy)
        self.turns = {}
        with self.strategy.scope():
            self.scalar = tf.Variable(0.0)

    def variable(self, *shape):
        with self.strategy.scope():
            return tf.Variable(tf.zeros(shape))

    def scheduled(self, step):
        def turn():
            for _ in range(SCHEDULED):
                self.coordinator.schedule(step)
            self.coordinator.join()
            return SCHEDULED
        return turn


# ---- Cases: each makes what it needs, and gives a turn that says its steps ----

def nothing(p):
    """One request to a worker, which has nothing to do."""
    @tf.function
    def step():
        pass
    return p.scheduled(step)


def scalar(p):
    @tf.function
    def step():
        p.scalar.assign_add(1.0)
    return p.scheduled(step)


def dense(p):
    w = p.variable(784, 128)
    x = tf.constant(np.random.RandomState(1).rand(32, 784), tf.float32)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        w.assign_sub(0.01 * tape.gradient(loss, w))
    return p.scheduled(step)


def embedding(p):
    table = p.variable(ROWS, WIDTH)
    rows = tf.constant(np.random.RandomState(2).randint(0, ROWS, LOOKED_UP))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.gather(table, rows) - 1.0))
        g = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(0.01 * g.values, g.indices))
    return p.scheduled(step)


def chief_assign(p):
    def turn():
        p.scalar.assign_add(1.0)
        return 1
    return turn


def chief_read(p):
    def turn():
        p.scalar.numpy()
        return 1
    return turn


def creation(p):
    """A step is a variable."""
    def turn():
        with p.strategy.scope():
            made = [tf.Variable(1.0) for _ in range(VARIABLES)]
        return len(made)
    return turn


def dataset(p):
    """A step takes a batch from a pipeline on its worker."""
    def pipeline():
        d = tf.data.Dataset.range(100000).shuffle(1000, seed=1)
        d = d.map(lambda i: tf.cast(i, tf.float32) * 0.5)
        return d.batch(32).repeat().prefetch(2)

    elements = iter(p.coordinator.create_per_worker_dataset(pipeline))

    @tf.function
    def step(it):
        p.scalar.assign_add(tf.reduce_sum(next(it)) * 1e-9)

    def turn():
        for _ in range(SCHEDULED):
            p.coordinator.schedule(step, args=(elements,))
        p.coordinator.join()
        return SCHEDULED
    return turn


def fitted(p, model, inputs):
    def batches(context):
        del context
        rows = np.random.RandomState(3).rand(640, inputs).astype(np.float32)
        d = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
        return d.repeat().batch(32)

    data = tf.keras.utils.experimental.DatasetCreator(batches)

    def turn():
        model.fit(data, epochs=1, steps_per_epoch=FIT_STEPS, verbose=0)
        return FIT_STEPS
    return turn


def fit_mlp(p):
    with p.strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(128, activation="relu", input_shape=(64,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(1)])
        model.compile("adam", "mse", steps_per_execution=5)
    return fitted(p, model, 64)


def fit_wide_deep(p):
    with p.strategy.scope():
        x = tf.keras.Input((64,))
        ids = tf.keras.layers.Lambda(
            lambda v: tf.cast(v * 1000.0, tf.int64))(x)
        deep = tf.keras.layers.Flatten()(
            tf.keras.layers.Embedding(1001, 8)(ids))
        deep = tf.keras.layers.Dense(64, activation="relu")(deep)
        both = tf.keras.layers.Concatenate()([x, deep])
        model = tf.keras.Model(x, tf.keras.layers.Dense(1)(both))
        model.compile("adagrad", "mse", steps_per_execution=5)
    return fitted(p, model, 64)


CASES = {f.__name__: f for f in (
    nothing, scalar, dense, embedding, chief_assign, chief_read, creation, dataset,
    fit_mlp, fit_wide_deep)}


def run(p, name, seconds):
    if name not in p.turns:
        p.turns[name] = CASES[name](p)
        p.turns[name]()
    steps, begun = 0, time.perf_counter()
    while steps == 0 or time.perf_counter() - begun < seconds:
        steps += p.turns[name]()
    return (time.perf_counter() - begun) / steps * 1e6


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    begun = time.perf_counter()
    p = Program()
    p.turns["scalar"] = CASES["scalar"](p)
    p.turns["scalar"]()
    print(json.dumps({"seconds": time.perf_counter() - begun}), file=answers,
          flush=True)
    for line in sys.stdin:
        name, seconds = json.loads(line)
        try:
            answer = {"us": run(p, name, seconds)}
        except Exception as error:  # pylint: disable=broad-except
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # closing asks the servers, which are stopped by then


if __name__ == "__main__":
    main()
