"""Cases of kernels/list/ragged_variant_grad.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph, sample
from tests.conformance.table import scenario

V = np.array([1, 2, 3], np.int32)
WIDE = np.arange(6, dtype=np.int32).reshape(3, 2)
TYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16,
         tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool,
         tf.complex64, tf.complex128, tf.string]


def packed(splits, values, batched=True):
    return raw.RaggedTensorToVariant(
        rt_nested_splits=[hidden(np.int64(s)) for s in splits],
        rt_dense_values=hidden(values), batched_input=batched)


def back(encoded, splits, shape, dtype=tf.int32, t=np.int64):
    return raw.RaggedTensorToVariantGradient(
        encoded_ragged_grad=hidden(encoded), row_splits=hidden(t(splits)),
        dense_values_shape=hidden(np.int32(shape)), Tvalues=dtype)


@scenario("RaggedTensorToVariantGradient", tol=0)
@fresh_graph
def values_behind_rows(side):
    splits = [0, 2, 2, 3]
    rows = packed([splits], V)
    missing = raw.TensorListReserve(element_shape=np.int32([]), num_elements=2,
                                    element_dtype=tf.int32)
    found = {
        "rows": back(rows, splits, [3]),
        "splits of 32 bits": back(rows, splits, [3], t=np.int32),
        "wide": back(packed([splits], WIDE), splits, [3, 2]),
        "two": back(packed([[0, 2, 3], [0, 1, 3, 3]], V), [0, 2, 3], [3]),
        "whole": back(packed([splits], V, False), splits, [3]),
        "whole as it is": back(packed([splits], V, False), splits, [7]),
        "one row": back(packed([[0, 3]], V), [0, 3], [3]),
        "no rows": back(packed([[0]], V[:0]), [0], [0]),
        "empty rows": back(packed([[0, 0, 0]], WIDE[:0]), [0, 0, 0], [0, 2]),
        "dense": back(packed([], V), 0, [3]),
        "another shape": back(rows, splits, [1, 3]),
        "other variants": back(tf.stack([missing, rows[0], missing]),
                               [0, 1, 3, 4], [4]),
        "other variants, wide": back(
            tf.stack([missing, packed([splits], WIDE)[0]]), [0, 1, 3], [3, 2]),
        "another variant": back(missing, [0, 2], [5]),
        "nothing": back(rows[:0], [0], [0]),
        "negative shape": back(rows, splits, [-3]),
    }
    for dtype in TYPES:
        found[dtype.name] = back(packed([splits], sample(dtype, (3,))), splits,
                                 [3], dtype)
    return answers(side, found)
