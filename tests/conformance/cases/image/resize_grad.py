"""Cases of kernels/image/resize_grad.c."""
from tests.conformance.image_sizes import ALIGN, BOTH, HALF
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

GRADS = [
    (x(1, 4, 5, 3), x(1, 8, 7, 3)), (x(2, 5, 4, 1), x(2, 3, 9, 1)),
    (x(1, 9, 7, 2), x(1, 2, 3, 2)), (x(1, 3, 3, 4), x(1, 3, 3, 4)),
    (x(1, 1, 1, 3), x(1, 4, 5, 3)), (x(1, 5, 6, 2), x(1, 1, 1, 2)),
    (x(0, 2, 2, 3), x(0, 4, 4, 3)), (x(1, 2, 2, 0), x(1, 3, 3, 0)),
    # Of the image only the size is looked at.
    (x(1, 2, 2, 1), x(2, 3, 3, 2))]
row("ResizeBilinearGrad ResizeBicubicGrad", [
    c(*g, **attr) for attr in ({}, ALIGN, HALF) for g in GRADS] + [
    once(*g, **attr) for attr in ({}, ALIGN, HALF) for g in (
        (x(2, 100, 31, 3), x(2, 61, 47, 3)), (x(1, 40, 33, 1), x(1, 21, 50, 1)),
        (x(1, 31, 40, 1), x(1, 62, 9, 1)))] + [
    bad(x(2, 3), x(1, 2, 2, 1)), bad(x(1, 2, 2, 1), x(1)),
    bad(x(1, 0, 2, 1), x(1, 2, 2, 1)), bad(x(1, 2, 2, 1), x(1, 2, 0, 1)),
    bad(x(1, 2, 2, 1), x(1, 2, 2, 1), **BOTH)], tol=0)
