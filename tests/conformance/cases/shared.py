"""Data and inputs that several rooms have in common."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import c, once

IDS = [i * 7 % 40 for i in range(300)]
ANY = Data(special=True)
SMALL = Data(-4, 4)
POSITIVE = Data(0.1, 9)
UNIT = Data(-0.9, 0.9)
DIVISOR = Data(-9, 9, nonzero=True)
REALS = ("float32", "float64", "float16", "bfloat16")
SHAPES = [c(x(2, 13)), c(x()), c(x(1)), c(x(0)), c(x(2, 0, 3)),
          c(x(1, 3, 1, 2, 1, 4)), once(x(300, 70))]
NONE = np.zeros([0])
# Indices of a sparse tensor.
PLACES = [[0, 0], [0, 1], [0, 3], [2, 0]]
BACK = PLACES[::-1]
TWICE_THERE = [[0, 0], [0, 0], [0, 1]]
NOWHERE = np.zeros([0, 2])
