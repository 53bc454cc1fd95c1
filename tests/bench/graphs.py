"""graphs.py FOLDER - writes the GraphDefs of tests/bench/run_updates: variables
on the ps, arithmetic on the worker; "init" and "run" are their operations."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf  # noqa: E402

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def scalar():
    with tf.device(PS):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer(),
                            use_resource=False)
    with tf.device(WORKER):
        change = tf.identity(v) * 0.5
    with tf.device(PS):
        return tf.assign_add(v, change).op


def sparse():
    with tf.device(PS):
        v = tf.get_variable("v", [262144, 256], use_resource=True,
                            initializer=tf.zeros_initializer())
        ids = tf.random.uniform([32], 0, 262144, tf.int32)
        rows = tf.gather(v, ids)
    with tf.device(WORKER):
        change = rows * 0.5
    with tf.device(PS):
        return tf.scatter_add(v, ids, change).op


for build in (scalar, sparse):
    with tf.Graph().as_default() as graph:
        step = build()
        with tf.control_dependencies([step]):
            tf.no_op("run")
        tf.group(tf.global_variables_initializer(), name="init")
        with open(os.path.join(sys.argv[1], build.__name__ + ".pb"),
                  "wb") as out:
            out.write(graph.as_graph_def().SerializeToString())
