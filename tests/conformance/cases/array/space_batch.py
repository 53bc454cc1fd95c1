"""Cases of kernels/array/space_batch.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import types_of, x
from tests.conformance.scenarios import attempt, fresh_graph, hidden, sample
from tests.conformance.table import bad, c, row, scenario

FOLDS = [  # x, block, paddings
    ((2, 4, 6, 3), [2, 3], [[0, 0], [0, 0]]),
    ((1, 4, 5, 2), [3, 2], [[1, 1], [2, 1]]),
    ((2, 3), [1], [[0, 0]]), ((2, 4), [2], [[1, 1]]),
    ((0, 4, 2), [2], [[0, 0]]), ((1, 0, 2), [2], [[1, 1]]),
    ((2, 2, 2, 2, 2), [2, 1, 2], [[0, 0], [1, 1], [2, 0]]),
    ((2, 4), [3], [[0, 0]]), ((2, 5), [3], [[0, 0]]), ((3,), [2], [[0, 0]])]
UNFOLDS = [  # x, block, crops
    ((12, 2, 2, 3), [2, 3], [[0, 0], [0, 0]]),
    ((6, 2, 4, 2), [3, 2], [[1, 1], [2, 1]]),
    ((2, 3), [1], [[0, 0]]), ((4, 3), [2], [[1, 1]]),
    ((0, 4, 2), [2], [[0, 0]]), ((4, 1), [2], [[1, 1]]),
    ((3, 4), [2], [[0, 0]]), ((2, 4), [2], [[5, 4]]), ((4,), [2], [[0, 0]])]


@scenario("SpaceToBatchND BatchToSpaceND")
@fresh_graph
def blocks_of_space(side):
    """The client wants to know the block's size; the rest is hidden."""
    out = {}
    with side.session() as session:
        for name in types_of("SpaceToBatchND")[::4]:
            for dims, block, pads in FOLDS:
                out["fold %s %s %s" % (name, dims, block)] = attempt(
                    session, tf.raw_ops.SpaceToBatchND(
                        input=hidden(sample(tf.as_dtype(name), dims)),
                        block_shape=block, paddings=hidden(pads)))
            for dims, block, pads in UNFOLDS:
                out["unfold %s %s %s" % (name, dims, block)] = attempt(
                    session, tf.raw_ops.BatchToSpaceND(
                        input=hidden(sample(tf.as_dtype(name), dims)),
                        block_shape=np.array(block, np.int64),
                        crops=hidden(np.array(pads, np.int64))))
    return out


NO_BORDER = [[0, 0], [0, 0]]
row("SpaceToBatch", [
    c(x(2, 4, 6, 3), NO_BORDER, block_size=2),
    c(x(1, 4, 5, 2), [[1, 1], [2, 2]], block_size=3),
    c(x(0, 4, 4, 2), NO_BORDER, block_size=2),
    c(x(1, 0, 4, 2), [[1, 1], [0, 0]], block_size=2),
    bad(x(4, 4, 1), NO_BORDER, block_size=2),
    bad(x(1, 4, 4, 1), [[0, 0]] * 3, block_size=2, words=False),
    bad(x(1, 3, 4, 1), NO_BORDER, block_size=2),
    bad(x(1, 3, 4, 1), [[-1, 0], [0, 0]], block_size=2, words=False)])
row("BatchToSpace", [
    c(x(8, 2, 3, 3), NO_BORDER, block_size=2),
    c(x(9, 2, 3, 2), [[1, 1], [2, 3]], block_size=3),
    c(x(0, 4, 4, 2), NO_BORDER, block_size=2),
    c(x(4, 1, 4, 2), [[1, 1], [0, 0]], block_size=2),
    bad(x(4, 4, 4), NO_BORDER, block_size=2),
    bad(x(4, 4, 4, 1), [[0, 0]] * 3, block_size=2, words=False),
    bad(x(3, 4, 4, 1), NO_BORDER, block_size=2),
    bad(x(4, 2, 4, 1), [[-1, 0], [0, 0]], block_size=2, words=False),
    bad(x(4, 2, 4, 1), [[3, 2], [0, 0]], block_size=2, words=False)])
