"""Cases of kernels/image/resize_nearest.c."""
from tests.conformance.image_sizes import (
    ALIGN, BOTH, FINE, HALF, LARGE, REFUSED, SIZES, sizes)
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("ResizeNearestNeighbor", sizes({}, ALIGN, HALF) + [
    bad(x(1, 2, 2, 1), [2, 2], **BOTH)], FINE, tol=0)
row("ResizeNearestNeighborGrad", [
    c(*size, **attr) for attr in ({}, ALIGN, HALF, BOTH) for size in SIZES] + [
    once(*size, **attr) for attr in ({}, ALIGN, HALF) for size in LARGE] + [
    c(x(1, 0, 2, 1), [2, 2]), c(x(1, 2, 2, 0), [2, 2])] + [
    bad(*size) for size in REFUSED[:5]], FINE, tol=0)
