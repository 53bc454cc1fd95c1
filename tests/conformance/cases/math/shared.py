"""Operands that several families have in common."""
from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once

PAIRS = [
    c(x(2, 13), x(2, 13)), c(x(), x()), c(x(2, 3), x()), c(x(), x(4)),
    c(x(2, 3), x(3)), c(x(3), x(2, 3)), c(x(2, 1, 4), x(3, 1)),
    c(x(4, 1), x(1, 5)), c(x(0), x()), c(x(0, 3), x(3)), c(x(2, 0), x(2, 1)),
    c(x(1), x(0)), c(x(2, 1, 2, 1, 2), x(1, 3, 1, 3, 1)),
    c(x(3, 16), x(16)), c(x(16), x(3, 16)), c(x(3, 16), x(3, 1)),
    c(x(3, 1), x(1, 16)), c(x(2, 1, 16), x(3, 1)),
    c(x(7, 5), x(5)), c(x(5, 1), x(5, 33)), c(x(3, 1, 7), x(9, 1)),
    bad(x(2), x(3), dtypes=["complex64"]), bad(x(3), x(0), dtypes=["int8"]),
    once(x(300, 70), x(300, 70)), once(x(300, 70), x(70)),
    once(x(300, 1), x(300, 70)), bad(x(2), x(3)), bad(x(2, 3), x(2)),
    bad(x(0), x(2)), bad(x(2, 2, 3), x(3, 3))]
# Rows that begin anywhere within 16 bytes, one operand repeated.
UNEVEN = [case for n in (1, 3, 5, 7, 17, 31, 33, 1000, 1001, 4099, 20001)
          for case in (c(x(3, n), x(n), dtypes=REALS),
                       c(x(5, 1), x(5, n), dtypes=REALS))] + [
    c(x(2, 3, 1, 7), x(3, 5, 1), dtypes=REALS),
    c(x(31, 1, 3), x(7, 1), dtypes=REALS),
    c(x(1, 1001), x(9, 1), dtypes=REALS), c(x(0, 1001), x(1001)),
    bad(x(3, 1001), x(1000)), bad(x(5, 33), x(4, 33)), bad(x(7, 5), x(7))]
TWICE = [c(x(2, 13), x(2, 13)), c(x(), x()), c(x(0, 2), x(0, 2)),
         once(x(300, 70), x(300, 70))]
