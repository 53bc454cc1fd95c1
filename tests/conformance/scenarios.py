"""Ops whose cases are short stories: values, control flow, variables.

A scenario is a function(side) that runs the same steps in process and on the
server and returns a dict; every value in it is a case.  What raises is
recorded as the error's class.
"""
import itertools
import os
import tempfile

from tests.cluster.client import plain_config, tf
from tests.conformance.inputs import Data
from tests.conformance.words import words

STEP_MS = 20000
RUNS = itertools.count()


class Side:
    """Where a scenario runs: in process (target "") or on a server."""

    def __init__(self, target, device="", pin=None):
        """pin(op): the device of an operation, asked when it is made; this
        one where it can."""
        self.target, self.device, self.pin = target, device, pin
        self.folder = tempfile.mkdtemp(prefix="tfd-conformance-")

    def session(self):
        return tf.Session(self.target, config=plain_config(
            operation_timeout_in_ms=STEP_MS if self.target else 0))

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes(self, name):
        """The bytes of a file that the server wrote."""
        with open(self.path(name), "rb") as file:
            return file.read()


def attempt(session, fetches, feeds=None):
    """The values, or the class of the error."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        return type(error).__name__


def told(session, fetches, feeds=None):
    """The values, or the class of the error and its text."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        return "%s: %s" % (type(error).__name__, words(error.message))


def hidden(value):
    """A tensor whose value and shape the client's own checks cannot see."""
    return tf.placeholder_with_default(value, None)


def sample(dtype, dims=(2, 3)):
    return Data(0, 90).draw(dtype, dims, dtype.name)


def fresh_graph(function):
    """The scenario starts with an empty default graph; all names have a
    prefix, as variables outlive sessions on a server: in each run another,
    which texts lose."""
    def wrapped(side):
        prefix = "p%d_%d" % (os.getpid(), next(RUNS))
        with tf.Graph().as_default(), tf.name_scope(prefix), tf.device(
                side.pin):
            found = function(side)
        return {key: value.replace(prefix, "p") if isinstance(value, str)
                else value for key, value in found.items()}
    wrapped.__name__ = function.__name__
    return wrapped
