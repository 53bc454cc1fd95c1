"""The sample programs, unmodified, against clusters: values as in process."""
import os
import pathlib
import subprocess
import sys

from tests.cluster.cluster import Cluster
from tests.cluster.suite import Skip, test

# The shared folder lies beside the repository; TFD_SHARED names another.
BESIDE = pathlib.Path(__file__).parents[2].parent / "shared"
PROGRAMS = pathlib.Path(os.environ.get("TFD_SHARED", BESIDE)) / "programs"


def run_program(server, name, **jobs):
    if not (PROGRAMS / name).exists():
        raise Skip("no %s" % (PROGRAMS / name))
    with Cluster(server, **jobs) as cluster:
        done = subprocess.run(
            [sys.executable, str(PROGRAMS / name), "--target",
             cluster.target(), "--ps", str(jobs["ps"])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        lines = done.stdout.splitlines()
        assert done.returncode == 0, "exit %d" % done.returncode
        assert any(line.startswith("ok ") for line in lines), "no result"


@test(limit=200)
def a01_const_on_one_ps_and_two_workers(server):
    run_program(server, "a01_const.py", ps=1, worker=2)


@test(limit=200)
def a01_const_on_two_ps_and_one_worker(server):
    run_program(server, "a01_const.py", ps=2, worker=1)


@test(limit=400)
def a02_mlp_on_one_ps_and_two_workers(server):
    run_program(server, "a02_mlp_ps.py", ps=1, worker=2)


@test(limit=400)
def a02_mlp_on_two_ps_and_one_worker(server):
    run_program(server, "a02_mlp_ps.py", ps=2, worker=1)


@test(limit=200)
def a03_saver_on_one_ps_and_two_workers(server):
    run_program(server, "a03_saver.py", ps=1, worker=2)


@test(limit=200)
def a03_saver_on_two_ps_and_one_worker(server):
    run_program(server, "a03_saver.py", ps=2, worker=1)
