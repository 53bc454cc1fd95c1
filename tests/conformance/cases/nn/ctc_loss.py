"""Cases of kernels/nn/ctc_loss.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

# Of two items: three labels, and two.
PLACES = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
LABELS = [0, 1, 1, 2, 0]
LONG = [[b, i] for b in range(3) for i in range(9)]
MERGED = {"preprocess_collapse_repeated": True}
STRICT = {"ctc_merge_repeated": False}
IGNORED = {"ignore_longer_outputs_than_inputs": True}

# In both types the exponentials are those of float.  Of double their arguments
# may be differences of floats, half-way between two others, and go either way:
# cases where that shows are of float alone.  TensorFlow adds up in float; 150
# steps are what the tolerance is for.
NARROW = {"dtypes": ("float32",)}

# Labels that are all of the last class leave no label, for which TensorFlow
# writes outside of its matrices: no case of it here.
row("CTCLoss", [
    c(x(6, 2, 4), PLACES, LABELS, [6, 5]),
    c(x(6, 2, 4), PLACES, LABELS, [6, 5], **MERGED),
    c(x(6, 2, 4), PLACES, LABELS, [6, 5], **STRICT),
    c(x(6, 2, 4), PLACES, LABELS, [6, 5], **NARROW, **MERGED, **STRICT),
    # Not enough steps for all labels, or for the blank between two equal ones.
    c(x(6, 2, 4), PLACES, LABELS, [2, 5], **NARROW, **IGNORED),
    c(x(6, 2, 4), PLACES, LABELS, [0, 3], **IGNORED),
    c(x(6, 2, 4), PLACES, LABELS, [3, 2]),
    c(x(6, 2, 4), PLACES, [0, 1, 9, 2, 3], [6, 5]),
    c(x(1, 2, 3), [[0, 0], [1, 0]], [0, 1], [1, 1]),
    # Without a number there is no gradient, of classes that no label has, too.
    once([[[1, 2, 0]], [[np.nan, 1, 0]]], [[0, 0], [0, 1]], [1, 1], [2]),
    once([[[1, 2, 0]], [[np.nan, 1, 0]]], [[0, 0], [0, 1]], [0, 1], [2]),
    c(x(12, 3, 30), LONG, [(7 * i + i // 4) % 29 for i in range(27)],
      [12, 10, 11]),
    once(x(150, 2, 40), [[b, i] for b in range(2) for i in range(40)],
         [i * 3 % 39 for i in range(80)], [150, 133]),
    bad(x(6, 4), PLACES, LABELS, [6, 5]),
    bad(x(6, 2, 4), PLACES, LABELS, [[6, 5]]),
    bad(x(6, 2, 4), PLACES, [LABELS], [6, 5]),
    bad(x(6, 2, 4), [0, 1, 2, 3, 4], LABELS, [6, 5]),
    bad(x(6, 2, 4), PLACES, LABELS, [6, 5, 5]),
    bad(x(6, 2, 4), PLACES, LABELS[1:], [6, 5]),
    bad(x(6, 0, 4), x(0, 2), x(0), x(0)),
    bad(x(6, 2, 4), [[i] for i in range(5)], LABELS, [6, 5]),
    bad(x(6, 2, 4), [[0, 0, i] for i in range(5)], LABELS, [6, 5]),
    bad(x(6, 2, 4), PLACES[::-1], LABELS, [6, 5]),
    bad(x(6, 2, 4), [[0, 0], [1, 0], [1, 0]], LABELS[:3], [6, 5]),
    bad(x(6, 2, 4), [[0, 0], [1, 0], [2, 0]], LABELS[:3], [6, 5]),
    bad(x(6, 2, 4), [[0, -1], [1, 0], [1, 1]], LABELS[:3], [6, 5]),
    bad(x(6, 2, 4), x(0, 2), x(0), [6, 5]),
    bad(x(6, 2, 4), [[0, 0]], [0], [6, 5]),
    bad(x(0, 2, 4), [[0, 0], [1, 0]], [0, 1], [0, 0], **IGNORED),
    bad(x(6, 2, 4), PLACES, LABELS, [6, 7]),
    bad(x(6, 2, 4), PLACES, LABELS, [6, -1]),
    bad(x(6, 2, 4), PLACES, LABELS, [2, 5]),
    bad(x(6, 2, 4), PLACES, [0, 3, 1, 2, 0], [6, 5]),
    bad(x(6, 2, 4), PLACES, [0, -1, 1, 2, 0], [6, 5])],
    Data(-2, 2), tol=32)
