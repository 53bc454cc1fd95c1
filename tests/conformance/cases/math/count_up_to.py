"""Cases of kernels/math/count_up_to.c."""
from tests.conformance.table import bad, c, row, var

row("CountUpTo ResourceCountUpTo", [
    c(var(3), limit=9), c(var(-2 ** 31), limit=0),
    bad(var(4), limit=4), bad(var(4), limit=-4), bad(var([1]), limit=4),
    bad(var(declared=[]), limit=4)], runs=2)
