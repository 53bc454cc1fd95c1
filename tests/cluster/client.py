"""What the tests need of an unmodified TensorFlow client."""
import contextlib
import re

import numpy as np  # noqa: F401
import tensorflow.compat.v1 as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto  # noqa: F401

_KEPT = []  # sessions

tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)


def plain_config(**fields):
    """No rewriting of the graph: what is built is what runs."""
    config = tf.ConfigProto(**fields)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


@contextlib.contextmanager
def graph():
    """A fresh default graph."""
    with tf.Graph().as_default() as g:
        yield g


def run(target, fetches, feeds=None, config=None):
    """One step of a new session on the default graph."""
    with tf.Session(target, config=config) as session:
        return session.run(fetches, feeds)


def kept_session(target, **arguments):
    """A session that only an explicit close() closes.

    Dropping one closes it, which may wait for servers that a test killed."""
    _KEPT.append(tf.Session(target, **arguments))
    return _KEPT[-1]


@contextlib.contextmanager
def expect(kind, *texts):
    """The body must raise this error class with all texts in the message."""
    try:
        yield
    except kind as error:
        message = str(error)
        for text in texts:
            assert text in message, "%r is not in: %s" % (text, message)
        return
    raise AssertionError("no %s" % kind.__name__)


def equal(got, want):
    """Both the value and numpy's type; NaN equals NaN."""
    got, want = (np.array(v, object) if isinstance(v, bytes) else
                 np.asarray(v) for v in (got, want))
    assert got.dtype == want.dtype, "%s, not %s" % (got.dtype, want.dtype)
    assert got.shape == want.shape, "%s, not %s" % (got.shape, want.shape)
    np.testing.assert_array_equal(got, want)


def failing_op(name=None):
    """An op that fails wherever it runs; the error says "From <task>".

    To be run as a target: fetched, its error would reach the client through
    the master's own task as well."""
    missing = tf.placeholder_with_default("/no/such/file", None)
    return tf.raw_ops.ReadFile(filename=missing, name=name).op


def task_that_runs(target, op, config=None):
    """The name of the task that a failing_op() ran on."""
    try:
        run(target, op, config=config)
    except tf.errors.NotFoundError as error:
        found = re.findall(r"From (/job:\S+?):\n", error.message)
        assert len(set(found)) == 1, error.message
        return found[0]
    raise AssertionError("the op did not fail")
