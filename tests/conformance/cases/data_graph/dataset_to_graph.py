"""Cases of kernels/data_graph/dataset_to_graph.c."""
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import tensor_util

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (answers, data, failing,
                                                    made, note, numbers, plain, raw,
                                                    variant)
from tests.conformance.cases.data_graph.iterator_state import (GROUPED,
                                                               ORDERED)
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

INT = {"output_types": [tf.int64], "output_shapes": [[]]}


def value_of(attr):
    kind = attr.WhichOneof("value")
    if kind == "func":
        return "a function"
    if kind == "tensor":
        if attr.tensor.dtype in (tf.resource, tf.variant):
            return "a handle"
        if attr.tensor.dtype == tf.string.as_datatype_enum:
            told_one = b"".join(bytes([len(v)]) + v
                                for v in attr.tensor.string_val)
            return str(attr.tensor.tensor_content or told_one)
        return str(tensor_util.MakeNdarray(attr.tensor).tolist())
    if kind == "list" and not attr.ListFields()[0][1].ListFields():
        return "[]"
    return str(attr).strip().replace("\n", " ")


def lines_of(text):
    """What a graph says: its nodes, and how many functions it has."""
    graph = graph_pb2.GraphDef.FromString(text)
    out = ["functions %d" % len(graph.library.function),
           "producer %d" % graph.versions.producer]
    for node in graph.node:
        attrs = {k: value_of(v) for k, v in node.attr.items()
                 if k not in ("metadata", "_cardinality")}
        name = node.name if node.op != "Identity" else "identity"
        out.append("%s = %s(%s) %s" % (name, node.op, ", ".join(
            "identity" if i.startswith("FileIdentity") else i
            for i in node.input), sorted(attrs.items())))
    return out


MAKERS = {
    "range": lambda: data.range(4),
    "hidden": numbers,
    "slices": lambda: data.from_tensor_slices(([1, 2], ["a", "b"])),
    "tensors": lambda: data.from_tensors([[1., 2.]]),
    "batch": lambda: data.range(4).batch(2, drop_remainder=True),
    "padded": lambda: data.range(4).map(lambda x: tf.fill([x], x))
    .padded_batch(2, [None]),
    "map": lambda: data.range(6).map(lambda x: x * x).filter(
        lambda x: x % 2 == 0),
    "captured": lambda: data.range(6).map(
        lambda x, y=hidden(tf.constant(3, tf.int64)): x + y),
    "parallel": lambda: data.range(6).map(lambda x: x, 2),
    "nested": lambda: data.range(3).flat_map(
        lambda x: data.range(x).map(lambda y: x + y)),
    "interleave": lambda: data.range(3).interleave(
        lambda x: data.range(x), 2, 1, num_parallel_calls=2),
    "shuffle": lambda: data.range(8).shuffle(4, seed=5),
    "zip": lambda: data.zip((data.range(2), data.range(3))),
    "concatenate": lambda: data.range(2).concatenate(data.range(3)),
    "take": lambda: data.range(9).skip(1).take(3).repeat(2).shard(2, 1),
    "prefetch": lambda: data.range(9).prefetch(2),
    "window": lambda: data.range(9).window(3),
    "options": lambda: plain(data.range(3)),
    "files": lambda: tf.data.TFRecordDataset(["a", "b"]),
    "lines": lambda: tf.data.TextLineDataset("a"),
    "rows": lambda: made("SqlDataset", "sqlite", "a", "select 1"),
    "of datasets": lambda: data.from_tensors(data.range(3)),
    "branches": lambda: data.range(3).map(
        lambda x: tf.cond(x > 1, lambda: x + 1, lambda: x * 2)),
    "random": lambda: data.range(3).map(
        lambda x: tf.random.uniform([], seed=3)),
    "asserts": lambda: data.range(3).map(failing(2)),
}


def graphs(side, makers):
    out, fetches = {}, {}
    for name, make in makers.items():
        if name == "interleave":  # TensorFlow writes buffers that it chose
            continue
        d = variant(make())
        fetches[name] = raw.DatasetToGraphV2(input_dataset=d)
        for policy in (1, 2, 7):
            fetches["%s, policy %d" % (name, policy)] = raw.DatasetToGraphV2(
                input_dataset=d, external_state_policy=policy,
                strip_device_assignment=policy == 1)
        for allow in (False, True):
            fetches["%s, first, %s" % (name, allow)] = raw.DatasetToGraph(
                input_dataset=d, allow_stateful=allow)
    with side.session() as session:
        for name, fetch in fetches.items():
            text = told(session, fetch)
            note(out, name,
                 text if isinstance(text, str) else lines_of(text))
    return out


@scenario("DatasetToGraph DatasetToGraphV2")
@fresh_graph
def data_to_graphs(side):
    return graphs(side, MAKERS)


