"""--missing_ops of files that TensorFlow has written: each form says the same."""
import os
import tempfile

from tests.cluster.client import tf
from tests.cluster.faults.test_start import TFD, start
from tests.cluster.suite import test

NOTHING, SOMETHING, UNREADABLE = 0, 1, 2


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def all_forms(folder, name, graph_def):
    """Paths of the graph in each form that TensorFlow writes."""
    from google.protobuf import text_format
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
    meta = meta_graph_pb2.MetaGraphDef()
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.stripped_op_list.op.add().name = "MatMul"
    meta.collection_def["v"].bytes_list.value.append(b"\x00\xff\n")
    meta.graph_def.CopyFrom(graph_def)
    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    saved.meta_graphs.add().CopyFrom(meta)
    for form, message in ("graph", graph_def), ("meta", meta), ("saved", saved):
        start_of = "%s_%s" % (name, form)
        yield write(folder, start_of, message.SerializeToString())
        for i, style in enumerate((
                {}, dict(as_one_line=True), dict(pointy_brackets=True),
                dict(use_short_repeated_primitives=True), dict(as_utf8=True))):
            yield write(folder, "%s_%d" % (start_of, i),
                        text_format.MessageToString(message, **style))


def lacking():
    graph = tf.Graph()
    with graph.as_default():
        for name in "call", None:  # of the client's Python: never a server's
            tf.raw_ops.PyFunc(
                input=[tf.constant(b"\x00\xff'\"\\\n\xc3\xa9")], token="t",
                Tout=[tf.int64], name=name)
        one = tf.constant([[1]], tf.uint8)
        tf.raw_ops.MatMul(a=one, b=one, name="a/product")
        tf.constant([float("nan"), float("inf"), -1e-30, .1])
    return graph.as_graph_def()


def complete():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3])
        v = tf.compat.v1.get_variable("v", [3, 2], use_resource=True)

        @tf.function
        def called(a):
            return tf.cond(tf.reduce_sum(a) > 0, lambda: a @ v, lambda: -a @ v)

        tf.compat.v1.train.AdamOptimizer().minimize(tf.reduce_sum(called(x)))
        tf.compat.v1.train.Saver()
    return graph.as_graph_def()


@test(**TFD)
def all_forms_of_a_graph_say_the_same(server):
    with tempfile.TemporaryDirectory() as folder:
        for path in all_forms(folder, "lacking", lacking()):
            code, text = start(server, "--missing_ops=" + path)
            assert code == SOMETHING, (path, code, text)
            assert text.startswith(
                "op PyFunc: 2 nodes (first: call)\n"
                "type uint8 of MatMul: 1 node (first: a/product)\n" + path), (
                    path, text)
        for path in all_forms(folder, "complete", complete()):
            code, text = start(server, "--missing_ops=" + path)
            assert code == NOTHING and text.startswith(path), (path, code, text)
            assert "found 0 things lacking" in text, (path, text)


@test(**TFD)
def files_that_are_no_graphs_are_refused(server):
    whole = lacking().SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(folder + "/pipe")
        paths = [folder, folder + "/none", folder + "/pipe",
                 write(folder, "empty", b""),
                 write(folder, "cut", whole[:-7]),
                 write(folder, "noise", bytes(range(256)) * 40),
                 write(folder, "words", "these are no fields"),
                 write(folder, "deep", "debug_info " + "{ a " * 100000),
                 write(folder, "brackets", "node [" * 100000)]
        for path in paths:
            code, text = start(server, "--missing_ops=" + path)
            assert code == UNREADABLE, (path, code, text)
            assert text.startswith("tfd: --missing_ops: " + path), (path, text)
            assert text.count("\n") == 1, (path, text)
