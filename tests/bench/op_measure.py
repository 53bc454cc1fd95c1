"""One row of tests/bench/ops on two servers, in alternating rounds."""
import contextlib
import dataclasses
import math
import time

import tensorflow as tf

from tests.bench.op_cases.table import SIZE
from tests.bench.op_graphs import build
from tests.bench.processes import Failure

tf1 = tf.compat.v1
AGREE = 0.03  # a round that is not quicker by this part is the last
LEAST_STEPS = 3
STEP_MS = 30000
# What TensorFlow's server says now and then of a request that was sent once: the
# row is measured anew.
TWICE = "request was received twice"
TWICE_MAX = 2
# What a server says that has no such op, or no kernel of the type.
LACKS = ("Op type not registered", "No OpKernel was registered",
         "no supported kernel", "not in list of", "not in the list of allowed",
         "Cannot assign a device", "not supported", "is not in the list",
         "nsupported", "no op ", "Could not satisfy", "No registered",
         "No unary variant")


class Absent(Exception):
    """A side has no such op, or no kernel of the type: its place, why."""

    def __init__(self, place, why):
        super().__init__(why)
        self.place = place


class Broken(Exception):
    """Why a row cannot be measured: the side, and what it said."""


def text_of(error):
    return " ".join(str(error).split())[:200]


def sessions_config():
    """One op a node, as it was asked for: no rewriting of the graph."""
    config = tf1.ConfigProto(operation_timeout_in_ms=STEP_MS)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


@dataclasses.dataclass
class Result:
    row: object
    n: int
    dtype: str
    threads: int
    times: int = 1
    us: tuple = ()  # of each side's op, in its quietest round
    limit_us: float = None
    bound: str = ""

    @property
    def ratio(self):
        return self.us[1] / self.us[0]

    @property
    def share(self):
        return self.limit_us / self.us[0] if self.limit_us else None

    @property
    def name(self):
        return "%s %s %d %dT" % (self.row.name, self.dtype, self.n,
                                 self.threads)


class Runner:
    """A session on a side, with what it runs."""

    def __init__(self, side, built, config):
        self.session = tf1.Session(side.target, built.graph, config)
        self.session.run([built.graph.get_operation_by_name(name)
                          for name in built.start])
        self.step = self.session.make_callable(
            built.graph.get_operation_by_name(built.step))
        self.base = self.session.make_callable(
            built.graph.get_operation_by_name(built.base))
        self.step()

    def quickest(self, least, seconds):
        """(a step without the op, the step): the quickest of a stretch.  Each
        comes after a step with the op, so that the caches hold as little of
        client and server when one begins as when the other does: steps without
        the op in a row find all of it there, and less than a step's own time
        goes."""
        best, count, start = [1e9, 1e9], 0, time.perf_counter()
        end = start
        while count < least or end - start < seconds:
            self.step()
            begin = time.perf_counter()
            self.step()
            middle = time.perf_counter()
            self.base()
            end = time.perf_counter()
            best = [min(best[0], end - middle), min(best[1], middle - begin)]
            count += 1
        return best


class Measure:
    def __init__(self, sides, limits, options):
        self.sides, self.limits = sides, limits
        self.rounds, self.seconds = options.rounds, options.seconds
        self.again, self.below = options.again, min(1, options.below or 1)
        self.config = sessions_config()

    def built(self, row, n, dtype):
        try:
            return build(row, n, dtype)
        except (TypeError, ValueError) as error:
            if any(words in str(error) for words in LACKS):
                raise Absent(1, text_of(error)) from None
            raise Broken("the row: " + text_of(error)) from None

    def started(self, pair, built):
        """A runner of each; the other side is asked first whether it can."""
        runners = [None, None]
        for place in (1, 0):
            try:
                runners[place] = Runner(pair[place], built, self.config)
            except tf.errors.OpError as error:
                self.ended(pair, runners)
                pair[place].check(0.2 if isinstance(
                    error, tf.errors.UnavailableError) else 0)
                if any(words in error.message for words in LACKS):
                    raise Absent(place, text_of(error.message)) from None
                raise Broken("%s: %s" % (("tfd", "the other")[place], text_of(
                    error.message))) from None
        return runners

    @staticmethod
    def ended(pair, runners):
        """Sessions are closed; what lies on the servers is freed.  A server
        that is gone is not asked: its client would wait for another."""
        for side, runner in zip(pair, runners):
            with contextlib.suppress(tf.errors.OpError, Failure):
                side.check()
                if runner:
                    runner.session.close()
                tf1.Session.reset(side.target, config=sessions_config())

    def run(self, runners):
        """The least of the rounds, of which there are fewer where two agree:
        [(base, step) of each side]."""
        base, step = [[1e9, 1e9] for _ in range(2)]
        for turn in range(self.rounds):
            before = list(step)
            for place in (0, 1) if turn % 2 == 0 else (1, 0):
                runner = runners[place]
                quickest = runner.quickest(LEAST_STEPS, 3 * self.seconds)
                base[place] = min(base[place], quickest[0])
                step[place] = min(step[place], quickest[1])
            if all(now > (1 - AGREE) * then
                   for now, then in zip(step, before)):
                break
        return list(zip(base, step))

    def settled(self, runners, times):
        """Microseconds of each side's op; measured again where they came out
        below the ratio that is asked for, and then the least of both."""
        best = (math.inf, math.inf)
        for _ in range(1 + self.again):
            # The step's own time goes; noise must not leave less than nothing.
            best = tuple(min(known, max(step - base, step / 50) / times * 1e6)
                         for known, (base, step) in zip(
                             best, self.run(runners)))
            if best[1] >= best[0] * self.below:
                break
        return best

    def measure(self, row, n, dtype, threads):
        built = self.built(row, n, dtype)
        for _ in range(TWICE_MAX):
            try:
                return self.measured(built, row, n, dtype, threads)
            except Broken as error:
                if TWICE not in str(error):
                    raise
        return self.measured(built, row, n, dtype, threads)

    def measured(self, built, row, n, dtype, threads):
        pair = self.sides.of(threads)
        runners = self.started(pair, built)
        try:
            us = self.settled(runners, built.times)
        except tf.errors.OpError as error:
            raise Broken(text_of(error.message)) from None
        finally:
            self.ended(pair, runners)
        result = Result(row, n, dtype, threads, built.times, us)
        least, result.bound = self.limits.seconds(
            row, n, dtype, SIZE[dtype], built.bytes, threads)
        result.limit_us = least and least * 1e6
        return result
