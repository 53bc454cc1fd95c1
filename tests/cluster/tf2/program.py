"""What the TensorFlow 2 programs here share: a cluster named by TF_CONFIG, of
which each is the chief, and this process to compare it with."""
import contextlib
import json
import os
import sys
import tempfile
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
import logging  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

logging.getLogger("tensorflow").setLevel(logging.ERROR)
PS = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"])
FOLDER = os.environ.get("TF2_DIR") or tempfile.mkdtemp()


def strategy(partitioner=None):
    return tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver(
            rpc_layer="grpc"), variable_partitioner=partitioner)


class Local:
    """This process: variables and steps without a strategy."""

    scope = staticmethod(contextlib.nullcontext)
    step = staticmethod(tf.function)

    def run(self, step, inputs):
        """What the step gives for each tuple of inputs, in their order."""
        return [tf.nest.map_structure(np.asarray, step(*args))
                for args in inputs]


class Remote:
    """Variables on the ps tasks, and steps on the workers."""

    def __init__(self, partitioner=None):
        self.strategy = strategy(partitioner)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(
            self.strategy)
        self.scope = self.strategy.scope

    def step(self, body):
        return tf.function(lambda *args: self.strategy.run(body, args=args))

    def run(self, step, inputs):
        """As Local's; each step ends before the next begins."""
        values = []
        for args in inputs:
            values.append(self.coordinator.schedule(step, args=args))
            self.coordinator.join()
        return self.coordinator.fetch(values)

    def run_at_once(self, step, inputs):
        """As run, but the workers take the steps as they come."""
        values = [self.coordinator.schedule(step, args=args)
                  for args in inputs]
        self.coordinator.join()
        return self.coordinator.fetch(values)


def task_of(variable):
    """The ps that a variable lies on, as a number."""
    device = tf.DeviceSpec.from_string(variable.device)
    assert device.job == "ps", device
    return device.task


def same(got, want, what, tolerance=1e-4):
    """Two structures of numbers must agree."""
    tf.nest.assert_same_structure(got, want)
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want)):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64),
            tolerance, tolerance, err_msg=what)


def play(body):
    """Runs a program, says how it went, and leaves at once: a coordinator's
    threads would hold the process."""
    code = 1
    try:
        body()
        code = 0
    except BaseException:  # whatever it was, it must be told
        traceback.print_exc()
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    print("ok" if code == 0 else "failed", name, flush=True)
    sys.stderr.flush()
    os._exit(code)
