"""The trainers of the recovery tests, and what they train.

The model makes every wrong value visible: the vector `v` lies on one ps, the
global step on the other; a step pulls v, checks on its own worker that all
elements are the same whole number, and pushes back what adds 1 to each."""
import contextlib
import logging
import os
import sys
import time
import traceback

from tests.cluster.client import tf
from tests.cluster.programs.waits import be_quick
from tests.cluster.runner import die_with_parent

ELEMENTS = 1 << 19  # of v, 2 MB: a transfer has a middle
SAVE_STEPS = 10


@contextlib.contextmanager
def at(device):
    with tf.device(device) if device else contextlib.nullcontext():
        yield


def build(devices):
    """Adds the model to the default graph; devices: (ps 0, ps 1, worker).
    Returns (train op, global step, saver)."""
    first, second, worker = devices
    with at(first):
        step = tf.train.create_global_step()
    with at(second):
        v = tf.get_variable("v", [ELEMENTS], use_resource=True,
                            initializer=tf.zeros_initializer())
        pulled = v.read_value()
    with at(worker):
        low, high = tf.reduce_min(pulled), tf.reduce_max(pulled)
        check = tf.raw_ops.Assert(
            condition=tf.logical_and(tf.equal(low, high),
                                     tf.equal(low, tf.floor(low))),
            data=["torn value", low, high])
        with tf.control_dependencies([check]):
            ones = pulled * 0.0 + 1.0
    with at(second):
        added = v.assign_add(ones).op
    with tf.control_dependencies([added]), at(first):
        train = step.assign_add(1).op
    tf.add_to_collection("train_op", train)
    tf.add_to_collection("losses", tf.identity(high - low, "loss"))
    return train, step, tf.train.Saver(sharded=True, max_to_keep=3)


def write_model(path):
    """For `tfd --train`, which places the rest itself."""
    with tf.Graph().as_default():
        saver = build(("/job:ps/task:0", "/job:ps/task:1", ""))[2]
        tf.train.export_meta_graph(path, saver_def=saver.as_saver_def())


def check_checkpoint(folder, at_least):
    """The last one is whole, late enough and has no wrong value."""
    reader = tf.train.load_checkpoint(folder)
    step, v = int(reader.get_tensor("global_step")), reader.get_tensor("v")
    assert step >= at_least, (step, at_least)
    assert v.min() == v.max(), "torn: %g to %g" % (v.min(), v.max())
    # Steps that were cut off between their two updates make a small difference.
    assert abs(v[0] - step) <= 12, "v is %g at step %d" % (v[0], step)


class Stamp(logging.Formatter):
    def format(self, record):
        return "%.3f %s" % (time.monotonic(), record.getMessage())


def train(target, job, index, folder, until):
    """A monitored session, as users write it."""
    be_quick()
    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(Stamp())
    tf.get_logger().handlers[:] = [log]
    tf.logging.set_verbosity(tf.logging.INFO)
    own = "/job:%s/task:%d" % (job, index)
    tf.disable_control_flow_v2()
    with tf.Graph().as_default():
        op, step, saver = build(("/job:ps/task:0", "/job:ps/task:1", own))
        config = tf.ConfigProto(device_filters=["/job:ps", own])
        hooks = [tf.train.StopAtStepHook(last_step=until)]
        with tf.train.MonitoredTrainingSession(
                master=target, is_chief=job == "chief", checkpoint_dir=folder,
                scaffold=tf.train.Scaffold(saver=saver), config=config,
                hooks=hooks, save_checkpoint_steps=SAVE_STEPS,
                save_checkpoint_secs=None, save_summaries_steps=None,
                save_summaries_secs=None, log_step_count_steps=None,
                max_wait_secs=60) as session:
            while not session.should_stop():
                session.run([op, step])
    print("%.3f finished" % time.monotonic(), file=sys.stderr)


class PythonTrainer:
    """train() in a process of its own."""

    def __init__(self, log_path, *arguments):
        self.log_path = log_path
        self.pid = os.fork()
        if self.pid == 0:
            self._run(*arguments)

    def _run(self, *arguments):
        status = 1
        try:
            die_with_parent()
            log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for fd in (1, 2):
                os.dup2(log, fd)
            train(*arguments)
            status = 0
        except BaseException:
            print("%.3f failed" % time.monotonic(), file=sys.stderr)
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def log_text(self):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, encoding="utf8", errors="replace") as log:
            return log.read()

    def poll(self):
        """The exit status, or None while it runs."""
        if self.pid is None:
            return self.status
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.pid, self.status = None, os.waitstatus_to_exitcode(status)
        return self.status

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
            self.pid, self.status = None, -9
