"""Cases of kernels/random/random_shuffle.c."""
from tests.conformance.inputs import x
from tests.conformance.table import c, once, row

row("RandomShuffle", [
    c(x(7), seed=5, seed2=6), c(x(7, 3), seed=5, seed2=6), c(x(), seed=1),
    c(x(1, 4), seed=1), c(x(0), seed=1), c(x(3, 0), seed=1),
    c(x(2, 3, 2), seed=-5, seed2=2 ** 40), once(x(3001), seed=9),
    c(x(2), seed=3), c(x(64), seed=3), c(x(65), seed=3), c(x(66), seed=3),
    c(x(130, 2), seed=4), c(x(129, 1), seed=4),
    once(x(300, 70), seed=8)], tol=0, runs=3)
