"""Results of tens of MB, made by one, two and three threads: some go past the
caches then and some do not, some blocks are made from the last to the first,
and all that shows is what NumPy says."""
from tests.cluster.client import graph, np, plain_config, run, tf
from tests.cluster.cluster import Cluster
from tests.cluster.suite import test


def numbers(dtype, *shape):
    """No two that are less than 50,000 apart are alike."""
    count = int(np.prod(shape))
    mixed = np.arange(count, dtype=np.uint32) * np.uint32(2654435761)
    return (mixed >> np.uint32(16)).astype(dtype).reshape(shape)


def total(values):
    """Added from the first to the last, in their own type."""
    values = iter(values)
    result = next(values).copy()
    for value in values:
        result += value
    return result


def banded(x):
    return np.triu(np.tril(x, 5), -3)


# Name: the inputs' type and shape, their number, the op, the same by NumPy.  Small
# ones, of 20 to 24 MB in all, go past the caches by one thread, but not by two;
# those of 40 and more by both.
LARGE = {
    "pad, small": (np.float32, (40001, 64), 1,
                   lambda x: tf.pad(x, [[1, 2], [3, 4]]),
                   lambda x: np.pad(x, [[1, 2], [3, 4]])),
    "pad": (np.float32, (120001, 64), 1,
            lambda x: tf.pad(x, [[1, 2], [3, 4]], constant_values=7),
            lambda x: np.pad(x, [[1, 2], [3, 4]], constant_values=7)),
    "pad of three": (np.float32, (2000001, 3), 1,
                     lambda x: tf.pad(x, [[0, 1], [1, 0]]),
                     lambda x: np.pad(x, [[0, 1], [1, 0]])),
    "reverse, small": (np.int32, (45000, 64), 1,
                       lambda x: tf.reverse(x, [0]), lambda x: x[::-1]),
    "reverse": (np.int32, (125003, 64), 1,
                lambda x: tf.reverse(x, [0]), lambda x: x[::-1]),
    "reverse of long rows": (np.int64, (1500, 2053), 1,
                             lambda x: tf.reverse(x, [0]),
                             lambda x: x[::-1]),
    "strided rows": (np.float64, (120001, 64), 1, lambda x: x[::2],
                     lambda x: x[::2]),
    "concat of columns": (np.float32, (100003, 32), 3,
                          lambda *x: tf.concat(x, 1),
                          lambda *x: np.concatenate(x, 1)),
    "tile of columns": (np.int64, (3000007, 1), 1,
                        lambda x: tf.tile(x, [1, 2]),
                        lambda x: np.tile(x, [1, 2])),
    "transpose": (np.float64, (50021, 64), 1,
                  lambda x: tf.transpose(x, [1, 0]), lambda x: x.T),
    "band": (np.float64, (2017, 2003), 1,
             lambda x: tf.matrix_band_part(x, 3, 5), banded),
    "sum of four": (np.int64, (1000003,), 4, lambda *x: tf.add_n(x),
                    lambda *x: total(x)),
    "sum of eight": (np.float32, (1500007,), 8, lambda *x: tf.add_n(x),
                     lambda *x: total(x)),
    "least of two": (np.float64, (3000017,), 2, tf.minimum, np.minimum),
}


def check(cluster, name):
    dtype, shape, count, op, plain = LARGE[name]
    values = [numbers(dtype, *shape) + i for i in range(count)]
    values[1::2] = [value[::-1] for value in values[1::2]]
    with graph():
        feeds = [tf.placeholder(dtype, shape) for _ in values]
        got = run(cluster.target(), op(*feeds), dict(zip(feeds, values)),
                  plain_config())
    want = plain(*values)
    assert got.dtype == want.dtype and got.shape == want.shape, name
    wrong = np.argwhere(got != want)
    assert not len(wrong), "%s: %d wrong, the first at %s: %s, not %s" % (
        name, len(wrong), wrong[0], got[tuple(wrong[0])],
        want[tuple(wrong[0])])


def check_all(server, threads):
    flags = ["--threads=%d" % threads] if server.is_tfd else []
    with Cluster(server, flags, worker=1) as cluster:
        for name in LARGE:
            check(cluster, name)


@test(limit=120)
def large_rows_by_one_thread(server):
    check_all(server, 1)


@test(limit=120, tfd_only=True)
def large_rows_by_two_threads(server):
    check_all(server, 2)


@test(limit=120, tfd_only=True)
def large_rows_by_three_threads(server):
    check_all(server, 3)
