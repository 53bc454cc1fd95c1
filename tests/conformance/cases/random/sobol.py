"""Cases of kernels/random/sobol.c."""
from tests.conformance.table import bad, c, every, once, row

row("SobolSample", [
    every(3, 10, 0), c(1, 1, 0), c(17, 33, 5), c(2, 600, 1), c(40, 9, 99999),
    c(21200, 40, 0), c(21200, 2, 2 ** 30 - 5), c(700, 6, 12345678),
    # From there on TensorFlow's are negative.
    c(3, 2, 2 ** 30 - 3), c(3, 4, 2 ** 31 - 9), once(2, 5000, 7),
    bad(0, 1, 0), bad(-1, 1, 0), bad(21201, 1, 0), bad(2, 0, 0),
    bad(2, -1, 0), bad(2, 1, -1), bad(1, 2 ** 31 - 2, 1),
    bad(1, 2 ** 31 - 1, 0), bad(0, 0, -1), bad([2], 1, 0), bad(2, [1], 0),
    bad(2, 1, [0]), bad([], 1, 0)], tol=0, dtypes=("float32", "float64"))
