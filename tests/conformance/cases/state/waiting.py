"""Steps that wait for others, as those of queues and barriers do."""
import re
import threading

from tests.cluster.client import tf

TYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.uint8,
         tf.int16, tf.uint16, tf.int32, tf.int64, tf.uint32, tf.uint64,
         tf.complex64, tf.complex128, tf.bool, tf.string]


def told(session, fetches, feeds=None):
    """The values, or the class of the error and what it says."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        lines = error.message.split("\n")
        at = [i for i, line in enumerate(lines) if "[[{{node" in line]
        text = lines[at[0] - 1] if at else error.message
        return "%s: %s" % (type(error).__name__,
                           re.sub("(['\" ])_[0-9]+_", "\\1_N_", text))


class Waiting(threading.Thread):
    """A step that may wait; result() is what it came to."""

    def __init__(self, session, fetches, feeds=None):
        super().__init__(daemon=True)
        self.call = (session, fetches, feeds)
        self.start()

    def run(self):
        self.value = told(*self.call)

    def result(self):
        self.join(20)
        return "hangs" if self.is_alive() else self.value


def until(session, fetch, value):
    """Runs fetch until it has this value: who waits has come that far."""
    while session.run(fetch) != value:
        pass
