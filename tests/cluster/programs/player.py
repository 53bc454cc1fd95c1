"""Programs of TensorFlow 2 that lie beside the repository (TFD_SHARED names
another place), each on servers of its own."""
import os
import pathlib
import subprocess
import sys

from tests.cluster import nursery
from tests.cluster.suite import Skip

ROOT = pathlib.Path(__file__).parents[3]
SHARED = pathlib.Path(os.environ.get("TFD_SHARED", ROOT.parent / "shared"))


def play(server, *options, only, python=sys.executable, limit=390):
    player = SHARED / "programs" / "tf2" / "run_tf2.py"
    if not player.exists():
        raise Skip("no %s" % player)
    here = {}
    if python == sys.executable:  # others have another TensorFlow
        here = nursery.passed_on()
    done = subprocess.run(
        [python, "-m", "tests.cluster.programs.held", str(player),
         "--server", " ".join(server.command), "--only", ",".join(only),
         "--limit", "180", *options],
        cwd=ROOT, capture_output=True, text=True, timeout=limit, **here)
    assert "%d of %d" % (len(only), len(only)) in done.stdout, (
        done.stdout + done.stderr[-1000:])


def real_server():
    real = SHARED / "bench" / "tf_server.py"
    if not real.exists():
        raise Skip("no %s" % real)
    return "%s %s" % (sys.executable, real)
