"""How long TensorFlow's own sessions wait, for programs of the tests."""
import tensorflow.compat.v1 as tf


def be_quick(manager=tf.train.SessionManager):
    """Monitored sessions that wait for the chief's variables look each second: by
    themselves they look every 30."""
    slow = manager.__init__

    def init(self, *arguments, **named):
        named["recovery_wait_secs"] = 1
        slow(self, *arguments, **named)

    manager.__init__ = init
