"""Programs of TensorFlow 2 whose servers are all tfds."""
from tests.cluster.programs.player import play
from tests.cluster.suite import test


@test(limit=400, tfd_only=True)
def programs_run_on_tfd_alone(server):
    """All ten."""
    play(server, only=["t01", "t02", "t03", "t04", "t05", "t06", "t07", "t08",
                       "t09", "t10"])
