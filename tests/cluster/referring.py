"""Programs of reference variables: what a step sees of its own assignments."""
import itertools

from tests.cluster.client import graph, np, plain_config, tf

R = tf.raw_ops
ROWS = [4, 16]  # of 64 bytes, as TensorFlow wants it of memory that is shared
PAIR = dict(ps=1, worker=1)
NUMBERS = itertools.count()


def variable(value, any_shape=False):
    """Of another name each time: servers keep variables."""
    return tf.Variable(np.float32(value), use_resource=False,
                       validate_shape=not any_shape, name="referred_%d" % next(NUMBERS))


def after(earlier, make):
    with tf.control_dependencies(
            earlier if isinstance(earlier, list) else [earlier]):
        return make()


def named(name, program):
    program.__name__ = name
    return program


def matches(got, want):
    return all(w is None or np.array_equal(g, w) for g, w in zip(got, want))


def check(cluster, program, device, tries=1):
    tf.disable_control_flow_v2()  # functions have values of their own
    with graph(), tf.device(device):
        v, fetches, want = program()
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(3):
                for _ in range(tries):
                    session.run(v.initializer)
                    got = session.run(fetches)
                    if matches(got, want):
                        break
                assert matches(got, want), "%s on %s: %s, not %s" % (
                    program.__name__, device, got, want)
