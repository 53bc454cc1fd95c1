"""Cases of kernels/data_graph/auto_shard.c."""
import re

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, elements, hidden,
                                                    numbers, plain, raw,
                                                    variant)
from tests.conformance.cases.data_sources.dataset_files import records
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

OFF, AUTO, FILE, DATA, HINT = range(-1, 4)


def shortened(text):
    """An error without the node that it shows, which is TensorFlow's text."""
    text = re.sub(r"goo\.gle/debug\w+", "", text)
    return re.sub(r"(: |node is )\s*(name:|op:).*", r"\1...", text,
                  flags=re.DOTALL)


class Made(tf.data.Dataset):
    """The dataset in a variant."""

    def __init__(self, made, dtype):
        self._made, self._spec = made, tf.TensorSpec(None, dtype)
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return self._spec


def parts(side, makers, cases, dtype=tf.int64, op=raw.AutoShardDataset):
    out, made = {}, {}
    for name, make in makers.items():
        for policy, workers, index, replicas in cases:
            more = {} if op != raw.AutoShardDataset else {
                "num_replicas": replicas}
            made["%s, %s" % (name, (policy, workers, index, replicas))] = (
                lambda p=policy, w=workers, i=index, m=make, n=more: Made(op(
                    input_dataset=variant(m()),
                    num_workers=hidden(tf.constant(w, tf.int64)),
                    index=hidden(tf.constant(i, tf.int64)),
                    auto_shard_policy=p, output_types=[dtype],
                    output_shapes=[None], **n), dtype))
    for name, value in elements(side, made, 20).items():
        out[name] = shortened(value).replace(
            side.folder, "FOLDER") if isinstance(value, str) else value
    return out


@scenario("AutoShardDataset ExperimentalAutoShardDataset")
@fresh_graph
def data_auto_shard(side):
    makers = {
        "range": lambda: data.range(10),
        "hidden": lambda: numbers(9),
        "batch": lambda: data.range(10).batch(2),
        "prefetch": lambda: plain(data.range(10).batch(2).prefetch(2)),
        "shuffled": lambda: data.range(10).shuffle(10, seed=3),
        "map": lambda: data.range(10).map(lambda x: x + 1).repeat(2),
        "zip": lambda: data.zip(data.range(5)),
        "scan": lambda: data.range(10).apply(
            tf.data.experimental.scan(tf.constant(0, tf.int64),
                                      lambda s, x: (s + x, s + x))),
        "few": lambda: data.range(1),
        "none": lambda: data.range(0),
        "hint": lambda: data.range(10).shard(
            tf.data.experimental.SHARD_HINT, 0).map(lambda x: x * 2),
        "same twice": lambda: (lambda d: d.concatenate(d))(data.range(4)),
    }
    cases = [(policy, 3, 1, 0) for policy in (OFF, AUTO, FILE, DATA, HINT)]
    out = parts(side, makers, cases)
    out.update(parts(side, {"range": makers["range"]}, [
        (AUTO, 1, 0, 0), (FILE, 1, 0, 0), (DATA, 1, 0, 0), (AUTO, 2, 0, 3),
        (DATA, 0, 0, 0), (DATA, -1, 0, 0), (DATA, 2, 2, 0), (DATA, 2, -1, 0),
        (7, 2, 0, 0), (-2, 2, 0, 0), (DATA, 2, 0, -1),
        (OFF, 0, 0, 0), (OFF, 2, 2, 0)]))
    # TensorFlow reads a number of replicas that nobody has set there, and
    # fails when it is negative: what a side yields is compared with its own.
    first = parts(side, makers, cases, op=raw.ExperimentalAutoShardDataset)
    out["experimental"] = side.target == "" or all(
        str(first[name]) == str(out.get(name)) for name in first)
    return out


@scenario("AutoShardDataset")
@fresh_graph
def data_auto_shard_files(side):
    files = [records(side, "part%d" % i, [b"%d-%d" % (i, k) for k in range(2)])
             for i in range(5)]
    reader = tf.data.TFRecordDataset
    makers = {
        "records": lambda: reader(files),
        "lines": lambda: tf.data.TextLineDataset(files),
        "map": lambda: reader(files).map(lambda x: x + "!"),
        "batch": lambda: reader(files).batch(3).prefetch(1),
        "flat map": lambda: data.from_tensor_slices(files).flat_map(reader),
        "interleave": lambda: data.from_tensor_slices(files).interleave(
            reader, 2, 1),
        "parallel": lambda: data.from_tensor_slices(files).interleave(
            reader, 2, 1, num_parallel_calls=2),
        "shuffled files": lambda: data.from_tensor_slices(files).shuffle(
            5, seed=3).flat_map(reader),
        "shuffled twice": lambda: data.from_tensor_slices(files).shuffle(
            5, seed=3).shuffle(3, seed=4).flat_map(reader),
        "shuffled elements": lambda: reader(files).shuffle(20, seed=3),
        "repeat": lambda: reader(files).repeat(2),
        "in a function": lambda: data.from_tensor_slices(files).flat_map(
            lambda x: data.from_tensors(x).flat_map(reader)),
        "as a map": lambda: data.from_tensor_slices(files).map(
            reader).flat_map(lambda x: x),
        "zip": lambda: data.zip(reader(files)),
        "concatenate": lambda: reader(files[:3]).concatenate(
            reader(files[3:])),
        "files and none": lambda: reader(files).concatenate(
            data.from_tensors("x")),
        "one file": lambda: reader(files[:1]),
        "lost": lambda: reader([side.path("lost"), files[0]]),
        "cardinality": lambda: reader(files).apply(
            tf.data.experimental.assert_cardinality(10)),
    }
    return parts(side, makers, [
        (policy, 2, index, 0) for policy in (AUTO, FILE, DATA)
        for index in (0, 1)], tf.string)


@scenario("AutoShardDataset RebatchDatasetV2 RebatchDataset")
@fresh_graph
def data_auto_shard_batches(side):
    """A batch that is split for replicas stays whole for its worker."""
    def rebatched(sizes):
        return raw.RebatchDatasetV2(
            input_dataset=variant(data.range(17).batch(4)), batch_sizes=sizes,
            drop_remainder=False, output_types=[tf.int64],
            output_shapes=[[None]])

    return parts(side, {
        "two": lambda: Made(rebatched([2, 2]), tf.int64),
        "three": lambda: Made(rebatched([3, 1]), tf.int64)},
        [(policy, 2, 1, replicas) for policy in (AUTO, DATA, OFF)
         for replicas in (0, 1, 2)])
