"""Cases of kernels/nn/lrn.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

row("LRN", [
    c(x(2, 3, 4, 9)), c(x(2, 3, 4, 9), depth_radius=2, bias=2.0, alpha=0.01,
                        beta=0.75), c(x(1, 1, 1, 3), depth_radius=100),
    c(x(2, 2, 2, 5), depth_radius=0), c(x(0, 2, 2, 3)), c(x(1, 2, 2, 0)),
    # Channels that are packs of both types, or of float.
    c(x(1, 3, 2, 32)), c(x(2, 2, 3, 24), depth_radius=1, bias=2.0),
    c(x(1, 2, 2, 20), depth_radius=0), c(x(1, 2, 2, 8), depth_radius=9),
    # Many rows at a time, and rows too long for that.
    c(x(1, 29, 31, 3), beta=0.75), once(x(1, 2, 3, 1200)),
    once(x(1, 2, 3, 1200), beta=0.75, alpha=0.01),
    once(x(5, 20, 20, 33)), bad(x(2, 3, 4)), bad(x(2, 3, 4, 1, 1))],
    Data(0.5, 4), tol=8)
row("LRNGrad", [
    c(x(2, 3, 4, 9), x(2, 3, 4, 9), x(2, 3, 4, 9)),
    c(x(2, 3, 4, 9), x(2, 3, 4, 9), x(2, 3, 4, 9), depth_radius=2, bias=2.0,
      alpha=0.01, beta=0.75), c(x(0, 2, 2, 3), x(0, 2, 2, 3), x(0, 2, 2, 3)),
    c(x(1, 3, 2, 32), x(1, 3, 2, 32), x(1, 3, 2, 32), bias=2.0),
    c(x(1, 2, 3, 20), x(1, 2, 3, 20), x(1, 2, 3, 20), depth_radius=2, bias=2.0),
    once(x(5, 20, 20, 33), x(5, 20, 20, 33), x(5, 20, 20, 33)),
    once(x(1, 2, 3, 1200), x(1, 2, 3, 1200), x(1, 2, 3, 1200), bias=2.0,
         alpha=0.01, beta=0.75),
    bad(x(2, 3, 4), x(2, 3, 4), x(2, 3, 4)),
    bad(x(2, 3, 4, 2), x(2, 3, 4, 1), x(2, 3, 4, 2)),
    bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2, 3, 5, 2))], Data(0.5, 2), tol=64)
