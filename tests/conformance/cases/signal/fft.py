"""Cases of kernels/signal/fft.c.

Long transforms are compared in double precision: in single precision those of
TensorFlow are further from the right result than any tolerance allows.  A
length of 0 ends TensorFlow's process."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 23, 24, 25,
           29, 31, 32, 34, 35, 37, 49, 64, 97, 101, 121, 128, 169, 187, 221)
COMPLEX, DOUBLE = ("complex128",), ("float64", "complex128")
LONG = (1000, 1009, 1024, 2310, 4093, 4096, 10007, 65536)


row("FFT IFFT", [
    *(c(x(n)) for n in LENGTHS), *(c(x(n), dtypes=COMPLEX) for n in LONG),
    c(x(2, 3, 5)), c(x(40, 12)), c(x(0)), c(x(0, 3)), c(x(3, 0)),
    once(x(300, 70)), c([1, 1j, -1, -1j]), c([0, 0, 0]),
    bad(x())])
row("FFT2D IFFT2D", [
    *(c(x(n, m)) for n in (1, 2, 3, 5, 8, 17) for m in (1, 4, 7, 12)),
    c(x(3, 2, 4, 6)), c(x(0, 2)), c(x(2, 0)), c(x(0, 2, 3)),
    c(x(60, 101), dtypes=COMPLEX), c(x(90, 32, 32), dtypes=COMPLEX),
    bad(x(3)), bad(x())])
row("FFT3D IFFT3D", [
    *(c(x(n, m, 5)) for n in (1, 2, 3, 7) for m in (1, 4, 6)),
    c(x(3, 2, 4, 6, 2)), c(x(0, 2, 2)), c(x(2, 2, 0)), c(x(0, 2, 3, 4)),
    once(x(12, 17, 20)), bad(x(3, 3)), bad(x())])

row("RFFT", [
    *(c(x(n), [n]) for n in LENGTHS), *(c(x(n), [n], dtypes=DOUBLE) for n in LONG),
    c(x(2, 3, 5), [5]), c(x(9), [4]), c(x(9), [5]), c(x(3, 9), [1]),
    c(x(0, 4), [4]), c(x(0, 4), [3]),
    once(x(300, 70), [64]), c([0, 0, 0], [3]),
    bad(x(), [1]), bad(x(4), [5]), bad(x(4), [-1]), bad(x(4), [2 ** 31 - 1]),
    bad(x(4), [-2 ** 31]), bad(x(4), 4), bad(x(4), [4, 4]),
    bad(x(4), np.zeros([0])), bad(x(4), [[4]])],
    may_fail=True)
row("RFFT2D", [
    *(c(x(n, m), [n, m]) for n in (1, 2, 5, 8) for m in (1, 4, 7, 12)),
    c(x(3, 2, 4, 6), [4, 6]), c(x(7, 9), [4, 5]), c(x(2, 7, 9), [7, 2]),
    c(x(0, 2, 4), [2, 4]),
    c(x(60, 101), [60, 100], dtypes=DOUBLE), c(x(6, 33), [5, 32]),
    c(x(90, 32, 33), [32, 32], dtypes=DOUBLE),
    bad(x(3), [1, 1]), bad(x(2, 3), [3, 3]), bad(x(2, 3), [2, 4]),
    bad(x(2, 3), [-1, 3]), bad(x(2, 3), [2]), bad(x(2, 3), [2, 3, 1])], may_fail=True)
row("RFFT3D", [
    *(c(x(n, m, 5), [n, m, 5]) for n in (1, 2, 7) for m in (1, 4, 6)),
    c(x(3, 2, 4, 6, 2), [4, 6, 2]), c(x(5, 6, 7), [3, 4, 5]),
    c(x(2, 5, 6, 7), [5, 2, 6]), c(x(0, 2, 3, 4), [2, 3, 4]),
    once(x(12, 17, 20), [12, 17, 20]),
    bad(x(3, 3), [1, 1, 1]), bad(x(2, 3, 4), [2, 3, 5]),
    bad(x(2, 3, 4), [2, -3, 4]), bad(x(2, 3, 4), [2, 3])],
    may_fail=True)

row("IRFFT", [
    *(c(x(n // 2 + 1), [n]) for n in LENGTHS),
    *(c(x(n // 2 + 1), [n], dtypes=DOUBLE) for n in LONG),
    c(x(2, 3, 5), [8]), c(x(2, 3, 5), [9]), c(x(9), [4]), c(x(9), [5]),
    c(x(3, 9), [1]), c(x(0, 4), [6]),
    c([1 + 2j, 2 - 1j, 3 + 4j], [4]), once(x(300, 70), [64]),
    bad(x(), [1]), bad(x(4), [8]), bad(x(4), [-1]), bad(x(4), [2 ** 31 - 1]),
    bad(x(4), 4), bad(x(4), [4, 4]), bad(x(4), [[4]])],
    may_fail=True)
row("IRFFT2D", [
    *(c(x(n, m // 2 + 1), [n, m]) for n in (1, 2, 5, 8)
      for m in (1, 4, 7, 12)),
    c(x(3, 2, 4, 6), [4, 10]), c(x(7, 9), [4, 5]), c(x(2, 7, 9), [7, 2]),
    c(x(0, 2, 4), [2, 6]),
    once(x(60, 51), [60, 100]), c(x(90, 33, 17), [32, 32], dtypes=DOUBLE),
    bad(x(3), [1, 1]), bad(x(2, 3), [3, 4]), bad(x(2, 3), [2, 6]),
    bad(x(2, 3), [-1, 3]), bad(x(2, 3), [2])], may_fail=True)
row("IRFFT3D", [
    *(c(x(n, m, 3), [n, m, 5]) for n in (1, 2, 7) for m in (1, 4, 6)),
    c(x(3, 2, 4, 6, 2), [4, 6, 2]), c(x(5, 6, 7), [3, 4, 5]),
    c(x(2, 5, 6, 7), [5, 2, 6]), c(x(0, 2, 3, 4), [2, 3, 6]),
    once(x(12, 17, 11), [12, 17, 20]),
    bad(x(3, 3), [1, 1, 1]), bad(x(2, 3, 4), [2, 3, 8]),
    bad(x(2, 3, 4), [2, -3, 4]), bad(x(2, 3, 4), [2, 3])],
    may_fail=True)
