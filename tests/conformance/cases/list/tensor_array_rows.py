"""Cases of kernels/list/tensor_array_rows.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts
from tests.conformance.cases.list.tensor_array import Old
from tests.conformance.scenarios import fresh_graph, hidden
from tests.conformance.table import scenario


@scenario("TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 "
          "TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3 "
          "TensorArrayReadV3 TensorArraySizeV3 TensorArrayGradV3")
@fresh_graph
def tensor_arrays_of_rows(side):
    def array(size=3, **more):
        return tf.TensorArray(tf.float32, size, **more)

    tf.disable_control_flow_v2()
    rows = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    out = {
        "unstack": array().unstack(rows).stack(),
        "gather": array().unstack(rows).gather([2, 0]),
        "gather 3": array().unstack(rows).gather(hidden([3])),
        "concat": array().unstack(rows).concat(),
        "split": array(2, infer_shape=False).split(rows, [1, 2]).concat(),
        "split 2 of 3": array(2, infer_shape=False).split(
            rows, hidden(np.array([1, 1], np.int64))).flow,
        "split to 4": array(4, infer_shape=False).split(
            rows, [1, 1, 1]).concat(),
        "split to 1": array(1, infer_shape=False).split(rows, [1, 2]).flow,
        "split and more": array(
            1, dynamic_size=True, infer_shape=False).split(
                rows, [1, 2]).write(2, rows).concat(),
    }
    for own in (None, [2], [3]):
        a = array(0, element_shape=[2], infer_shape=False)
        out["nothing of %s" % own] = tf.raw_ops.TensorArrayGatherV3(
            handle=a.handle, indices=np.zeros(0, np.int32), flow_in=a.flow,
            dtype=tf.float32, element_shape=own)
    out["of concat"] = tf.gradients(array().unstack(rows).concat() * 2.0, rows)
    out["of split"] = tf.gradients(
        array(2, infer_shape=False).split(rows, [1, 2]).read(1) * 3.0, rows)
    a = array(2, dynamic_size=True, infer_shape=False).split(rows, [1, 2])
    a = a.write(2, rows[:1] * 2.0)
    out["of split and more"] = tf.gradients([a.read(1) * 3.0, a.read(2)], rows)
    return attempts(side, out)


def old_arrays(suffix):
    """The rows of arrays in an older spelling."""
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    F = tf.float32

    def array(*args, **options):
        return Old(suffix, *args, **options)

    def scattered(a, value, indices):
        a.flow = a.op("Scatter", indices, value, a.flow, T=F)
        return a

    def split(a, lengths, value=rows):
        a.flow = a.op("Split", value, tf.cast(lengths, tf.int64), a.flow, T=F)
        return a

    def gather(a, indices, **shape):
        return a.op("Gather", indices, a.flow, dtype=F, **shape)

    def concat(a, **shape):
        return a.op("Concat", a.flow, dtype=F, **shape)

    out = {
        "gather": gather(scattered(array(), rows, [2, 0, 1]), [0, 2]),
        "gather 3": gather(array(), hidden([3])),
        "gather by a matrix": gather(array(), hidden([[0]])),
        "gather nothing": gather(array(), np.zeros(0, np.int32),
                                 element_shape=[2]),
        "scatter 2 of 3": scattered(array(), hidden(rows[:2]), [0, 1, 2]).flow,
        "scatter to 7": scattered(array(), rows, hidden([0, 1, 7])).flow,
        "concat": concat(split(array(2), [1, 2])),
        "concat nothing": concat(array(0)),
        "concat nothing of 2": concat(array(0), element_shape_except0=[2]),
        "split 2 of 3": split(array(2), hidden(np.array([1, 1]))).flow,
        "split to 1": split(array(1), [1, 2]).flow,
    }
    g = split(array(2), [1, 2]).grad("g")
    out["of split"] = concat(split(g, [1, 2]))
    return out


@scenario("TensorArrayGather TensorArrayScatter TensorArrayConcat "
          "TensorArraySplit TensorArrayPack TensorArrayUnpack TensorArrayGrad")
@fresh_graph
def rows_of_arrays_by_reference(side):
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)

    def unpacked(value=rows, *args, **options):
        a = Old("", *args, **options)
        a.flow = a.op("Unpack", value, a.flow, T=tf.float32)
        return a

    def pack(a, **shape):
        return a.op("Pack", a.flow, dtype=tf.float32, **shape)

    out = old_arrays("")
    out.update({
        "pack": pack(unpacked()),
        "pack unset": pack(Old("", element_shape=[2])),
        "pack nothing": pack(Old("", 0)),
        "pack nothing of 2": pack(Old("", 0), element_shape=[2]),
        "pack nothing of its 2": pack(Old("", 0, element_shape=[2])),
        "unpack 3 of 2": unpacked(rows, 2).flow,
        "unpack 3 of 4": unpacked(rows, 4, dynamic_size=True).flow,
        "unpack 3 of 2 and more": pack(unpacked(rows, 2, dynamic_size=True)),
        "unpack nothing": unpacked(rows[:0], 0).flow,
        "unpack a scalar": unpacked(hidden(1.0)).flow})
    a = unpacked(rows, 2, dynamic_size=True, element_shape=[2])
    out["of more"] = pack(a.write(4, rows[0]).grad("g"))
    return attempts(side, out)


@scenario("TensorArrayGatherV2 TensorArrayScatterV2 TensorArrayConcatV2 "
          "TensorArraySplitV2 TensorArrayGradV2")
@fresh_graph
def rows_of_arrays_by_name(side):
    return attempts(side, old_arrays("V2"))
