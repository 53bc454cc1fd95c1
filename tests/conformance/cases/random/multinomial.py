"""Cases of kernels/random/multinomial.c."""
import dataclasses

import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

LOGITS = Data(-4, 4)
MULTINOMIAL = [
    c(x(2, 5), 7), c(x(1, 1), 3), c(x(3, 4), 1), c(x(0, 4), 3), c(x(2, 3), 0),
    c([[np.inf, 0, 0], [-np.inf] * 3, [np.nan, 0, 1]], 9),
    c(x(5, 9), 13), c(x(3, 4), 15), c(x(3, 2), 17), c(x(3, 7), 63),
    c(x(4, 1), 65), c(x(3, 64), 129),
    once(x(1, 300), 5000), bad(x(2, 3), -1), bad(x(3), 2),
    bad(x(2, 0), 2), bad(x(0, 0), 2), bad(x(2, 3), [2]), bad(x(2, 2, 2), 1)]
row("Multinomial", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(MULTINOMIAL)],
    LOGITS, tol=0, runs=3)
row("StatelessMultinomial", [
    dataclasses.replace(case, inputs=case.inputs + ([number, 5],))
    for number, case in enumerate(MULTINOMIAL)] + [
        bad(x(2, 3), 2, [1]), bad(x(2, 3), 2, 1)], LOGITS, tol=0)
