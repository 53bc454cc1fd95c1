"""A worker of a synchronous training, in a process of its own.

    python -m tests.cluster.sync_worker TASK TARGET STEPS KIND WORKERS

waits for a line of input, opens its session, prints "ready", waits for a line
again, trains, and prints a global step and the weights it saw at that step, its
last but one."""
import sys

from tests.cluster.client import np, tf

INPUTS = np.array([[1, 2, 3], [-1, 0, 2], [0, 1, -1], [2, -2, 1]], np.float32)
LABELS = np.array([[1], [-2], [3], [0]], np.float32)
RATE = 0.05


def build(resource, workers):
    with tf.variable_scope("model", use_resource=resource):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(INPUTS, w) - LABELS))
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(RATE),
        replicas_to_aggregate=workers, total_num_replicas=workers)
    return step, w, optimizer, optimizer.minimize(loss, global_step=step)


def main(task, target, steps, kind, workers):
    chief = task == 0
    tf.disable_control_flow_v2()
    if kind == "ref":
        tf.disable_resource_variables()
    with tf.device(tf.train.replica_device_setter(
            ps_tasks=1, worker_device="/job:worker/task:%d" % task)):
        step, w, optimizer, train = build(kind == "resource", workers)
    hooks = [optimizer.make_session_run_hook(chief),
             tf.train.StopAtStepHook(last_step=steps)]
    # Nobody counts the step up while this worker has a token to use.
    seen = (0, np.zeros([3, 1]))
    sys.stdin.readline()
    with tf.train.MonitoredTrainingSession(
            target, chief, hooks=hooks, stop_grace_period_secs=1) as session:
        print("ready", flush=True)
        sys.stdin.readline()
        while not session.should_stop():
            session.run(train)
            if not session.should_stop():
                seen = session.run_step_fn(
                    lambda step_context: step_context.session.run([step, w]))
    print("step %d" % seen[0], *seen[1].ravel().tolist())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4],
         int(sys.argv[5]))
