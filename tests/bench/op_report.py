"""What tests/bench/ops prints and writes."""
import json
import math
import os

from tests.bench.op_measure import Absent, Broken
from tests.bench.processes import Failure

WORST = 20
SMALL, MIDDLE = 2000, 100000  # elements


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def line_of(r):
    share = "%4.0f %% %s" % (100 * r.share, r.bound) if r.share else ""
    return "%-34s %-9s %8d %dT %10.2f %10.2f us %6.2f %s" % (
        r.row.name, r.dtype, r.n, r.threads, *r.us, r.ratio, share)


class Report:
    def __init__(self, options):
        self.o, self.results, self.failed = options, [], []
        self.absent = [], []  # what tfd lacks, what the other does
        self.other = "other tfd" if options.against else "TensorFlow"
        print("%-34s %-9s %8s    %10s %10s    %6s share of a limit" % (
            "op", "type", "size", "tfd", self.other, "ratio"))

    def take(self, case, measure):
        """Measures a row."""
        row, n, dtype, threads = case
        name = "%s %s %d %dT" % (row.name, dtype, n, threads)
        try:
            result = measure.measure(*case)
        except Absent as why:
            self.absent[why.place].append((name, str(why)))
            if why.place == 0:
                print("%-34s left out, tfd has none: %s" % (name, why),
                      flush=True)
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
        print("%d measured, %d below 1, left out: %d that %s lacks, %d that tfd"
              " lacks, %d failed" % (
                  len(self.results), len(below), len(self.absent[1]),
                  self.other, len(self.absent[0]), len(self.failed)))
        if self.o.json:
            self._write()
        return len(self.failed)

    def _totals(self):
        print("\nfamilies (geometric mean, rows, below 1, the worst):")
        families = {}
        for result in self.results:
            families.setdefault(result.row.family, []).append(result)
        for name, rows in sorted(families.items(), key=lambda pair: mean_of(
                [r.ratio for r in pair[1]])):
            least = min(rows, key=lambda r: r.ratio)
            print("%-18s %6.2f %4d %4d   %5.2f %s" % (
                name, mean_of([r.ratio for r in rows]), len(rows),
                sum(r.ratio < 1 for r in rows), least.ratio, least.name))
        print("\nworst rows:")
        for result in sorted(self.results, key=lambda r: r.ratio)[:WORST]:
            print(line_of(result))
        print()
        for low, high in ((0, SMALL), (SMALL, MIDDLE), (MIDDLE, math.inf)):
            ratios = [r.ratio for r in self.results if low < r.n <= high]
            if ratios:
                print("geometric mean of more than %d elements: %.2f of %d" % (
                    low, mean_of(ratios), len(ratios)))
        print("geometric mean %.2f of %d" % (mean_of(
            [r.ratio for r in self.results]), len(self.results)))

    def _write(self):
        rows = [{"family": r.row.family, "op": r.row.op, "form": r.row.form,
                 "type": r.dtype, "size": r.n, "threads": r.threads,
                 "tfd_us": r.us[0], "other_us": r.us[1], "ratio": r.ratio,
                 "times": r.times, "limit_us": r.limit_us, "bound": r.bound,
                 "share": r.share} for r in self.results]
        with open(self.o.json + ".new", "w") as file:
            json.dump({"rows": rows, "absent": self.absent[1],
                       "lacking": self.absent[0], "failed": self.failed},
                      file, indent=1)
        os.rename(self.o.json + ".new", self.o.json)
