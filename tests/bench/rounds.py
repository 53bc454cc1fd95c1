"""Whose turn it is to measure, and until when.

Rounds alternate: in each, every side of a case is asked once, and one measures
while the others wait.  All time is bounded: a part is kept for the cases that
follow, so one that hangs costs its own share only."""
import contextlib
import os
import subprocess
import time

from tests.bench import peaks
from tests.bench.processes import Failure, Process, PyTorch, Server, wait

NEXT_SECONDS = 12    # kept for each of the cases that follow
TURN_PART = 1 / 3    # of all time, for an answer and what it compiles first
AHEAD_SECONDS = 150  # for compiling before the first round


def value_of(line, key):
    """The number behind the key, and all that was said: KEY VALUE ..."""
    words = line.split()
    said = dict(zip(words[::2], words[1::2]))
    try:
        return float(said[key]), said
    except (KeyError, ValueError):
        raise Failure("no %s in the answer %r" % (key, line[:200])) from None


class Bench:
    """Who measures, and until when."""

    def __init__(self, options, folder):
        self.o, self.folder = options, folder
        self.stop_at = time.monotonic() + options.limit
        self.servers = {name: Server(options, folder, name)
                        for name in ("gpu", "cpu")}
        self.environment = dict(os.environ)  # of PyTorch
        self.new_cache("compiled")
        self.torches = {name: PyTorch(options, folder, name, self.environment)
                        for name in ("eager", "compiled")}
        self.card, self.peaks = None, options.peak

    def new_cache(self, name):
        """Of compiled code; nothing is left of it after us, nor before."""
        self.environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            self.folder, name)

    def close(self):
        for torch in self.torches.values():
            torch.stop()
        for server in self.servers.values():
            with contextlib.suppress(Failure):
                server.stop()

    def left(self, following):
        left = self.stop_at - time.monotonic() - following * NEXT_SECONDS
        if left < self.o.seconds:
            raise Failure("no time left of --limit=%g" % self.o.limit)
        return min(left, self.o.limit * TURN_PART)

    def nets(self, server, words, left):
        words = words.replace("{target}", server.target())
        nets = Process([self.o.nets] + words.split(),
                       os.path.join(self.folder, "nets.log"))
        try:
            wait(left, nets.pidfd, server.process.pidfd)
            good = nets.ended() and nets.popen.wait() == 0
            server.check(0 if good else 0.5)
            if not nets.ended():
                raise Failure("no answer in %.0f s" % left)
            if not good:
                raise Failure(nets.how_it_ended())
            return nets.popen.stdout.read()
        finally:
            nets.close()

    def turn(self, who, words, left):
        words = words.replace("{seconds}", "%g" % self.o.seconds)
        if who in self.servers:
            return self.nets(self.servers[who], words, left)
        if self.o.cpu:
            words += " --device cpu"
        try:
            return self.torches[who].ask(words, left)
        finally:
            if self.o.apart:
                self.torches[who].stop()

    def measure(self, case, following):
        """{side: values of the rounds}, {side: why there are no more},
        {side: what was said last}."""
        values, failed = {side: [] for side in case.commands}, {}
        notes, asked = {}, {who for who, _ in case.commands.values()}
        for who in self.torches.keys() - asked:
            self.torches[who].stop()
        for _ in range(self.o.rounds):
            for side, (who, words) in case.commands.items():
                if side in failed:
                    continue
                try:
                    line = self.turn(who, words, self.left(following))
                    value, notes[side] = value_of(line, case.key)
                    values[side].append(value)
                    if notes[side].get("loss") in ("nan", "-nan"):
                        raise Failure("the loss is not a number")
                except Failure as failure:
                    failed[side] = str(failure)
                if self.o.apart and who in self.servers:
                    self.stop_servers(case, failed)
        self.stop_servers(case, failed)
        return values, failed, notes

    def stop_servers(self, case, failed):
        for side, (who, _) in case.commands.items():
            if who in self.servers:
                try:
                    self.servers[who].stop()
                except Failure as failure:
                    failed.setdefault(side, str(failure))

    def identify(self):
        """The card's name and peaks, of the server or the driver."""
        if self.o.cpu:
            return
        try:
            self.servers["gpu"].target()
            self.card = self.servers["gpu"].card()
        except Failure:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                self.card = subprocess.run(
                    ["nvidia-smi", "--query-gpu=name",
                     "--format=csv,noheader"], capture_output=True, text=True,
                    timeout=30, check=True).stdout.splitlines()[0].strip()
        with contextlib.suppress(Failure):
            self.servers["gpu"].stop()
        self.peaks = self.o.peak or peaks.of_card(self.card)

    def compile_ahead(self, cases):
        """Fills PyTorch's cache of compiled code; what fails will fail again
        when it is measured."""
        waiting = [words for case in cases
                   for who, words in case.commands.values()
                   if who == "compiled"]
        stop, running = time.monotonic() + min(
            AHEAD_SECONDS, self.o.limit * TURN_PART), []
        try:
            while time.monotonic() < stop and (running or waiting and
                                               self.o.ahead):
                while waiting and len(running) < self.o.ahead:
                    words = waiting.pop().replace("{seconds}", "0").split()
                    words += ["--device", "cpu"] if self.o.cpu else []
                    running.append(Process(
                        self.o.torch + words, os.path.join(
                            self.folder, "ahead%d.log" % len(waiting)),
                        self.environment, answers=False))
                wait(stop - time.monotonic(), *(p.pidfd for p in running))
                for process in [p for p in running if p.ended()]:
                    running.remove(process)
                    process.close()
        except Failure:
            pass
        finally:
            for process in running:
                process.close()
            if running:  # whose files may be cut short
                self.new_cache("compiled_anew")
