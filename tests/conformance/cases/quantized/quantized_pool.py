"""Cases of kernels/quantized/quantized_pool.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row


def window(ksize=(2, 2), strides=(1, 1), padding="VALID"):
    return {"ksize": [1, *ksize, 1], "strides": [1, *strides, 1],
            "padding": padding}


TWO = window()

GOOD = [
    c(x(2, 5, 7, 3), -1, 2, **window(ksize, strides, padding))
    for ksize, strides in [((2, 2), (1, 1)), ((3, 2), (2, 2)), ((1, 1), (1, 1)),
                           ((3, 3), (1, 2)), ((5, 7), (5, 7)), ((2, 3), (3, 4))]
    for padding in ("VALID", "SAME")] + [
    c(x(1, 3, 3, 300), 0, 1, **TWO), c(x(1, 1, 1, 1), 3, 1, **window((1, 1))),
    once(x(2, 60, 50, 5), 0, 1, **window((3, 3), (2, 2), "SAME"))]
# Here TensorFlow itself divides by 0.
DEADLY = [
    bad(x(1, 3, 3, 2), 0, 1, words=False, **{**TWO, "ksize": [1, 0, 1, 1]})]
BAD = [
    bad(x(3, 3, 2), 0, 1, **TWO), bad(x(3), 0, 1, **TWO),
    bad(x(1, 3, 3, 2), [0], 1, **TWO), bad(x(1, 3, 3, 2), 0, [1, 2], **TWO),
    bad(x(1, 0, 3, 2), 0, 1, **TWO),
    bad(x(1, 3, 3, 2), 0, 1, **{**TWO, "ksize": [2, 1, 1, 1]}),
    bad(x(1, 3, 3, 2), 0, 1, **{**TWO, "strides": [2, 1, 1, 1]}),
    bad(x(1, 3, 3, 2), 0, 1, **{**TWO, "ksize": [1, 1, 1, 2]}),
    bad(x(1, 3, 3, 2), 0, 1, **{**TWO, "ksize": [1, 2, 2, 2]})]

row("QuantizedMaxPool", GOOD + BAD + DEADLY, Data(-300, 300), tol=0)
row("QuantizedAvgPool", GOOD + BAD, Data(-300, 300), tol=0)
