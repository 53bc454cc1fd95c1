"""Where ops run: partial device names, colocation, edges that bind."""
import contextlib

from tests.cluster.client import (equal, expect, failing_op, graph, np, run,
                                  task_that_runs, tf)
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
PS0, WORKER0, WORKER1 = ("/job:%s/replica:0/task:%d" % task for task in (
    ("ps", 0), ("worker", 0), ("worker", 1)))
# What a client writes, and the task it means with worker 0 as the master.
NAMES = {
    "": WORKER0, "/cpu:0": WORKER0, "/device:CPU:0": WORKER0,
    "/replica:0": WORKER0, "/device:CPU:*": WORKER0, "/job:worker": WORKER0,
    "/job:ps": PS0, "/job:ps/task:0": PS0, "/job:ps/cpu:0": PS0,
    "/job:ps/replica:0/task:0/device:CPU:0": PS0,
    "/task:1": WORKER1, "/job:*/task:1": WORKER1,
    "/job:worker/task:1": WORKER1, "/job:worker/task:1/cpu:0": WORKER1,
    "/job:worker/task:1/device:CPU:*": WORKER1,
    "/job:worker/replica:0/task:1/device:CPU:0": WORKER1,
}
IMPOSSIBLE = ["/job:nosuch/task:0", "/job:ps/task:5", "/job:ps/replica:1",
              "/job:worker/task:2"]
NO_SUCH_DEVICE = ["/device:GPU:0", "/device:CPU:3", "/job:ps/device:GPU:0",
                  "/job:worker/task:1/device:CPU:1"]


@test(**PAIR)
def partial_device_names_find_their_task(cluster):
    for device, task in NAMES.items():
        with graph(), tf.device(device):
            found = task_that_runs(cluster.target(), failing_op())
            assert found == task, "%r ran on %s" % (device, found)


@test(**PAIR)
def unplaced_ops_run_on_the_master(cluster):
    for job, index in (("ps", 0), ("worker", 0), ("worker", 1)):
        with graph():
            found = task_that_runs(cluster.target(job, index), failing_op())
            assert found == "/job:%s/replica:0/task:%d" % (job, index)


@test(**PAIR)
def an_unknown_device_is_refused_with_the_known_ones(cluster):
    for device in IMPOSSIBLE + NO_SUCH_DEVICE:
        with graph(), tf.device(device):
            x = tf.constant(1.0, name="pinned")
            with expect(tf.errors.InvalidArgumentError,
                        "Cannot assign a device for operation pinned: {{node "
                        "pinned}} was explicitly assigned to %s but available "
                        "devices are [ %s/device:CPU:0, %s/device:CPU:0, "
                        "%s/device:CPU:0 ]. Make sure the device specification"
                        " refers to a valid device." % (device, PS0, WORKER0,
                                                        WORKER1)):
                run(cluster.target(), x)


@test(**PAIR)
def soft_placement_gives_up_the_device_but_not_the_task(cluster):
    soft = tf.ConfigProto(allow_soft_placement=True)
    for device in NO_SUCH_DEVICE:
        with graph(), tf.device(device):
            task = PS0 if "ps" in device else (
                WORKER1 if "task:1" in device else WORKER0)
            assert task_that_runs(cluster.target(), failing_op(), soft) == task
    for device in IMPOSSIBLE:
        with graph(), tf.device(device):
            x = tf.constant(1.0)
            with expect(tf.errors.InvalidArgumentError, "Cannot assign"):
                run(cluster.target(), x, config=soft)


@test(**PAIR)
def a_refused_graph_leaves_the_server_as_it_was(cluster):
    for _ in range(10):
        with graph(), tf.device("/job:nosuch"):
            x = tf.constant(1.0)
            with expect(tf.errors.InvalidArgumentError):
                run(cluster.target(), x)
        with graph():
            assert run(cluster.target(), tf.constant(2.0) * 2) == 4.0


