"""Cases of kernels/random/truncated_normal.c."""
import dataclasses

import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

INF = np.inf
# Proposals: normals, uniforms, exponentials, and mirrored ones of each.
ROWS = [
    every([5], 0, 1, -1.5, 2), c([4, 3], 0.5, 2, 0.25, 0.75),
    c([7], 0, 1, 3, 9), c([7], 0, 1, 3, INF), c([7], 0, 1, -INF, -3),
    c([7], 5, 2, -INF, 6), c([7], 0, 1, -4, -3.5), c([9], 0, 1, -0.5, 0.5),
    c([3, 50], [0, 1, 2], [1, 2, 0.5], [-1, -INF, 3], [1, 0, INF]),
    c([3, 2], [1], [2], -1, [0.5, 1, 2]), c([2, 7], [0], 1, [1, 2], 4),
    c([250], 1, 3, -2, 2), c([3, 4], [0], [1], [-1], [1]), c([0], 0, 0, 1, 1),
    c([3, 0], 0, 0, 1, 1), c([2 ** 20, 0], [0], 1, [-1], 1),
    c([0, 2], x(0), 1, 1, 2)]
WRONG = [
    bad([], 0, 1, -1, 1), bad(3, 0, 1, -1, 1), bad([[3]], 0, 1, -1, 1),
    bad([-3], 0, 1, -1, 1), bad([3], 0, 0, -1, 1), bad([3], 0, -1, -1, 1),
    bad([3], 0, 1, 1, 1), bad([3], 0, 1, 2, 1), bad([3], 0, 1, -INF, INF),
    bad([3], np.nan, 1, -1, 1), bad([3], 0, np.nan, -1, 1),
    bad([3], 0, 1, np.nan, 1), bad([2 ** 31 - 1] * 3, 0, 1, -1, 1)]
row("ParameterizedTruncatedNormal", [
    dataclasses.replace(case, attrs=dict(seed=6, seed2=number))
    for number, case in enumerate(ROWS + WRONG + [
        bad([3], [[1]], 1, -1, 1), bad([3], 1, [[1]], -1, 1),
        bad([3], 1, 1, [[1]], 2), bad([3], 1, 1, 1, [[2]]),
        bad([3], [1, 2], 1, -1, 1), bad([3], 1, [1, 2], -1, 1),
        bad([3], 1, 1, [1, 2], 3), bad([3], 1, 1, 1, [1, 2]),
        bad([3], x(0), 1, 1, 2), bad([3, 0], [0, 1, 2], 0, -1, 1)])],
    tol=0, runs=3, dtypes=("float32", "float64", "float16"))


def with_seeds(case, number):
    """A stateless case, whose shape ends with that of the parameters."""
    shape, *parameters = case.inputs
    return dataclasses.replace(case, inputs=(shape, [number, -3],
                                             *parameters))


SCALARS = [case for case in ROWS if all(
    np.ndim(p) == 0 for p in case.inputs[1:] if not hasattr(p, "shape"))]
row("StatelessParameterizedTruncatedNormal", [
    with_seeds(case, number) for number, case in enumerate(
        SCALARS[:-1] + WRONG[1:] + [
            c([2, 3], [[1], [2]], [1, 2, 3], -1, 3),
            c([50, 2, 3], [[1], [2]], [1, 2, 3], -INF, [[0], [1]]),
            c([4, 3], [0, 1, 2], [1, 2, 0.5], [-1, -INF, 3], [1, 0, INF]),
            c([], 0, 1, -1, 1), c([2, 0], x(0), 1, -1, 1), c([0], 0, 0, 1, 1),
            once([1000], 0, 1, 0.1, 0.2),
            bad([5], [1, 2], 1, -1, 2), bad([5], [1, 2], [1, 2, 3], -1, 2),
            bad([2], [1, 2], 1, [1, 2, 3], 2), bad([], [1, 2], 1, -1, 3),
            bad([2], 0, 1, [0, 1], [1, 1])])] + [
    bad([5], [1], 0, 1, -1, 2), bad([5], 1, 0, 1, -1, 2),
    bad([5], [[1, 2]], 0, 1, -1, 2), bad([5], [1, 2, 3], [1, 2], 1, -1, 2)],
    tol=0, dtypes=("float32", "float64", "float16"))
