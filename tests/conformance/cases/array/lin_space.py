"""Cases of kernels/array/lin_space.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("LinSpace", [c(0, 1, 5), c(1, -3, 7), c(x(), x(), 1000), c(2, 3, 1),
                 c(5, 5, 3), once(-1, 1, 70000), bad(0, 1, 0), bad(0, 1, -1),
                 bad([0], 1, 2), bad(0, [1], 2), bad(0, 1, [2]),
                 bad(0, 1, [2, 3])])
