"""Cases of kernels/random/random_gamma.c."""
import dataclasses

import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.table import bad, c, once, row

ALPHAS = [0.3, 1, 1.7, 20, 0.9999, 1e-3, 1e6]
GAMMA = [c([3], ALPHAS), c([], 2), c([2, 3], [[0.5], [4]]), c([0], [1]),
         c([3], []), c([1000], [0.2, 1]), c([4], [-1, 0, -2 / 3, np.nan]),
         once([5000], [0.7, 1, 3])]
WRONG_SHAPES = [bad([-1], [1]), bad(3, [1]), bad([[3]], [1]),
                bad([2 ** 31 - 1] * 3, [1])]
row("RandomGamma", [dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
                    for number, case in enumerate(GAMMA + WRONG_SHAPES)],
    tol=0, runs=3, dtypes=("float32", "float64", "float16"))
RATES = [3, 0, 9, 10, 11, 60, 700, 50000]
POISSON = [c([4], RATES), c([], 2), c([2, 3], [[1], [40]]), c([0], [1]),
           c([3], []), c([1000], [2, 30]),
           c([2], [-1, -np.inf, np.inf, 0.3, 9.99], dtypes=REALS),
           once([5000], [2, 30])] + WRONG_SHAPES
row("RandomPoissonV2", [
    dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
    for number, case in enumerate(POISSON)], tol=0, runs=3)


def with_seeds(case, number):
    """A stateless case: its shape ends with that of the parameter."""
    shape, parameter = case.inputs
    if not case.bad:
        shape = shape + list(np.shape(parameter))
    return dataclasses.replace(case, inputs=(shape, [number, -3], parameter))


UNSEEDED = [bad([2], [1, 2, 3], [1, 2]), bad([2], [1, 2], [1, 2, 3]),
            bad([2], [1, 2], [[1, 2]])]
row("StatelessRandomGammaV2", [
    with_seeds(case, number) for number, case in enumerate(
        GAMMA + WRONG_SHAPES)] + UNSEEDED, tol=0,
    dtypes=("float32", "float64", "float16"))
row("StatelessRandomPoisson", [
    with_seeds(case, number) for number, case in enumerate(POISSON)] +
    UNSEEDED, tol=0)


def with_key(case, number):
    """A stateless case: its shape ends with that of the parameter."""
    shape, parameter = case.inputs
    if not case.bad:
        shape = shape + list(np.shape(parameter))
    return dataclasses.replace(case, inputs=(
        shape, np.uint64([number]), np.uint64([number, 7]), 1 + number % 2 * 2,
        parameter))


UNKEYED = [bad([2], [1, 2], [3, 4], 1, [1, 2]), bad([2], 1, [3, 4], 1, [1, 2]),
           bad([2], [1], [[3, 4]], 1, [1, 2]), bad([2], [1], [3, 4], 2, [1, 2]),
           bad([2], [1], [3, 4], 9, [1, 2]), bad([2], [1], [3, 4], [1], [1, 2]),
           bad([3], [1], [3, 4], 1, [1, 2]), bad([], [1], [3, 4], 1, [1, 2])]
row("StatelessRandomGammaV3", [
    with_key(case, number) for number, case in enumerate(
        GAMMA + WRONG_SHAPES)] + UNKEYED, tol=0,
    dtypes=("float32", "float64", "float16"))
