"""Cases of kernels/ragged/ragged_to_tensor.c."""
from tests.cluster.client import tf
from tests.conformance.cases.shared import ANY, NONE
from tests.conformance.inputs import x
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import bad, c, every, many, once, row, scenario

ONE, TWO = [0, 2, 2, 3], ([0, 2, 3], [0, 1, 3, 3])
SPLITS, IDS = ["ROW_SPLITS"], ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
OPEN = [-1, -1]
LONG = sorted(i * 37 % 3000 for i in range(80))


def dense(shape, values, default, parts, types, make=c):
    return make(shape, values, default, many(*parts), row_partition_types=types)


def wrong(*parts):
    return dense(*parts, make=bad)


row("RaggedTensorToTensor", [
    dense(OPEN, x(3), x(), [ONE], SPLITS), dense(OPEN, x(3), x(), [4, [0, 0, 2]], IDS, every),
    dense([2, 4], x(3), x(), [ONE], SPLITS), dense([5, 1], x(3), x(), [ONE], SPLITS),
    dense([-1, -1, -1], x(3), x(), TWO, SPLITS * 2),
    dense([-1, -1, 2], x(3, 2), x(), [ONE], SPLITS), dense([-1, -1, 2], x(3, 2), x(2), [ONE], SPLITS),
    dense([-1, -1, -1], x(3, 2), x(1), [ONE], SPLITS), dense(OPEN, x(0), x(), [[0, 0]], SPLITS),
    dense([2, 3], x(0), x(), [[0, 0]], SPLITS), dense(OPEN, x(0), x(), [[0]], SPLITS),
    dense([0, 0], x(3), x(), [ONE], SPLITS), dense(OPEN, x(3), x(), [[0, 2]], SPLITS),
    dense(OPEN, x(3), x(), [3, [0, 1]], IDS),
    dense([-1, -1, -1], x(3), x(), [2, [0, 0, 1], [0, 1, 1]], IDS + ["VALUE_ROWIDS"]),
    dense([-1, 1, 2], x(3), x(), TWO, SPLITS * 2), dense([1, -1, 1], x(3), x(), TWO, SPLITS * 2),
    dense([-1, -1, 2, 3], x(3, 2, 3), x(2, 1), [ONE], SPLITS),
    dense(OPEN, x(3000), x(), [[0, *LONG, 3000]], SPLITS, once),
    wrong([-1, -1, 2], x(3, 2), x(3), [ONE], SPLITS), wrong([-1], x(3), x(), [ONE], SPLITS),
    wrong([-1, -1, -1], x(3), x(), [ONE], SPLITS), wrong([-2, -1], x(3), x(), [ONE], SPLITS),
    wrong(OPEN, x(3), x(), [[1, 3]], SPLITS), wrong(OPEN, x(3), x(), [[0, 2, 1, 3]], SPLITS),
    wrong(OPEN, x(3), x(), [2, [0, 0, 5]], IDS), wrong(OPEN, x(3), x(), [2, [-1, 0, 1]], IDS),
    wrong(OPEN, x(3), x(), [NONE], SPLITS), wrong(OPEN, x(), x(), [[0, 1]], SPLITS),
    wrong([-1, -1, 3], x(3, 2), x(), [ONE], SPLITS), wrong(OPEN, x(3), x(), [-4, [0, 0, 2]], IDS),
    wrong([-1, -1, -1], x(3), x(), [[0, 1], [0, 1, 3]], SPLITS * 2)], ANY)


@scenario("RaggedTensorToTensor")
@fresh_graph
def no_shape_at_all(side):
    """A scalar -1, which must be a constant."""
    with side.session() as session:
        return {str(parts): told(session, tf.raw_ops.RaggedTensorToTensor(
            shape=tf.constant(-1, tf.int64), values=hidden([[1.0], [2.0], [3.0]]),
            default_value=hidden(9.0), row_partition_tensors=[
                hidden(tf.constant(part, tf.int64)) for part in parts],
            row_partition_types=SPLITS * len(parts))) for parts in ([ONE], TWO)}
