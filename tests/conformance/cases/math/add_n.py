"""Cases of kernels/math/add_n.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, once, row

row("AddN", [c(many(x(2, 3), x(2, 3), x(2, 3))), c(many(x(4))),
             c(many(x(0), x(0))), c(many(*[x(3)] * 11)),
             once(many(*[x(40)] * 40)),
             once(many(x(300, 70), x(300, 70))), bad(many(x(2), x(3)))])
