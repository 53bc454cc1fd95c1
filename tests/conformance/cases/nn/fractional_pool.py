"""Cases of kernels/nn/fractional_pool.c."""
import numpy as np

from tests.conformance.cases.shared import SMALL
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row


def shrink(rows, columns, seed=1, seed2=2, **attrs):
    return {"pooling_ratio": [1.0, rows, columns, 1.0], "deterministic": True,
            "seed": seed, "seed2": seed2, **attrs}


POOLS = [
    c(x(*image), **shrink(*ratios, seed, pseudo_random=pseudo,
                          overlapping=overlapping))
    for seed, (image, ratios) in enumerate((
        ((1, 7, 9, 2), (1.44, 1.73)), ((2, 30, 41, 1), (1.3, 2.7)),
        ((1, 23, 17, 3), (2.3, 1.0)), ((1, 5, 6, 70), (1.5, 3.0)),
        ((1, 1, 1, 1), (1.0, 1.0)), ((1, 5, 9, 1), (5.0, 4.7))))
    for pseudo in (False, True) for overlapping in (False, True)]
RATIOS_WRONG = [
    bad(x(1, 5, 5, 2), **{**shrink(1.5, 1.5), "pooling_ratio": ratio})
    for ratio in ([1.5, 1.5, 1.5, 1.0], [1.0, 1.5, 1.5, 1.5],
                  [1.0, float("nan"), 1.5, 1.0],
                  [1.0, float("inf"), 1.5, 1.0], [1.0, 6.0, 1.5, 1.0],
                  [1.0, 1.5, 5.5, 1.0])]
row("FractionalMaxPool FractionalAvgPool", POOLS + RATIOS_WRONG + [
    once(x(1, 300, 200, 2), **shrink(1.7, 1.2, 7, 0)),
    once(x(1, 300, 200, 2), **shrink(1.7, 1.2, 0, 9, pseudo_random=True)),
    once(x(1, 12, 9, 2), **shrink(2.0, 3.0, 4)),
    bad(x(5, 5, 2), **shrink(1.5, 1.5)),
    bad(x(0, 5, 5, 2), **shrink(1.5, 1.5)),
    bad(x(1, 0, 5, 2), **shrink(1.5, 1.5)),
    bad(x(1, 5, 5, 0), **shrink(1.5, 1.5)),
    bad(x(1, 5, 5, 2), **shrink(1.5, 1.5, deterministic=False)),
    bad(x(1, 5, 5, 2), **shrink(1.5, 1.5, 0, 1, deterministic=False))],
    SMALL, tol=4)
SEQUENCES = [
    ((1, 5, 5, 2), (1, 3, 3, 2), [0, 2, 4, 5], [0, 1, 3, 5]),
    ((2, 6, 4, 3), (2, 3, 2, 3), [0, 2, 4, 6], [0, 1, 4]),
    ((1, 4, 4, 70), (1, 2, 3, 70), [0, 1, 4], [0, 1, 2, 4]),
    ((1, 1, 1, 1), (1, 1, 1, 1), [0, 1], [0, 1]),
    ((1, 5, 5, 1), (1, 2, 2, 1), [1, 2, 4], [0, 3, 9]),
]
FIVE, ROWS_AT, COLUMNS_AT = (1, 5, 5, 2), [0, 2, 4, 5], [0, 1, 3, 5]
row("FractionalAvgPoolGrad", [
    c(list(image), x(*dy), rows, columns, overlapping=overlapping)
    for image, dy, rows, columns in SEQUENCES
    for overlapping in (False, True)] + [
    bad([5, 5, 2], x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT),
    bad([1, -5, 5, 2], x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT),
    bad([1, 0, 5, 2], x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT),
    bad([1, 5, 5, 2], x(3, 3, 2), ROWS_AT, COLUMNS_AT),
    bad([1, 5, 5, 2], x(1, 0, 3, 2), ROWS_AT, COLUMNS_AT),
    bad([1, 5, 5, 2], x(1, 3, 3, 2), ROWS_AT[:3], COLUMNS_AT),
    bad([1, 5, 5, 2], x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT[:2]),
    bad([1, 5, 5, 2], x(1, 3, 3, 2), [0, -2, 4, 5], COLUMNS_AT, words=False),
    bad([1, 5, 5, 2], x(1, 3, 3, 2), ROWS_AT, [-1, 1, 3, 5], words=False)],
    SMALL, tol=4)


def pooled(image, rows, columns, overlapping):
    """Maxima of the windows, without TensorFlow."""
    def stretch(at, i):
        return slice(at[i], at[i + 1] + overlapping)
    return np.stack([np.stack([
        image[:, stretch(rows, i), stretch(columns, j)].max(axis=(1, 2))
        for j in range(len(columns) - 1)], 1)
        for i in range(len(rows) - 1)], 1)


def max_grad(dims, rows, columns, overlapping, make=c, wrong=0, **changes):
    """Of an image with equal maxima; `changes` has other inputs by number."""
    image = np.arange(np.prod(dims)).reshape(dims) * 7 % 11 - 5
    y = pooled(image, rows, columns, overlapping)
    inputs = [image.tolist(), (y + wrong).tolist(), x(*y.shape), rows, columns]
    for number, value in changes.items():
        inputs[int(number[1:])] = value
    return make(*inputs, overlapping=overlapping)


row("FractionalMaxPoolGrad", [
    # Of an image of one element TensorFlow refuses its own sequences.
    max_grad(image, rows, columns, overlapping)
    for image, _, rows, columns in SEQUENCES if image != (1, 1, 1, 1)
    for overlapping in (False, True)] + [
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, wrong=1),
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, i4=[0, 3, 3, 5]),
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, i3=[[0, 2], [4, 5]]),
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, i4=[[0, 1], [3, 5]]),
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, i0=x(1, 0, 5, 2)),
    max_grad(FIVE, ROWS_AT, COLUMNS_AT, False, bad, i1=x(1, 0, 5, 2)),
    bad(x(5, 5, 2), x(1, 3, 3, 2), x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT, words=False),
    bad(x(1, 5, 5, 2), x(3, 3, 2), x(1, 3, 3, 2), ROWS_AT, COLUMNS_AT, words=False)],
    SMALL, tol=4)
