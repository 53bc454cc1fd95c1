"""Cases of kernels/array/reverse_sequence.c."""
import numpy as np

from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("ReverseSequence", [
    c(x(3, 5), [0, 5, 3], seq_dim=1), c(x(5, 3), [1, 2, 5], seq_dim=0,
                                        batch_dim=1),
    c(x(2, 4, 3), [4, 2], seq_dim=1), c(x(2, 4, 3), [1, 3], seq_dim=2),
    c(x(4, 2, 3), [4, 2, 3], seq_dim=0, batch_dim=2),
    c(x(2, 3, 2, 4, 2), [4, 1, 3], seq_dim=3, batch_dim=1),
    c(x(2, 4, 16), [4, 2], seq_dim=1), c(x(4, 2, 6), [1, 3], batch_dim=1,
                                         seq_dim=0),
    c(x(3, 5, 2, 20), [0, 5, 3], seq_dim=1),
    bad(x(2, 4, 16), [4], seq_dim=1),
    c(x(0, 3), np.zeros([0]), seq_dim=1), c(x(2, 0), [0, 0], seq_dim=1),
    c(x(2, 3, 0), [2, 3], seq_dim=1),
    bad(np.arange(15).reshape(3, 5), [0, 6, 3], seq_dim=1,
        gpu=c(np.arange(15).reshape(3, 5), [0, 5, 3], seq_dim=1)),
    bad(np.arange(15).reshape(3, 5), [0, -1, 3], seq_dim=1,
        gpu=c(np.arange(15).reshape(3, 5), [0, 0, 3], seq_dim=1)),
    bad(x(3, 5), [0, 1], seq_dim=1), bad(x(3, 5), [0, 1, 2], seq_dim=0),
    bad(x(3, 5), [0, 1, 2], seq_dim=2), bad(x(3), [0, 1, 2], seq_dim=1),
    bad(x(3, 5), [0, 1, 2], seq_dim=1, batch_dim=3),
    bad(x(3, 5), [[0, 1, 2]], seq_dim=1), bad(x(3, 5), 1, seq_dim=1),
    bad(x(2, 3, 1, 1, 1, 1), [1, 1], seq_dim=1)], ANY)
