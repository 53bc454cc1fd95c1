"""A dataset of files: records interleaved from several, parsed, kept in memory
and in a file, and a model trained from them."""
import os

from program import FOLDER, Remote, np, play, same, tf

FILES, EACH, BATCH = 4, 24, 8
FIELDS = {"number": tf.io.FixedLenFeature([], tf.int64),
          "x": tf.io.FixedLenFeature([3], tf.float32),
          "words": tf.io.VarLenFeature(tf.string)}
TRUE = np.array([[1.0], [-1.0], [2.0]], np.float32)


def example(number):
    x = np.random.RandomState(number).randn(3).astype(np.float32)
    return tf.train.Example(features=tf.train.Features(feature={
        "number": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[number])),
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(
            value=[b"w%d" % number] * (number % 3)))}))


def write_files():
    for part in range(FILES):
        name = os.path.join(FOLDER, "part-%d.tfrecord" % part)
        with tf.io.TFRecordWriter(name, "GZIP" if part % 2 else "") as out:
            for number in range(part * EACH, (part + 1) * EACH):
                out.write(example(number).SerializeToString())


def records(name):
    odd = tf.strings.regex_full_match(name, ".*[13]\\.tfrecord")
    return tf.data.TFRecordDataset(name, tf.where(odd, "GZIP", ""))


def parsed():
    """Every record once, files by turns; unordered by nobody."""
    files = tf.data.Dataset.list_files(
        os.path.join(FOLDER, "part-*.tfrecord"), shuffle=False)
    made = files.interleave(records, cycle_length=2, block_length=3,
                            num_parallel_calls=2, deterministic=True)
    return made.map(lambda one: tf.io.parse_single_example(one, FIELDS),
                    num_parallel_calls=2)


def wanted_order():
    """What interleaving two files at a time, three records each, gives."""
    numbers = []
    for first in range(0, FILES, 2):
        for at in range(0, EACH, 3):
            for part in (first, first + 1):
                numbers += range(part * EACH + at, part * EACH + at + 3)
    return numbers


def sums(remote, dataset, epochs):
    """(numbers, words) of each batch.  There are two more than the workers'
    epochs have, so that one of the two goes beyond its first, and what it keeps
    in a file is whole."""
    it = iter(remote.coordinator.create_per_worker_dataset(dataset))

    @tf.function
    def take(it):
        one = next(it)
        return one["number"], tf.size(one["words"].values)

    got, count = [], EACH * FILES // BATCH * epochs + 2
    for _ in range(count):
        got.append(remote.coordinator.schedule(take, args=(it,)))
        remote.coordinator.join()
    return remote.coordinator.fetch(got)


def in_order(remote):
    """Whichever worker took a step: its batch is one of those there are, and
    the words are those of its numbers."""
    order = wanted_order()
    batches = {tuple(order[i:i + BATCH]) for i in range(0, len(order), BATCH)}
    for kept in (lambda d: d, lambda d: d.cache(),
                 lambda d: d.cache(os.path.join(FOLDER, "kept-")
                                   + tf.strings.as_string(tf.random.uniform(
                                       [], maxval=2**30, dtype=tf.int32)))):
        def dataset():
            return kept(parsed()).repeat().batch(BATCH, drop_remainder=True)
        for numbers, words in sums(remote, dataset, 2):
            assert tuple(numbers) in batches, numbers
            assert words == sum(n % 3 for n in numbers), (numbers, words)
    assert any(n.startswith("kept-") for n in os.listdir(FOLDER))


def train(remote):
    with remote.scope():
        kernel = tf.Variable(tf.zeros([3, 1]))
        seen = tf.Variable(0, dtype=tf.int64)

    def dataset():
        return parsed().cache().shuffle(50, seed=3).repeat().batch(
            BATCH).prefetch(2)
    it = iter(remote.coordinator.create_per_worker_dataset(dataset))

    def replica(one):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(
                tf.matmul(one["x"], kernel) - tf.matmul(one["x"], TRUE)))
        kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
        seen.assign_add(BATCH)
        return loss

    @tf.function
    def step(it):
        return remote.strategy.run(replica, args=(next(it),))

    losses = remote.run_at_once(step, [(it,)] * 80)
    assert losses[-1] < 0.01 * max(losses[:4]), losses
    same(kernel.numpy(), TRUE, "kernel", 0.1)
    assert int(seen) == 80 * BATCH


def body():
    write_files()
    remote = Remote()
    in_order(remote)
    train(remote)


play(body)
