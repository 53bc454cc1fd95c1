"""Cases of kernels/math/select.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

EVERY_THIRD = np.arange(20001) % 3 == 0
row("Select", [c([True, False], x(2), x(2)), c(True, x(2, 3), x(2, 3)),
               c([True, False], x(2, 3), x(2, 3)), c(False, x(), x()),
               c([True, False, True], x(3, 16), x(3, 16)),
               c(False, x(35), x(35)),
               c([[0, 1, 1] * 6] * 2, x(2, 18), x(2, 18)),
               bad([True] * 16, x(2, 16), x(2, 16)),
               c(np.zeros(0, bool), x(0, 3), x(0, 3)),
               c(EVERY_THIRD[:9], x(9, 33), x(9, 33)),
               c(EVERY_THIRD[:33], x(33), x(33)),
               c(False, x(3, 1001), x(3, 1001)),
               bad(EVERY_THIRD[:33], x(9, 33), x(9, 33)),
               bad([True], x(2, 3), x(2, 3)), bad(True, x(2), x(3)),
               bad([[True, False]], x(2, 2), x(2, 2))], ANY)
row("SelectV2", [c([True, False, True], x(2, 3), x(2, 3)), c(True, x(3), x()),
                 c([[True], [False]], x(2, 3), x(3)), c(False, x(), x()),
                 c([True, False], x(0, 2), x(2)), c(x(4, 1), x(1, 5), x()),
                 *(c(EVERY_THIRD[:n], x(3, n), x(n))
                   for n in (1, 5, 17, 31, 33, 1001)),
                 c(EVERY_THIRD[:5, None], x(7), x(5, 7)),
                 c(EVERY_THIRD[:9, None], x(), x(9, 33)),
                 c(True, x(5, 33), x(5, 1)), c(EVERY_THIRD[:77], x(77), x()),
                 once(EVERY_THIRD[:4099], x(3, 4099), x(4099)),
                 once(EVERY_THIRD, x(3, 20001), x(3, 1)),
                 bad(EVERY_THIRD[:33], x(3, 33), x(32)),
                 bad(EVERY_THIRD[:5, None], x(4, 7), x(7)),
                 c([[True], [False]], x(2, 16), x(16)), c(x(37), x(37), x()),
                 c(x(3, 32), x(3, 32), x(3, 1)), c(x(16), x(2, 1, 16), x(3, 1)),
                 bad([True] * 16, x(16), x(3, 8)),
                 bad([True, False], x(3), x(3)), bad(True, x(2), x(3))], ANY)
