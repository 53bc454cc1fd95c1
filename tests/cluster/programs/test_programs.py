"""The sample programs, unmodified, against clusters: values as in process."""
import importlib.util
import os
import pathlib
import subprocess
import sys

from tests.cluster.programs.play import play
from tests.cluster.suite import Skip, test

ROOT = pathlib.Path(__file__).parents[3]
# The shared folder lies beside the repository; TFD_SHARED names another.
PROGRAMS = pathlib.Path(
    os.environ.get("TFD_SHARED", ROOT.parent / "shared")) / "programs"
PLAYER = pathlib.Path(__file__).parent / "play.py"

# Name and time limit in seconds; all variants of one run in one test.
TIER_A = {"a01_const": 200, "a02_mlp_ps": 400, "a03_saver": 200,
          "a04_monitored": 200, "a05_supervisor": 200,
          "a06_syncreplicas": 200, "a07_partitioned": 200,
          "a08_summaries": 200, "a09_metrics": 200, "a10_variables": 200,
          "a11_initializers": 200, "a12_queues_sync": 200}
KERAS = "layers"  # variants of tf.layers, which is a part of Keras
ON_TWO_PS = ("a01_const", "a02_mlp_ps", "a03_saver")


def path_of(name):
    path = PROGRAMS / (name + ".py")
    if not path.exists():
        raise Skip("no %s" % path)
    return str(path)


def register(name, where, **jobs):
    def run(cluster):
        play(path_of(name), cluster.target(), jobs["ps"])
    run.__name__ = "%s_on_%s" % (name, where)
    test(limit=TIER_A[name], **jobs)(run)


for _name in TIER_A:
    register(_name, "one_ps_and_two_workers", ps=1, worker=2)
for _name in ON_TWO_PS:
    register(_name, "two_ps_and_one_worker", ps=2, worker=1)


def play_convolutions(cluster, name, *choice):
    """In a process with oneDNN: TensorFlow's own answers need it where
    convolutions are dilated."""
    done = subprocess.run(
        [sys.executable, str(PLAYER), "--target", cluster.target(), "--ps",
         "1", *choice, path_of(name)],
        env=dict(os.environ, TF_ENABLE_ONEDNN_OPTS="1"))
    assert done.returncode == 0, "exit %d" % done.returncode


@test(limit=200, ps=1, worker=2)
def b01_mnist_cnn(cluster):
    play_convolutions(cluster, "b01_mnist_cnn", "--without", KERAS)


@test(limit=200, ps=1, worker=2)
def b01_mnist_cnn_by_tf_layers(cluster):
    path_of("b01_mnist_cnn")
    if not importlib.util.find_spec("tf_keras"):
        raise Skip("no tf_keras, which tf.layers is a part of")
    play_convolutions(cluster, "b01_mnist_cnn", "--only", KERAS)


@test(limit=200, ps=1, worker=2)
def b07_gan(cluster):
    play_convolutions(cluster, "b07_gan")


def python_with_tensorflow_1():
    """tests/deps makes build/venv37; TFD_PYTHON37 names another Python."""
    if os.environ.get("TFD_PYTHON37"):
        return os.environ["TFD_PYTHON37"]
    if not (ROOT / "build" / "venv37" / "complete").exists():
        raise Skip("no Python 3.7, which TensorFlow 1.15 needs: "
                   "TFD_PYTHON37 can name one")
    return str(ROOT / "build" / "venv37" / "bin" / "python")


@test(limit=600, ps=1, worker=2)
def all_with_the_client_of_tensorflow_1_15(cluster):
    done = subprocess.run(
        [python_with_tensorflow_1(), str(PLAYER), "--target",
         cluster.target(), "--ps", "1"] + [path_of(name) for name in TIER_A])
    assert done.returncode == 0, "exit %d" % done.returncode
