"""What tests/bench/ops prints and writes."""
import json
import math
import os

from tests.bench.op_measure import Absent, Broken
from tests.bench.processes import Failure

WORST = 20


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def line_of(r):
    share = "%4.0f %% %s" % (100 * r.share, r.bound) if r.share else ""
    return "%-34s %-9s %8d %dT %10.2f %10.2f us %6.2f %s" % (
        r.row.name, r.dtype, r.n, r.threads, *r.us, r.ratio, share)


def merged(one, other):
    """The quieter of two measurements of a row, each side by itself."""
    one.us = tuple(min(pair) for pair in zip(one.us, other.us))
    return one


class Report:
    def __init__(self, options):
        self.o, self.results, self.absent, self.failed = options, [], [], []
        print("%-34s %-9s %8s    %10s %10s    %6s share of a limit" % (
            "op", "type", "size", "tfd",
            "other tfd" if options.against else "TensorFlow", "ratio"))

    def take(self, case, measure):
        """Measures a row, and again where it came out below 1."""
        row, n, dtype, threads = case
        name = "%s %s %d %dT" % (row.name, dtype, n, threads)
        try:
            result = measure.measure(*case)
            for _ in range(self.o.again):
                if result.ratio < min(1, self.o.below or 1):
                    result = merged(result, measure.measure(*case))
        except Absent as why:
            self.absent.append((name, str(why)))
            return
        except Broken as why:
            self.fail(name, why)
            return
        except Failure as why:  # a server ended
            measure.sides.drop(threads)
            self.fail(name, why)
            return
        self.results.append(result)
        if self.o.below is None or result.ratio < self.o.below:
            print(line_of(result), flush=True)

    def fail(self, name, why):
        self.failed.append((name, str(why)))
        print("%-34s failed: %s" % (name, why), flush=True)

    def close(self):
        """The totals; how many rows failed."""
        if self.results:
            self._totals()
        below = [r for r in self.results if r.ratio < 1]
        print("%d measured, %d below 1, %d left out (TensorFlow has no such "
              "kernel), %d failed" % (len(self.results), len(below),
                                      len(self.absent), len(self.failed)))
        if self.o.json:
            self._write()
        return len(self.failed)

    def _totals(self):
        worst = sorted(self.results, key=lambda r: r.ratio)
        print("worst:")
        for result in worst[:WORST]:
            print(line_of(result))
        for n in sorted({r.n for r in self.results}):
            ratios = [r.ratio for r in self.results if r.n == n]
            print("geometric mean at %d: %.2f of %d" % (
                n, mean_of(ratios), len(ratios)))
        print("geometric mean %.2f of %d" % (mean_of(
            [r.ratio for r in self.results]), len(self.results)))

    def _write(self):
        rows = [{"family": r.row.family, "op": r.row.op, "form": r.row.form,
                 "type": r.dtype, "size": r.n, "threads": r.threads,
                 "tfd_us": r.us[0], "other_us": r.us[1], "ratio": r.ratio,
                 "times": r.times, "limit_us": r.limit_us, "bound": r.bound,
                 "share": r.share} for r in self.results]
        with open(self.o.json + ".new", "w") as file:
            json.dump({"rows": rows, "absent": self.absent,
                       "failed": self.failed}, file, indent=1)
        os.rename(self.o.json + ".new", self.o.json)
