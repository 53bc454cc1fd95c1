"""Functions that are traced again for each shape, kind and Python value: many
bodies come to a worker, some go again, and each gives its own results."""
import gc

from program import Local, Remote, np, play, same, tf

ROUNDS = 12


class Traced:
    """A function that counts how often Python has gone through it."""

    def __init__(self, place, **options):
        with place.scope():
            self.scale = tf.Variable(2.0)
            self.calls = tf.Variable(0, dtype=tf.int64)
        self.traces = 0
        self.step = tf.function(self.body, **options)

    def body(self, x, power=1, double=False):
        self.traces += 1
        self.calls.assign_add(1)
        y = tf.cast(x, tf.float32)
        for _ in range(power):
            y = y * self.scale
        return tf.reduce_sum(y + y if double else y, axis=-1)


def shapes():
    """Of each rank, several sizes; of each size, two kinds."""
    for size in (1, 3, 7):
        for rank in (1, 2, 3):
            for kind in (tf.float32, tf.int64):
                yield (tf.reshape(tf.range(size**rank, dtype=kind),
                                  (size,) * rank),)


def by_shape(place):
    one = Traced(place)
    first = place.run(one.step, list(shapes()))
    traces = one.traces
    again = place.run(one.step, list(shapes()))
    assert one.traces == traces, "traced again for what it has seen"
    assert int(one.calls) == 2 * len(first)
    same(again, first, "the second time")
    return first, traces


def by_value(place):
    """Python values make a body each."""
    one = Traced(place)
    made = place.run(one.step, [
        (np.ones([4], np.float32), power, double)
        for power in (0, 1, 3) for double in (False, True)])
    assert one.traces == 6, one.traces
    return made


def by_signature(place):
    """One body for all that fits, whatever the size."""
    one = Traced(place, input_signature=[
        tf.TensorSpec([None, None], tf.float32)])
    made = place.run(one.step, [(tf.ones(s),) for s in (
        (1, 1), (2, 5), (0, 3), (40, 2))])
    assert one.traces == 1, one.traces
    return made


def nested(place):
    """Functions that choose among functions, by values of the step."""
    with place.scope():
        kept = tf.Variable([1.0, 2.0])

    @tf.function
    def add(x):
        kept.assign_add(x)
        return kept.read_value()

    @tf.function
    def choose(which, x):
        return tf.switch_case(which, [
            lambda: add(x), lambda: add(-2.0 * x), lambda: x * 0.5])

    def step(which, x):
        y = choose(which, x)
        if tf.reduce_sum(y) > 4.0:
            y = add(y)
        return y

    x = np.array([0.5, 1.5], np.float32)
    made = place.run(tf.function(step), [
        (np.int32(i % 4), x * i) for i in range(8)])
    return made, kept.numpy()


def bodies_that_go(place):
    """Made, used and dropped, round by round."""
    with place.scope():
        total = tf.Variable(0.0)
    made = []
    for number in range(ROUNDS):
        def step(x):
            total.assign_add(tf.reduce_sum(x) * float(number))
            return total.read_value()
        made += place.run(tf.function(step), [(np.ones([number + 1],
                                                       np.float32),)])
        del step
        gc.collect()
    return made


def body():
    remote, local = Remote(), Local()
    for part in (by_shape, by_value, by_signature, nested, bodies_that_go):
        same(part(remote), part(local), part.__name__)


play(body)
