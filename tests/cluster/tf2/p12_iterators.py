"""Iterators that lie on a worker are saved in checkpoints, each at some place,
and restored: into themselves, and into new ones, as the program has them after
it was started again."""
import os

from program import FOLDER, np, play, strategy, tf

data = tf.data.Dataset
WORKER = "/job:worker/replica:0/task:%d/device:CPU:0"


def ten(x):
    return x * 10


MAKERS = {
    "range": lambda: data.range(9),
    "map": lambda: data.range(9).map(ten),
    "parallel_map": lambda: data.range(9).map(ten, 3),
    "batch": lambda: data.range(9).batch(2),
    "shuffle": lambda: data.range(9).shuffle(4, seed=5),
    "repeat": lambda: data.range(3).shuffle(3, seed=2).repeat(3),
    "flat_map": lambda: data.range(5).flat_map(data.range),
    "groups": lambda: data.range(9).group_by_window(
        lambda x: x % 2, lambda key, group: group.batch(2), window_size=2),
    "unique": lambda: data.range(12).map(lambda x: x % 7).unique(),
    "pairs": lambda: data.zip((data.range(9), data.range(9).map(
        tf.as_string))),
}


def plain(dataset):
    """As it is written: stages of its own would read ahead."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return dataset.with_options(options)


def take(iterator, count):
    found = []
    for _ in range(count):
        try:
            found.append(str(tf.nest.map_structure(
                lambda t: np.asarray(t).tolist(), next(iterator))))
        except StopIteration:
            found.append("the end")
    return found


def made(name, worker):
    with tf.device(WORKER % worker):
        return iter(plain(MAKERS[name]()))


def restore(iterator, path, worker):
    with tf.device(WORKER % worker):
        tf.train.Checkpoint(iterator=iterator).restore(path).assert_consumed()


def goes_on(name, position, worker):
    """What comes behind the position, each time the same."""
    wanted = take(iter(plain(MAKERS[name]())), 20)
    iterator = made(name, worker)
    assert "/job:worker" in iterator._iterator_resource.device
    assert take(iterator, position) == wanted[:position], name
    with tf.device(WORKER % worker):  # where its dataset's options are, too
        path = tf.train.Checkpoint(iterator=iterator).save(
            os.path.join(FOLDER, "%s-%d" % (name, position)))
    rest = wanted[position:]
    assert take(iterator, len(rest)) == rest, name
    restore(iterator, path, worker)
    assert take(iterator, len(rest)) == rest, (name, position)
    other = made(name, worker)
    take(other, 2)
    restore(other, path, worker)
    assert take(other, len(rest)) == rest, (name, position)


def program():
    strategy()  # connects
    for name in MAKERS:
        for position in (0, 1, 4, 20):
            goes_on(name, position, position % 2)


play(program)