@test(**PAIR)
def an_extension_that_cannot_be_placed_is_refused(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        one = tf.constant(1)
        assert session.run(one) == 1
        with tf.device("/job:nosuch"):
            wrong = tf.constant(2)
        with expect(tf.errors.InvalidArgumentError, "Cannot assign"):
            session.run(wrong)


@test(**PAIR)
def a_colocated_op_runs_beside_its_companion(cluster):
    for resource in (False, True):
        with graph():
            with tf.device("/job:ps"):
                v = tf.Variable(1.0, use_resource=resource)
            companion = v.handle.op if resource else v.op
            with tf.colocate_with(companion):
                op = failing_op()
            assert task_that_runs(cluster.target(), op) == PS0


@test(**PAIR)
def colocation_is_transitive(cluster):
    with graph():
        with tf.device("/job:worker/task:1"):
            a = tf.constant(1.0)
        with tf.colocate_with(a.op):
            b = tf.constant(2.0)
        with tf.colocate_with(b.op):
            op = failing_op()
        assert task_that_runs(cluster.target(), op) == WORKER1


def conflicting():
    with tf.device("/job:ps"):
        a = tf.constant(1.0, name="a")
    with tf.device("/job:worker"):
        b = tf.identity(tf.constant(1.0), name="b")
    names = tf.AttrValue.ListValue(s=[b"loc:@a"])
    b.op._set_attr("_class", tf.AttrValue(list=names))
    return a + b


@test(**PAIR)
def colocation_against_the_devices_is_refused(cluster):
    with graph():
        c = conflicting()
        with expect(tf.errors.InvalidArgumentError, "Cannot colocate nodes",
                    "{{colocation_node b}}", "{{colocation_node a}}",
                    "incompatible jobs: '/job:worker' and '/job:ps'"):
            run(cluster.target(), c)


@test(**PAIR)
def soft_placement_overlooks_colocation(cluster):
    with graph():
        c = conflicting()
        assert run(cluster.target(), c,
                   config=tf.ConfigProto(allow_soft_placement=True)) == 2.0


@test(**PAIR)
def what_holds_a_reference_runs_with_the_variable(cluster):
    """Assign asks for a worker and runs on the ps: its error comes thence."""
    with graph():
        with tf.device("/job:ps"):
            v = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32)
        with tf.device("/job:worker/task:1"):
            two = tf.placeholder_with_default([1.0, 2.0], None)
            wrong = tf.raw_ops.Assign(ref=v, value=two)
        with expect(tf.errors.InvalidArgumentError,
                    "From %s:\n" % PS0, "Assign requires shapes of both"):
            run(cluster.target(), wrong.op)


@test(**PAIR)
def what_holds_a_handle_runs_with_the_resource(cluster):
    with graph():
        with tf.device("/job:ps"):
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.float32, shape=[], shared_name="never_assigned")
        with tf.device("/job:worker/task:1"):
            read = tf.raw_ops.ReadVariableOp(resource=handle,
                                             dtype=tf.float32)
        with expect(tf.errors.FailedPreconditionError,
                    "From %s:\n" % PS0, "container=ps"):
            run(cluster.target(), read.op)


@test(**PAIR)
def values_of_variables_cross_tasks(cluster):
    """Reference and handle on the ps, read by every task in one step."""
    with graph():
        with tf.device("/job:ps"):
            v = tf.Variable(np.arange(6.0), use_resource=False)
            r = tf.Variable(np.arange(6.0), use_resource=True)
        reads = []
        for task in (PS0, WORKER0, WORKER1):
            with tf.device(task):
                reads.append(tf.raw_ops.Mul(x=v, y=r.read_value()))
        with tf.Session(cluster.target()) as session:
            session.run([v.initializer, r.initializer])
            for value in session.run(reads):
                equal(value, np.arange(6.0) ** 2)


@test(**PAIR)
def control_edges_cross_tasks(cluster):
    """Each assignment waits for the one before, on another task."""
    with graph():
        with tf.device("/job:ps"):
            v = tf.Variable("", use_resource=True)
        last = v.initializer
        for i in range(12):
            with contextlib.ExitStack() as stack:
                stack.enter_context(tf.control_dependencies([last]))
                stack.enter_context(tf.device((WORKER0, WORKER1, PS0)[i % 3]))
                letter = tf.identity(tf.constant("abcdefghijkl"[i]))
                stack.enter_context(tf.control_dependencies([letter]))
                last = v.assign(tf.strings.join([v.read_value(), letter]))
        with tf.control_dependencies([last]):
            result = v.read_value()
        for _ in range(5):
            assert run(cluster.target(), result) == b"abcdefghijkl"


@test(**PAIR)
def one_value_serves_many_consumers_on_many_tasks(cluster):
    with graph():
        with tf.device("/job:ps"):
            source = tf.placeholder(tf.int64) * 1
        sums = []
        for i in range(40):
            with tf.device((WORKER0, WORKER1)[i % 2]):
                sums.append(source + i)
        with tf.device("/job:ps"):
            total = tf.add_n(sums)
        with tf.Session(cluster.target()) as session:
            feed = {source.op.inputs[0]: 5}
            for _ in range(10):
                assert session.run(total, feed) == 40 * 5 + 780


@test(**PAIR)
def a_device_function_of_replicas_spreads_variables(cluster):
    with graph():
        setter = tf.train.replica_device_setter(
            ps_tasks=1, worker_device="/job:worker/task:1")
        with tf.device(setter):
            v = tf.get_variable("spread", [3])
            op = failing_op()
        assert v.device == "/job:ps/task:0"
        assert task_that_runs(cluster.target(), op) == WORKER1
        with tf.Session(cluster.target()) as session:
            session.run(v.initializer)
            assert session.run(v).shape == (3,)
