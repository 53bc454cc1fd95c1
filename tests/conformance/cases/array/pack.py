"""Cases of kernels/array/pack.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, row

row("Pack", [c(many(x(2, 3), x(2, 3))), c(many(x(), x(), x())),
             c(many(x(2, 3), x(2, 3)), axis=1), c(many(x(2), x(2)), axis=-1),
             c(many(x(0), x(0))), c(many(x(2))), bad(many(x(2), x(3))),
             bad(many(x(2), x(2)), axis=2)])
row("Unpack", [c(x(2, 3), num=2), c(x(2, 3), num=3, axis=1), c(x(2), num=2),
               c(x(2, 3), num=3, axis=-1), c(x(0, 3), num=0),
               c(x(2, 0), num=2), bad(x(2, 3), num=3), bad(x(), num=1),
               bad(x(2), num=2, axis=1)])
