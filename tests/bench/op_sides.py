"""The servers that tests/bench/ops measures: a tfd, and TensorFlow's own server
or another tfd.  One of each for each count of compute threads, started when it
is first needed.  All of them read TF_CONFIG, and --threads=N."""
import contextlib
import json
import os
import shlex
import socket
import sys
import time

from tests.bench.processes import Failure, Process
from tests.cluster.ports import free_ports

READY_SECONDS = 60
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
TENSORFLOW = [sys.executable, os.path.join(
    ROOT, "tests", "cluster", "tensorflow_server.py")]


class Side:
    """A server of a kind and its address.

    Its port is held until this process ends: a server of another run that
    listened there would answer in its place, for as long as that run lasts."""

    def __init__(self, command, threads, log):
        port, = free_ports(1)
        self.target = "grpc://127.0.0.1:%d" % port
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", TF_CONFIG=(
            json.dumps({"cluster": {"worker": ["127.0.0.1:%d" % port]},
                        "task": {"type": "worker", "index": 0}})))
        # The tests' package says 0; a server shows what it does by default.
        environment.pop("TF_ENABLE_ONEDNN_OPTS", None)
        self.process = Process(command + ["--threads=%d" % threads], log,
                               environment, answers=False)
        try:
            self._wait_for(port)
        except Failure:
            self.process.close()
            raise

    def _wait_for(self, port):
        stop = time.monotonic() + READY_SECONDS
        while time.monotonic() < stop:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            self.check(0.05)
        raise Failure("%s has opened no port in %d s" % (
            self.process.name, READY_SECONDS))

    def check(self, seconds=0):
        if self.process.ended(seconds):
            raise Failure(self.process.how_it_ended())

    def close(self):
        self.process.close()


class Sides:
    """(ours, the other) by count of threads."""

    def __init__(self, ours, other, folder):
        self.commands = [shlex.split(ours),
                         shlex.split(other) if other else TENSORFLOW]
        self.folder, self.pairs = folder, {}

    def of(self, threads):
        if threads not in self.pairs:
            self.pairs[threads] = pair = []
            for place, command in enumerate(self.commands):
                pair.append(Side(command, threads, os.path.join(
                    self.folder, "server%d.%d.log" % (place, threads))))
        for side in self.pairs[threads]:
            side.check()
        return self.pairs[threads]

    def drop(self, threads):
        """After one of them ended: the next row gets new ones."""
        for side in self.pairs.pop(threads, []):
            side.close()

    def close(self):
        for threads in list(self.pairs):
            self.drop(threads)
