"""Real TensorFlow servers as tasks of a cluster of tfds."""
import dataclasses
import os
import sys

HERE = os.path.dirname(os.path.dirname(__file__))


def real(server):
    """The server that a Task must have to be TensorFlow's."""
    return dataclasses.replace(
        server, is_tfd=False,
        command=[sys.executable, os.path.join(HERE, "tensorflow_server.py")])
