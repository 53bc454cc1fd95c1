"""Cases of kernels/data_graph/dataset_rebatch.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, data, elements,
                                                    hidden, raw, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


class Cut(tf.data.Dataset):
    """A dataset whose batches are cut anew."""

    def __init__(self, cut, types):
        self._types = types
        self._made = cut({"output_types": types,
                          "output_shapes": [None] * len(types)})
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return tuple(tf.TensorSpec(None, t) for t in self._types)


def batches(side, made):
    """made: name -> variant, types."""
    return elements(side, {
        name: lambda c=cut, t=types: Cut(c, t)
        for name, (cut, types) in made.items()}, 14)


MAKERS = {
    "ten": (lambda: data.range(10).batch(4), [tf.int64]),
    "seven": (lambda: data.range(7).batch(7), [tf.int64]),
    "none": (lambda: data.range(0).batch(4), [tf.int64]),
    "scalars": (lambda: data.range(3), [tf.int64]),
    "texts": (lambda: data.from_tensor_slices(["a", "b", "c"]).batch(2),
              [tf.string]),
    "matrices": (lambda: data.from_tensor_slices(
        [[1., 2.], [3., 4.], [5., 6.]]).batch(2), [tf.float32]),
    "pairs": (lambda: data.from_tensor_slices(
        ([1, 2, 3], ["a", "b", "c"])).batch(2), [tf.int32, tf.string]),
    "unlike": (lambda: data.from_tensors(([1, 2, 3, 4], [5, 6, 7])),
               [tf.int32, tf.int32]),
    "empty": (lambda: data.from_tensors(tf.zeros([0, 2])).concatenate(
        data.from_tensors(tf.ones([3, 2]))), [tf.float32]),
    "fails": (lambda: data.range(9).map(lambda x: tf.debugging.check_numerics(
        1 / (tf.cast(x, tf.float32) - 5), "bad")).batch(3), [tf.float32]),
    "widths": (lambda: data.from_tensors([[1, 2]]).concatenate(
        data.from_tensors([[1, 2, 3]])), [tf.int32]),
}


@scenario("RebatchDataset ExperimentalRebatchDataset")
@fresh_graph
def data_rebatch(side):
    made = {}
    for name, (make, types) in MAKERS.items():
        for replicas in (1, 2, 3, 5, 0, -1):
            for op in (raw.RebatchDataset, raw.ExperimentalRebatchDataset):
                made["%s %d %s" % (name, replicas, op.__name__)] = (
                    lambda told_of, m=make, r=replicas, o=op: o(
                        input_dataset=variant(m()), num_replicas=hidden(
                            tf.constant(r, tf.int64)), **told_of), types)
    return batches(side, made)


@scenario("RebatchDatasetV2")
@fresh_graph
def data_rebatch_by_sizes(side):
    made = {}
    for name, (make, types) in MAKERS.items():
        if name == "widths":
            continue
        for sizes in ([1], [2, 3], [4], [5, 0], [0], 7, [100]):
            for drop in (False, True):
                made["%s %s %s" % (name, sizes, drop)] = (
                    lambda told_of, m=make, s=sizes, d=drop:
                    raw.RebatchDatasetV2(
                        input_dataset=variant(m()), batch_sizes=hidden(
                            tf.constant(s, tf.int64)), drop_remainder=d,
                        **told_of), types)
    made["widths apart"] = (lambda told_of: raw.RebatchDatasetV2(
        input_dataset=variant(MAKERS["widths"][0]()), batch_sizes=[1],
        drop_remainder=False, **told_of), [tf.int32])
    return batches(side, made)


@scenario("RebatchDatasetV2 RebatchDataset DatasetCardinality")
@fresh_graph
def data_rebatch_cardinality(side):
    told_of = {"output_types": [tf.int64], "output_shapes": [None]}
    d = variant(data.range(8).batch(4))
    return answers(side, {
        "sizes": raw.DatasetCardinality(input_dataset=raw.RebatchDatasetV2(
            input_dataset=d, batch_sizes=[2], drop_remainder=False,
            **told_of)),
        "replicas": raw.DatasetCardinality(input_dataset=raw.RebatchDataset(
            input_dataset=d, num_replicas=2, **told_of)),
        "matrix": raw.DatasetCardinality(input_dataset=raw.RebatchDatasetV2(
            input_dataset=d, batch_sizes=hidden(tf.constant(
                [[2]], tf.int64)), drop_remainder=False, **told_of))})
