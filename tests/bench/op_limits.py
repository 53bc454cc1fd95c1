"""What build/bench/limits measures, each once a run, and which of it bounds a
row: the share of the limit is the time that it would take at least, as part of
the time that it took."""
import os

from tests.bench.processes import Failure, Process, wait

ANSWER_SECONDS = 30
ONE_THREAD_BYTES = 256 * 1024  # less is not worth a second thread
PORTS = 2  # units that compute with vectors


def lanes_bytes():
    """Bytes of a vector register of this machine."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file
                          if line.startswith("flags")), "").split()
    except OSError:
        return 16
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


class Limits:
    """Answers of the program, by question; None where it is not built."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.processes, self.known = {}, {}
        self.vector = lanes_bytes()

    def ask(self, question, threads):
        key = question, threads
        if key not in self.known:
            self.known[key] = self._asked(question, threads)
        return self.known[key]

    def _asked(self, question, threads):
        if not os.access(self.program, os.X_OK):
            return None
        if threads not in self.processes:
            count = str(threads)
            self.processes[threads] = Process(
                [self.program], os.path.join(self.folder, "limits.log"),
                dict(os.environ, OPENBLAS_NUM_THREADS=count,
                     OMP_NUM_THREADS=count), serves=True)
        popen = self.processes[threads].popen
        popen.stdin.write(question + "\n")
        popen.stdin.flush()
        if not wait(ANSWER_SECONDS, popen.stdout.fileno()):
            raise Failure("limits: no answer to %r" % question)
        return float(popen.stdout.readline())

    def memory(self, moved, threads):
        """Seconds that moving so many bytes takes; sizes by powers of two."""
        threads = threads if moved > ONE_THREAD_BYTES else 1
        size = 1 << max(12, (moved - 1).bit_length())
        rates = [self.ask("%s %d %d" % (kind, size, threads), threads)
                 for kind in ("copy", "triad")]
        return moved / (max(rates) * 1e9) if all(rates) else None

    def product(self, sizes, dtype, threads):
        kind = "double" if dtype == "float64" else "float"
        rate = self.ask("gemm %s %d %d %d" % ((kind,) + sizes), threads)
        return 2 * sizes[0] * sizes[1] * sizes[2] / (rate * 1e9) if rate \
            else None

    def vectors(self, work, n, item, threads):
        """work instructions an element, in all lanes of all ports."""
        clock = self.ask("clock", threads)
        if not clock:
            return None
        lanes = self.vector // max(4, item)  # halves are computed as floats
        threads = threads if n * item > ONE_THREAD_BYTES else 1
        return work * n / (lanes * PORTS * threads * clock * 1e9)

    def seconds(self, row, n, dtype, item, moved, threads):
        """(the least time, what bounds it), or (None, "")."""
        if not row.limit:
            return None, ""
        found = []
        if row.product:
            m, n_, k, count = (tuple(row.product(n)) + (1,))[:4]
            seconds = self.product((m, n_, k), dtype, threads)
            found.append((seconds and seconds * count, "gemm"))
        if row.flops:
            order = 512
            seconds = self.product((order,) * 3, dtype, threads)
            found.append((seconds and seconds * row.flops(n) /
                          (2 * order ** 3), "flops"))
        if row.work:
            found.append((self.vectors(row.work, n, item, threads), "vector"))
        if moved:
            found.append((self.memory(moved, threads), "memory"))
        found = [pair for pair in found if pair[0]]
        return max(found) if found else (None, "")

    def close(self):
        for process in self.processes.values():
            process.close()
