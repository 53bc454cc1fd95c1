"""Cases of kernels/array/depth_space.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("SpaceToDepth", [
    c(x(2, 4, 6, 3), block_size=2), c(x(1, 6, 3, 2), block_size=3),
    c(x(3, 2, 2, 1), block_size=2), c(x(1, 4, 4, 70), block_size=4),
    c(x(0, 4, 4, 2), block_size=2), c(x(1, 0, 4, 2), block_size=2),
    c(x(1, 2, 2, 0), block_size=2),
    bad(x(4, 4, 1), block_size=2), bad(x(1, 3, 2, 3), block_size=2),
    bad(x(1, 2, 3, 3), block_size=2)])
row("DepthToSpace", [
    c(x(2, 2, 3, 12), block_size=2), c(x(1, 2, 1, 18), block_size=3),
    c(x(3, 1, 1, 4), block_size=2), c(x(1, 1, 2, 1120), block_size=4),
    c(x(0, 4, 4, 4), block_size=2), c(x(1, 0, 4, 4), block_size=2),
    c(x(1, 2, 2, 0), block_size=2),
    bad(x(4, 4, 4), block_size=2), bad(x(1, 2, 2, 6), block_size=2)])
