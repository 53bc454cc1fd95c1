"""What a stuck step waits for inside loops, functions and datasets."""
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from tests.cluster.client import graph, kept_session, plain_config, tf
from tests.cluster.cluster import Cluster, tensorflow_server, wait_until
from tests.cluster.eager.test_eager_losses import program
from tests.cluster.raw import Raw
from tests.cluster.server.test_log import JSON, events, wait_event
from tests.cluster.server.test_stuck import SOON, STUCK, Waiting
from tests.cluster.status.document import read
from tests.cluster.stream import varint
from tests.cluster.suite import test

EMPTY = ": QueueDequeueV2 of queue tokens in worker (0 of 9)"


def tokens():
    return tf.FIFOQueue(9, tf.float32, [()], shared_name="tokens")


def taken(handle):
    return tf.raw_ops.QueueDequeueV2(
        handle=handle, component_types=[tf.float32], name="take")[0]


def shown(task, count):
    """What the task's page says of so many steps, once it has seen them."""
    def steps():
        found = read(task)[0]["steps"]["list"]
        return len(found) == count and [found]
    (found,) = wait_until(steps, SOON, "%d steps" % count)
    return [w.get("text") for step in found for w in step["waits"]]


def told_of(server, build, count=1):
    """What is said of a step on one task that waits for a token, which then
    comes: `count` of them end the step, and then nothing waits."""
    with Cluster(server, STUCK, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tokens()
        fetch, prepare = build(queue)
        feed = queue.enqueue(1.0)
        session = kept_session(worker.target, config=plain_config())
        session.run(prepare)
        waiting = Waiting(session, fetch)
        told = wait_event(worker, "step_stuck")
        assert shown(worker, 1) == [told["waits"]], told
        for _ in range(count):
            session.run(feed)
        waiting.end()
        assert waiting.error is None, waiting.error
        assert shown(worker, 0) == []
        assert len(events(worker, "step_stuck")) == 1
        return told["waits"]


@test(limit=60, tfd_only=True)
def in_a_loop(server):
    def build(queue):
        return tf.while_loop(lambda i: i < 3.0, lambda i: (
            i + queue.dequeue(name="take")), [0.0], name="loop"), []
    said = told_of(server, build, 3)
    assert said.startswith("loop/"), said
    assert said.endswith("take [iteration 0]" + EMPTY), said


@test(limit=60, tfd_only=True)
def in_a_loop_within_a_loop(server):
    def build(queue):
        def outer(i):
            return i + tf.while_loop(lambda j: j < 2.0, lambda j: (
                j + queue.dequeue(name="take")), [0.0], name="inner")
        return tf.while_loop(lambda i: i < 3.0, outer, [0.0], name="outer"), []
    said = told_of(server, build, 4)
    assert "inner" in said and said.endswith("take [iteration 0]" + EMPTY), said


@test(limit=60, tfd_only=True)
def in_functions(server):
    """Written into the graph by the master, under their names."""
    def build(queue):
        @tf.function(experimental_attributes={"_noinline": True})
        def inner():
            return queue.dequeue(name="take")

        @tf.function(experimental_attributes={"_noinline": True})
        def outer():
            return inner() + 1.0
        return outer(), []
    said = told_of(server, build)
    assert said.endswith("/take" + EMPTY), said
    assert said.index("outer") < said.index("inner"), said


@test(limit=60, tfd_only=True)
def in_a_branch(server):
    def build(queue):
        @function.Defun(tf.resource, func_name="yes")
        def yes(handle):
            return taken(handle)

        @function.Defun(tf.resource, func_name="no")
        def no(handle):
            del handle
            return tf.constant(5.0)
        return functional_ops.If(tf.constant(True), [queue.queue_ref], yes, no,
                                 name="branch"), []
    said = told_of(server, build)
    assert said.startswith("branch/yes/take"), said
    assert said.endswith(EMPTY) and ";" not in said, said


@test(limit=60, tfd_only=True)
def in_calls_within_calls(server):
    """A loop that is an op, whose body is called for each round, and has
    another that is called for each element."""
    def build(queue):
        @function.Defun(tf.float32, tf.resource, func_name="each")
        def each(x, handle):
            return x + taken(handle)

        @function.Defun(tf.float32, tf.resource, func_name="more")
        def more(i, handle):
            del handle
            return i < 3.0

        @function.Defun(tf.float32, tf.resource, func_name="body")
        def body(i, handle):
            return i + tf.raw_ops.MapDefun(
                arguments=[tf.constant([0.0])], captured_inputs=[handle],
                output_types=[tf.float32], output_shapes=[[]], f=each,
                name="map")[0][0], handle
        return functional_ops.While([0.0, queue.queue_ref], more, body,
                                    name="loop")[0], []
    said = told_of(server, build, 3)
    assert said == "loop/body/map/each/take" + EMPTY, said


@test(limit=60, tfd_only=True)
def in_a_dataset(server):
    def build(queue):
        @tf.function(experimental_attributes={"_noinline": True})
        def inner():
            return queue.dequeue(name="take")
        data = tf.data.Dataset.range(1).map(lambda i: inner() + 1.0)
        iterator = tf.data.make_initializable_iterator(data)
        return iterator.get_next(name="get"), iterator.initializer
    get, take = told_of(server, build).split("; ")
    assert get.startswith("get: IteratorGetNext of iterator "), get
    assert take.startswith("__inference_Dataset_map"), take
    assert take.endswith("/take" + EMPTY), take


@test(limit=60, tfd_only=True)
def what_has_no_queue(server):
    """Areas, barriers and mutexes are named, too."""
    def mutex():
        lock = tf.raw_ops.MutexV2(shared_name="m")
        first = tf.raw_ops.MutexLock(mutex=lock, name="first")
        with tf.control_dependencies([first]):
            second = tf.raw_ops.MutexLock(mutex=lock, name="second")
        with tf.control_dependencies([second]):
            return [tf.raw_ops.ConsumeMutexLock(mutex_lock=m)
                    for m in (first, second)]
    wanted = {
        "un: Unstage of staging area area": lambda: tf.raw_ops.Unstage(
            dtypes=[tf.float32], shared_name="area", name="un"),
        "many: BarrierTakeMany of bar in worker":
            lambda: tf.raw_ops.BarrierTakeMany(
                handle=tf.raw_ops.Barrier(component_types=[tf.float32],
                                          shapes=[[]], shared_name="bar"),
                num_elements=1, component_types=[tf.float32], name="many"),
        "grad: ResourceAccumulatorTakeGradient of accumulator sum in worker "
        "(0)": lambda: tf.ConditionalAccumulator(
            tf.float32, [], shared_name="sum").take_grad(1, name="grad"),
        "second: MutexLock of mutex m in worker": mutex,
    }
    with Cluster(server, STUCK, worker=1) as cluster:
        worker = cluster["worker", 0]
        for count, (text, build) in enumerate(wanted.items(), 1):
            with graph():
                session = kept_session(worker.target, config=plain_config())
                waiting = Waiting(session, build())
                told = wait_event(worker, "step_stuck", count)
                session.close()
                waiting.end()
            assert told["waits"] == text, told


def told_once(cluster):
    """Warnings of all tasks."""
    return [e for task in cluster.tasks.values()
            for e in events(task, "step_stuck") if e["level"] == "warn"]


@test(limit=60, tfd_only=True)
def in_a_loop_over_two_tasks(server):
    with Cluster(server, STUCK, ps=1, worker=2) as cluster, graph():
        worker = cluster["worker", 1]
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            feed = queue.enqueue(1.0)

        def body(i):
            with tf.device("/job:ps/task:0"):
                token = queue.dequeue(name="take")
            with tf.device("/job:worker/task:0"):
                token = token * 1.0
            with tf.device("/job:worker/task:1"):
                return i + token
        with tf.device("/job:worker/task:1"):
            end = tf.while_loop(lambda i: i < 3.0, body, [0.0], name="loop")
        session = kept_session(worker.target, config=plain_config())
        waiting = Waiting(session, end)
        told = wait_event(worker, "step_stuck")
        assert told["level"] == "warn", told
        tensor, between, cause = told["waits"].split("; there ")
        assert " of /job:worker/replica:0/task:0/device:CPU:0" in tensor, told
        assert " of /job:ps/replica:0/task:0/device:CPU:0" in between, told
        assert ("take [iteration 0]: QueueDequeueV2 of queue tokens in ps "
                "(0 of 9)") in cause, told
        # The others have a part, and say so to who reads on.
        for key in (("ps", 0), ("worker", 0)):
            part = wait_event(cluster[key], "step_stuck")
            assert part["level"] == "info" and part["step"] == told["step"]
        assert told_once(cluster) == [told]
        for _ in range(3):
            session.run(feed)
        assert waiting.end() == 3
        assert told_once(cluster) == [told]


@test(limit=60, tfd_only=True)
def a_task_that_computes_is_no_cause(server):
    """The other one waits for its result, which is to come."""
    with Cluster(server, STUCK, ps=1, worker=1) as cluster, graph():
        worker, ps = cluster["worker", 0], cluster["ps", 0]
        with tf.device("/job:ps/task:0"):
            matrix = tf.random.stateless_normal([1500, 1500], [1, 2])
            for _ in range(8):
                matrix = tf.matmul(matrix, matrix) / 1500.0
            total = tf.reduce_sum(matrix)
        with tf.device("/job:worker/task:0"):
            end = total * 0.0
        session = kept_session(worker.target, config=plain_config())
        session.run(end)
        assert not told_once(cluster)
        assert not events(ps, "step_stuck")


def rounds(count):
    """A loop that is an op, each of whose rounds takes a token."""
    def build(queue):
        @function.Defun(tf.float32, tf.resource, func_name="more")
        def more(i, handle):
            del handle
            return i < float(count)

        @function.Defun(tf.float32, tf.resource, func_name="body")
        def body(i, handle):
            return i + taken(handle), handle
        return functional_ops.While([0.0, queue.queue_ref], more, body,
                                    name="loop")[0]
    return build


@test(limit=60, tfd_only=True)
def what_goes_on_is_not_stuck(server):
    """Rounds of a loop that calls, and elements that a filter leaves out."""
    with Cluster(server, STUCK, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        queue = tokens()
        feed, end = queue.enqueue(1.0), rounds(400)(queue)
        data = tf.data.Dataset.range(2000000).filter(lambda i: i >= 400000)
        iterator = tf.data.make_initializable_iterator(data)
        element = iterator.get_next()
        session = kept_session(worker.target, config=plain_config())
        waiting = Waiting(session, end)
        for _ in range(400):
            session.run(feed)
        assert waiting.end() == 400
        session.run(iterator.initializer)
        assert session.run(element) == 400000
        assert not events(worker, "step_stuck")


@test(limit=60, tfd_only=True)
def among_others_that_move(server):
    """More steps go on for long than are asked after at once: the one that is
    stuck has its turn, and its master warns."""
    with Cluster(server, [JSON, "--stuck_after=1s"], ps=1,
                 worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        with tf.device("/job:ps/task:0"):
            stuck = tf.FIFOQueue(1, tf.float32, [()], shared_name="stuck")
            queue = tf.FIFOQueue(90, tf.float32, [()], shared_name="moving")
            feed = queue.enqueue_many(tf.ones([30]))
            moving = tf.while_loop(lambda i: i < 1e6,
                                   lambda i: i + queue.dequeue(), [0.0])
            take = stuck.dequeue(name="take").op
        session = kept_session(worker.target, config=plain_config())
        waiting = [Waiting(session, take)]
        waiting += [Waiting(session, moving) for _ in range(30)]
        wait_until(lambda: session.run(feed) or told_once(cluster), SOON,
                   "a stuck step in a log")
        (told,) = told_once(cluster)
        assert told in events(worker, "step_stuck"), told
        assert told["waits"].endswith(
            "take: QueueDequeueV2 of queue stuck in ps (0 of 1)"), told
        session.close()
        for step in waiting:
            step.end()


@test(limit=60, tfd_only=True)
def beside_another_sessions_dataset(server):
    """What that calls says nothing of this one's."""
    with Cluster(server, STUCK, worker=1) as cluster:
        worker = cluster["worker", 0]
        with graph():
            data = tf.data.Dataset.range(1 << 40).map(lambda i: i + 1)
            busy = tf.data.make_initializable_iterator(data)
            element = busy.get_next()
            other = kept_session(worker.target, config=plain_config())
            other.run(busy.initializer)
        with graph():
            queue = tokens()
            data = tf.data.Dataset.range(1).map(lambda i: queue.dequeue())
            iterator = tf.data.make_initializable_iterator(data)
            get, feed = iterator.get_next(name="get"), queue.enqueue(1.0)
            session = kept_session(worker.target, config=plain_config())
            session.run(iterator.initializer)
            waiting = Waiting(session, get)
            wait_until(lambda: other.run(element) and events(
                worker, "step_stuck"), SOON, "a stuck step in a log")
            session.run(feed)
            assert waiting.end() == 1


@test(limit=60, tfd_only=True)
def a_part_elsewhere_alone(server):
    """The master's task has no part of the step, and warns for it."""
    with Cluster(server, STUCK, ps=1, worker=1) as cluster, graph():
        worker, ps = cluster["worker", 0], cluster["ps", 0]
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            take = queue.dequeue(name="take").op
            feed = queue.enqueue(1.0)
        session = kept_session(worker.target, config=plain_config())
        waiting = Waiting(session, take)
        told = wait_event(worker, "step_stuck")
        assert told["waits"] == (
            "on /job:ps/replica:0/task:0: take: QueueDequeueV2 of queue tokens "
            "in ps (0 of 9)"), told
        assert wait_event(ps, "step_stuck")["level"] == "info"
        session.run(feed)
        waiting.end()
        assert told_once(cluster) == [told]


def alone_on_ps(cluster):
    """A step that waits there, run by worker 0: what the ps says."""
    worker, ps = cluster["worker", 0], cluster["ps", 0]
    with graph():
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            take, feed = queue.dequeue(name="take").op, queue.enqueue(1.0)
        session = kept_session(worker.target, config=plain_config())
        waiting = Waiting(session, take)
        told = wait_event(ps, "step_stuck")
        session.run(feed)
        waiting.end()
        assert waiting.error is None, waiting.error
    assert len(events(ps, "step_stuck")) == 1
    return told


@test(limit=60, tfd_only=True)
def a_master_that_does_not_ask(server):
    """It is no tfd of today: here, one that looks for nothing."""
    with Cluster(server, start=False, ps=1, worker=1) as cluster:
        cluster.start("ps", 0, flags=STUCK)
        cluster.start("worker", 0, flags=[STUCK[0], "--stuck_after=0"])
        told = alone_on_ps(cluster)
        assert told["level"] == "warn", told
        assert told["waits"].startswith("take: QueueDequeueV2 of "), told
        assert not events(cluster["worker", 0], "step_stuck")


@test(limit=60, tfd_only=True)
def one_that_was_asked_before_it_was_stuck(server):
    """Somebody asks once, while the step moves, and never again."""
    with Cluster(server, start=False, ps=1, worker=1) as cluster, graph():
        cluster.start("ps", 0, flags=[JSON, "--stuck_after=1s"])
        cluster.start("worker", 0, flags=[STUCK[0], "--stuck_after=0"])
        ps = cluster["ps", 0]
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            feed = queue.enqueue(1.0)
            with tf.control_dependencies([queue.dequeue(name="first")]):
                take = queue.dequeue(name="take").op
        session = kept_session(cluster["worker", 0].target,
                               config=plain_config())
        waiting = Waiting(session, take)
        (step,) = wait_until(lambda: read(
            cluster["worker", 0])[0]["steps"]["list"], SOON, "a step")
        request = b"\x08" + varint(int(step["step"]))
        wait_until(lambda: b"first" in Raw(ps.address).bytes(
            "/tfd.Peer/GetStepWaits", request), SOON, "what it waits for")
        session.run(feed)
        told = wait_event(ps, "step_stuck")
        assert told["level"] == "warn", told
        assert told["waits"].startswith("take: "), told
        session.run(feed)
        waiting.end()


@test(limit=60, tfd_only=True)
def a_task_that_looks_for_nothing(server):
    """It is asked, and says since when its part waits."""
    with Cluster(server, start=False, ps=1, worker=1) as cluster, graph():
        cluster.start("ps", 0, flags=[STUCK[0], "--stuck_after=0"])
        cluster.start("worker", 0, flags=STUCK)
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            take, feed = queue.dequeue(name="take").op, queue.enqueue(1.0)
        session = kept_session(cluster["worker", 0].target,
                               config=plain_config())
        waiting = Waiting(session, take)
        told = wait_event(cluster["worker", 0], "step_stuck")
        assert told["level"] == "warn", told
        assert told["waits"].endswith("take" + EMPTY.replace("worker", "ps"))
        session.run(feed)
        waiting.end()
        assert not events(cluster["ps", 0], "step_stuck")


@test(limit=60, tfd_only=True)
def a_cause_that_moves_where_no_master_asks(server):
    """A task waits for the end of another one's loop, which takes token after
    token.  Two steps that are stuck tell when it would have warned."""
    with Cluster(server, start=False, ps=1, worker=2) as cluster, graph():
        cluster.start("ps", 0, flags=STUCK)
        cluster.start("worker", 0, flags=[STUCK[0], "--stuck_after=0"])
        cluster.start("worker", 1, flags=STUCK)
        with tf.device("/job:ps/task:0"):
            queue = tokens()
            feed = queue.enqueue(1.0)
            end = tf.while_loop(lambda i: i < 1e6,
                                lambda i: i + queue.dequeue(), [0.0])
        with tf.device("/job:worker/task:1"):
            used = tf.negative(end, name="used").op
            takes = [tf.FIFOQueue(1, tf.float32, [()]).dequeue(
                name="stuck%d" % i).op for i in range(2)]
        session = kept_session(cluster["worker", 0].target,
                               config=plain_config())
        waiting = [Waiting(session, used)]
        for count, take in enumerate(takes, 1):
            waiting.append(Waiting(session, take))
            wait_until(lambda: session.run(feed) or told_once(cluster)[
                count - 1:], SOON, "%d stuck steps in a log" % count)
        told = [e["waits"].partition(":")[0] for e in told_once(cluster)]
        assert told == ["stuck0", "stuck1"], told
        session.close()
        for step in waiting:
            step.end()


@test(limit=60, tfd_only=True)
def a_master_that_is_no_tfd(server):
    with Cluster(server, STUCK, ps=1, worker=1, others={
            ("worker", 0): tensorflow_server(server.slow)}) as cluster:
        told = alone_on_ps(cluster)
        assert told["level"] == "warn", told
        assert told["waits"].startswith("take: QueueDequeueV2 of "), told


@test(limit=120, tfd_only=True)
def a_step_of_a_coordinator(server):
    """Its function is on a worker, which a client of TensorFlow 2 asked."""
    with program(server, "waits", STUCK, ps=1, worker=1) as (cluster, chief):
        told = wait_event(cluster["worker", 0], "step_stuck")
        assert told["level"] == "warn", told
        tensor, cause = told["waits"].split("; there ")
        assert " of /job:ps/replica:0/task:0/device:CPU:0" in tensor, told
        assert cause.startswith("take: QueueDequeueV2 of queue "), told
        there = wait_event(cluster["ps", 0], "step_stuck")
        assert there["level"] == "info" and there["waits"] == cause, there
        chief.hears("seen")
        chief.says("ok")
        assert told_once(cluster) == [told]
