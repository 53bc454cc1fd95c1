"""Programs of TensorFlow 2 whose servers are all tfds."""
import os

from tests.cluster.programs.player import play
from tests.cluster.suite import Skip, test

ALL = ["t01", "t02", "t03", "t04", "t05", "t06", "t07", "t08", "t09", "t10"]


@test(limit=400, tfd_only=True)
def programs_run_on_tfd_alone(server):
    """All ten."""
    play(server, only=ALL)


@test(limit=600, tfd_only=True)
def programs_of_tensorflow_2_15_run_on_tfd(server):
    """All ten; the Python has tf_keras 2.15, too."""
    if not os.environ.get("TFD_PYTHON215"):
        raise Skip("no TensorFlow 2.15: TFD_PYTHON215 can name a Python that "
                   "has it")
    play(server, only=ALL, python=os.environ["TFD_PYTHON215"], limit=590)