@scenario("DatasetToGraph DatasetToGraphV2")
@fresh_graph
def data_to_graphs_in_groups(side):
    """Shapes of elements are written as the program gave them; TensorFlow
    writes those that it has found, which of these only one has."""
    return graphs(side, {name: make for name, make in GROUPED.items()
                         if name != "sparse batch"})


@scenario("DatasetToGraph DatasetToGraphV2")
@fresh_graph
def data_to_graphs_in_order(side):
    """The same; and a dataset of choices TensorFlow rewrites."""
    return graphs(side, {name: make for name, make in ORDERED.items()
                         if name not in ("sample", "choose")})


@scenario("DatasetToGraphV2 DatasetFromGraph MakeIterator IteratorGetNext")
@fresh_graph
def data_to_graphs_and_back(side):
    """There and back on one side, each dataset yields what it yielded."""
    out, fetches = {}, {}
    for name, make in {**MAKERS, **GROUPED, **ORDERED}.items():
        d = plain(make())
        if name in ("random", "of datasets", "window", "files", "lines", "rows",
                    "global shuffle", "global shuffles"):  # have handles
            continue
        it = raw.IteratorV2(shared_name="", container="",
                            output_types=[s.dtype for s in tf.nest.flatten(
                                d.element_spec)],
                            output_shapes=[s.shape for s in tf.nest.flatten(
                                d.element_spec)])
        text = raw.DatasetToGraphV2(input_dataset=variant(d),
                                    external_state_policy=1)
        fetches[name] = (
            raw.MakeIterator(dataset=raw.DatasetFromGraph(graph_def=text),
                             iterator=it),
            raw.IteratorGetNext(
                iterator=it,
                output_types=[s.dtype for s in tf.nest.flatten(
                    d.element_spec)],
                output_shapes=[s.shape for s in tf.nest.flatten(
                    d.element_spec)]))
    with side.session() as session:
        for name, (init, fetch) in fetches.items():
            value = told(session, init)
            if isinstance(value, str):
                out[name] = value
                continue
            for i in range(9):
                value = told(session, fetch)
                note(out, "%s %d" % (name, i), value)
                if isinstance(value, str):
                    break
    return out


def alike(session, a, b):
    """Whether two fingerprints are the same: the numbers are each side's."""
    return bool(session.run(tf.equal(
        raw.DatasetFingerprint(input_dataset=variant(a)),
        raw.DatasetFingerprint(input_dataset=variant(b)))))


@scenario("DatasetFingerprint")
@fresh_graph
def data_fingerprints(side):
    out = {}
    with side.session() as session:
        for name in ("range", "slices", "batch", "map", "nested", "zip",
                     "take", "options", "lines"):
            out[name] = alike(session, MAKERS[name](), MAKERS[name]())
            out[name + ", another"] = alike(session, MAKERS[name](),
                                            data.range(5).batch(3))
        out["other number"] = alike(session, data.range(3), data.range(4))
        out["other function"] = alike(session, data.range(3).map(
            lambda x: x + 1), data.range(3).map(lambda x: x + 2))
        out["other order"] = alike(
            session, data.range(3).batch(2).repeat(2),
            data.range(3).repeat(2).batch(2))
    return out


@scenario("WrapDatasetVariant UnwrapDatasetVariant DatasetToGraph "
          "DatasetToGraphV2 DatasetFingerprint")
@fresh_graph
def data_wrapped(side):
    d = variant(data.range(3))
    wrapped = raw.WrapDatasetVariant(input_handle=d)
    listed = raw.EmptyTensorList(element_shape=-1, max_num_elements=3,
                                 element_dtype=tf.int32)
    nothing = raw.OptionalNone()
    many = tf.stack([d, d])
    back = raw.UnwrapDatasetVariant(input_handle=wrapped)
    fetches = {"back": raw.DatasetCardinality(input_dataset=back),
               "cardinality": raw.DatasetCardinality(input_dataset=wrapped)}
    for name, value in {"dataset": d, "wrapped": wrapped, "list": listed,
                        "optional": nothing, "many": many}.items():
        if name != "dataset":
            fetches["wrap " + name] = raw.DatasetCardinality(
                input_dataset=raw.WrapDatasetVariant(input_handle=value))
            fetches["graph " + name] = raw.DatasetToGraphV2(
                input_dataset=value)
            fetches["first graph " + name] = raw.DatasetToGraph(
                input_dataset=value)
            fetches["fingerprint " + name] = raw.DatasetFingerprint(
                input_dataset=value)
        if name != "wrapped":
            fetches["unwrap " + name] = raw.DatasetCardinality(
                input_dataset=raw.UnwrapDatasetVariant(input_handle=value))
    return answers(side, fetches)
