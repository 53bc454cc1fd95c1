"""Values of the inputs of conformance cases: drawn, the same in every run."""
import dataclasses
import zlib

import ml_dtypes
import numpy as np

from tests.conformance.values import numpy_type

STRINGS = [b"", b"a", b"bc", b"\x00\xff", b"a longer string, past any inline "
           b"storage", "\u00fc".encode(), b"bc"]


@dataclasses.dataclass(frozen=True)
class Data:
    """How to draw values: a range, and whether to add the awkward ones."""

    low: float = -20
    high: float = 20
    special: bool = False
    nonzero: bool = False

    def draw(self, dtype, dims, seed):
        """dtype: TensorFlow's, or its name."""
        name = getattr(dtype, "name", dtype)
        rng = np.random.RandomState(zlib.crc32(seed.encode()))
        count = int(np.prod(dims, dtype=np.int64))
        flat = self._flat(name, numpy_type(name), count, rng)
        return flat.reshape(dims)

    def _flat(self, name, drawn, count, rng):
        if name == "string":
            picks = rng.randint(0, len(STRINGS), count)
            return np.array([STRINGS[i] for i in picks], object)
        if name == "bool":
            return rng.rand(count) < 0.5
        if name.startswith("complex"):
            parts = rng.uniform(self.low, self.high, (2, count)) / 4
            return (parts[0] + 1j * parts[1]).astype(drawn)
        if "float" in name:
            values = rng.uniform(self.low, self.high, count)
            return self._awkward_floats(values, drawn, rng)
        return self._integers(drawn, count, rng)

    def _awkward_floats(self, values, drawn, rng):
        values = values.astype(drawn)
        if self.special and len(values) > 3:
            limits = ml_dtypes.finfo(drawn)
            awkward = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5,
                       limits.max, limits.min]
            where = rng.permutation(len(values))[:len(awkward)]
            values[where] = np.array(awkward, values.dtype)[:len(where)]
        return values

    def _integers(self, drawn, count, rng):
        # Quantised types are structs.
        stored = drawn[0] if drawn.names else drawn
        unsigned = np.iinfo(stored).min == 0
        low = max(0, self.low) if unsigned else self.low
        values = rng.randint(int(low), int(self.high) + 1, count)
        if self.nonzero:
            values[values == 0] = 1
        values = values.astype(stored)
        if self.special and count > 3:
            values[rng.permutation(count)[:2]] = [
                np.iinfo(stored).min, np.iinfo(stored).max]
        return values.astype(drawn)
