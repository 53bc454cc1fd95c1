"""Cases of kernels/array/transpose.c."""
import numpy as np

from tests.conformance.inputs import types_of, x
from tests.conformance.table import bad, c, once, row

row("Transpose", [c(x(2, 3), [1, 0]), c(x(2, 3, 4), [2, 0, 1]), c(x(), []),
                  c(x(2, 3, 4), [0, 2, 1]), c(x(5), [0]), c(x(0, 3), [1, 0]),
                  c(x(2, 1, 3, 2), [3, 1, 0, 2]), once(x(300, 70), [1, 0]),
                  c(x(90, 71), [1, 0], dtypes=("string",)),
                  # Layouts of images, whose sides are packs or not.
                  c(x(2, 12, 8, 48), [0, 3, 1, 2]), c(x(2, 7, 7, 33), [0, 3, 1, 2]),
                  c(x(2, 32, 5, 7), [0, 2, 3, 1]), c(x(2, 70, 8, 12), [0, 2, 3, 1]),
                  c(x(1, 20, 16, 3), [0, 3, 1, 2]), c(x(1, 3, 9, 30), [0, 2, 3, 1]),
                  c(x(3, 3, 16, 32), [3, 2, 0, 1]), c(x(64, 2, 16), [2, 1, 0]),
                  c(x(3, 5, 2, 64), [2, 3, 0, 1]), c(x(2, 3, 4, 12), [0, 2, 1, 3]),
                  c(x(3, 4, 7), [1, 0, 2]), c(x(4, 1, 6), [1, 0, 2]),
                  c(x(2, 3), [-1, 0]), bad(x(2, 3), [0]), bad(x(2), [1]),
                  bad(x(2, 3), [0, 0]), bad(x(2, 3), [[1, 0]])])
row("InvertPermutation", [
    c([2, 0, 1, 3]), c([0]), c(np.zeros([0])), bad([0, 0]), bad([0, 2]),
    bad([-1, 0]), bad([[0]])])
row("ConjugateTranspose", [
    c(x(2, 3), [1, 0]), c(x(2, 3, 4), [2, 0, 1]), c(x(), []), c(x(5), [0]),
    c(x(0, 3), [1, 0]), c(x(1, 4), [1, 0]), c(x(2, 3), [-1, 0]),
    once(x(300, 70), [1, 0]), c(x(2, 3, 4), [0, 1, 2]), bad(x(2, 3), [0]),
    bad(x(2), [1]), bad(x(2, 3), [0, 0]), bad(x(2, 3), [[1, 0]])],
    # TensorFlow ends its process where it gets strings.
    dtypes=[t for t in types_of("ConjugateTranspose") if t != "string"])
