"""Compares what a server answered with what TensorFlow answered."""
import dataclasses
import hashlib

import numpy as np

# Relative tolerance where results may differ in the last bits, by type: of a
# CPU and TensorFlow's; and of a GPU, TensorFlow's and the CPU's beside it.  On
# a GPU sums are folded in another order, and its functions of floats have their
# own last bits.  Other types: to the bit.
TOLERANCES = {
    "float32": (4e-6, 1e-4),
    "float64": (1e-12, 1e-11),
    "float16": (2e-3, 4e-3),
    "bfloat16": (1.6e-2, 3.2e-2),
    "complex64": (1e-5, 1e-4),
    "complex128": (1e-12, 1e-11),
}
TOLERANCE = {kind: cpu for kind, (cpu, _) in TOLERANCES.items()}
GPU_TOLERANCE = {kind: gpu for kind, (_, gpu) in TOLERANCES.items()}

# Sums of the same terms are so many rounding errors of their sizes' sum apart.
ROUNDINGS = 8
# The rounding error of 1, by type.
EPSILON = {"float32": 2**-24, "float64": 2**-53, "float16": 2**-11,
           "bfloat16": 2**-8}

SHOWN = 4  # differing elements named in a message
KEPT = 1 / 32  # of a tolerance may be lost where a value is written down


@dataclasses.dataclass(frozen=True)
class Digest:
    """Stands for an array that another must be equal to."""

    dtype: object
    shape: tuple
    sha256: bytes


def digest(array):
    """Of the bytes; all zeros are alike and all NaNs, as when compared."""
    array = np.asarray(array)
    if str(array.dtype) in TOLERANCE:
        nan, zero = (array.dtype.type(value) for value in (np.nan, 0))
        array = np.where(array != array, nan, array + zero)
    return hashlib.sha256(array.tobytes()).digest()


def tolerance(array, tol):
    """The relative tolerance; 0: to the bit."""
    return TOLERANCE.get(str(array.dtype), 0) * tol


def rounding(kind, size):
    """How far apart sums may be, of terms whose sizes make `size`, whatever
    their order and however much of them cancels; a GPU's are further apart as
    its usual tolerance is larger."""
    device = TOLERANCE[kind] / TOLERANCES[kind][0]
    return ROUNDINGS * EPSILON[kind] * device * np.asarray(size, np.float64)


def rounded(array, tol):
    """The array with fewer bits, as near as a small part of its tolerance."""
    if array.dtype.kind != "f":
        return array
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        step = np.exp2(np.floor(np.log2(
            2 * KEPT * tolerance(array, tol) * (1 + np.abs(wide)))))
        short = (np.round(wide / step) * step).astype(array.dtype)
    return np.where(np.isfinite(short), short, array)


def difference(got, want, tol=1, check="value", size=None):
    """None, or one line that says how got differs from want; size: of the
    terms that each element is the sum of (table.Row), None: not known."""
    if isinstance(want, (str, bytes, type(None))):
        if isinstance(got, type(want)) and got == want:
            return None
        return "%.300r, not %.300r" % (got, want)
    got = np.asarray(got)
    if not isinstance(want, Digest):
        want = np.asarray(want)
    if got.dtype != want.dtype:
        return "type %s, not %s" % (got.dtype, want.dtype)
    if got.shape != want.shape:
        return "shape %s, not %s" % (list(got.shape), list(want.shape))
    if check == "shape":
        return None
    if isinstance(want, Digest):
        return None if digest(got) == want.sha256 else "other bits: %s ..." % (
            ", ".join("%r" % v for v in got.ravel()[:SHOWN]))
    wrong = np.flatnonzero(_unequal(got.ravel(), want.ravel(), tol, size))
    if not len(wrong):
        return None
    shown = ", ".join("[%d] %r, not %r" % (i, got.ravel()[i], want.ravel()[i])
                      for i in wrong[:SHOWN])
    return "%d of %d elements: %s" % (len(wrong), want.size, shown)


def _unequal(got, want, tol, size):
    relative = tolerance(want, tol)
    if not relative:
        same = got == want
        if str(want.dtype) in TOLERANCE:
            same |= (got != got) & (want != want)
        return ~np.asarray(same, bool)
    kind, wide = str(want.dtype), np.float64
    if want.dtype.kind == "c":
        wide = np.complex128
    got, want = got.astype(wide), want.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = relative * (1 + np.abs(want))
        if size is not None:
            allowed = np.minimum(allowed, rounding(kind, size.ravel()))
        near = np.abs(got - want) <= allowed
    # Infinities are near nothing, not even themselves; NaN equals NaN here.
    return ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
