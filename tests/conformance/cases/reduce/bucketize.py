"""Cases of kernels/reduce/bucketize.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("Bucketize", [
    c(x(5, 7), boundaries=[-1.0, 0.0, 0.5, 0.5, 1.0]), c(x(), boundaries=[0.0]),
    c(x(0, 3), boundaries=[0.0]), c(x(4), boundaries=[]),
    c([0, 1, 2, 3], boundaries=[1.0, 2.0, 2.0]),
    c([float("nan"), float("inf"), -float("inf"), 0.1], boundaries=[0.1, 3.0],
      dtypes=["float32", "float64"]),
    c([16777217, 16777216], boundaries=[16777216.0, 16777218.0]),
    once(x(300, 70), boundaries=[i / 50 for i in range(-100, 100)]),
    bad(x(4), boundaries=[2.0, 1.0]), bad(x(4), boundaries=[0.0, 1.0, 0.5])])
