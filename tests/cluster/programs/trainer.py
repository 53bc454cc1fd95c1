"""A classic distributed trainer: every process starts its own server.

The worker processes train a softmax classifier by MonitoredTrainingSession,
with variables on the ps; --sync aggregates by SyncReplicasOptimizer.  With
--target the process uses a server that runs already instead of its own.
Prints "last step N loss X", unless others made all the steps."""
import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from waits import be_quick  # noqa: E402

tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)


def build(cluster, options):
    """The train op and what the session needs."""
    setter = tf.train.replica_device_setter(
        worker_device="/job:worker/task:%d" % options.task_index,
        cluster=cluster)
    random = np.random.RandomState(options.task_index)
    with tf.device(setter):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 16])
        label = tf.cast(tf.reduce_sum(x, 1) > 0, tf.int32)
        w = tf.get_variable("w", [16, 2], use_resource=options.resource,
                            initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [2], use_resource=options.resource,
                            initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=label, logits=tf.matmul(x, w) + b))
        optimizer, hooks = tf.train.AdagradOptimizer(0.5), []
        if options.sync:
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, options.sync, options.sync)
            hooks.append(optimizer.make_session_run_hook(
                options.task_index == 0))
        train = optimizer.minimize(loss, global_step=step)
    return x, random, loss, train, step, hooks


def train(target, cluster, options):
    x, random, loss, op, step, hooks = build(cluster, options)
    hooks.append(tf.train.StopAtStepHook(last_step=options.steps))
    # A session without the other worker, which may not have come or have left.
    # A chief that has made the last step waits as long as the grace period for
    # its thread that adds tokens, which waits for gradients nobody sends now.
    config = tf.ConfigProto(device_filters=[
        "/job:ps", "/job:worker/task:%d" % options.task_index])
    with tf.train.MonitoredTrainingSession(
            master=target, is_chief=options.task_index == 0, hooks=hooks,
            checkpoint_dir=options.checkpoint_dir, config=config,
            save_checkpoint_steps=options.save_steps,
            save_checkpoint_secs=None if options.save_steps else 600,
            max_wait_secs=60, stop_grace_period_secs=1) as session:
        result = None
        while not session.should_stop():
            batch = random.randn(32, 16).astype(np.float32)
            result = session.run([op, step, loss], {x: batch})[1:]
    if result is not None:
        print("last step %d loss %.6f" % tuple(result))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ps_hosts", required=True)
    parser.add_argument("--worker_hosts", required=True)
    parser.add_argument("--job_name", required=True)
    parser.add_argument("--task_index", type=int, default=0)
    parser.add_argument("--checkpoint_dir")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--save_steps", type=int)
    parser.add_argument("--sync", type=int, default=0)
    parser.add_argument("--resource", action="store_true")
    parser.add_argument("--target")
    options = parser.parse_args()
    be_quick()
    cluster = tf.train.ClusterSpec({
        "ps": options.ps_hosts.split(","),
        "worker": options.worker_hosts.split(",")})
    if options.target:
        return train(options.target, cluster, options)
    server = tf.train.Server(cluster, job_name=options.job_name,
                             task_index=options.task_index)
    if options.job_name == "ps":
        server.join()
    train(server.target, cluster, options)


if __name__ == "__main__":
    sys.exit(main())
