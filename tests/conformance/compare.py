"""Compares what a server answered with what TensorFlow answered."""
import numpy as np

# Relative tolerance where results may differ in the last bits.
TOLERANCE = {"float32": 4e-6, "float64": 1e-12, "float16": 2e-3,
             "bfloat16": 1.6e-2, "complex64": 1e-5, "complex128": 1e-12}

# On a GPU sums are folded in another order, and its functions of floats have
# their own last bits.
GPU_TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "float16": 4e-3,
                 "bfloat16": 3.2e-2, "complex64": 1e-4, "complex128": 1e-11}

SHOWN = 4  # differing elements named in a message


def difference(got, want, tol=1, check="value"):
    """None, or one line that says how got differs from want."""
    if isinstance(want, (str, bytes, type(None))):
        if isinstance(got, type(want)) and got == want:
            return None
        return "%.300r, not %.300r" % (got, want)
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype:
        return "type %s, not %s" % (got.dtype, want.dtype)
    if got.shape != want.shape:
        return "shape %s, not %s" % (list(got.shape), list(want.shape))
    if check == "shape":
        return None
    wrong = np.flatnonzero(_unequal(got.ravel(), want.ravel(), tol))
    if not len(wrong):
        return None
    shown = ", ".join("[%d] %r, not %r" % (i, got.ravel()[i], want.ravel()[i])
                      for i in wrong[:SHOWN])
    return "%d of %d elements: %s" % (len(wrong), want.size, shown)


def _unequal(got, want, tol):
    relative = TOLERANCE.get(str(want.dtype), 0) * tol
    if not relative:
        same = got == want
        if str(want.dtype) in TOLERANCE:
            same |= (got != got) & (want != want)
        return ~np.asarray(same, bool)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(got - want) <= relative * (1 + np.abs(want))
    # Infinities are near nothing, not even themselves; NaN equals NaN here.
    return ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
