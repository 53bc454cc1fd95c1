"""The slowest ops of what a task runs, in /status.json and for tfdctl."""
import re
import time

from tests.cluster.client import expect, graph, np, plain_config, tf
from tests.cluster.cluster import Cluster
from tests.cluster.ctl.ctl import good
from tests.cluster.eager.contexts import context, give
from tests.cluster.eager.test_eager_parts import call, pair, register
from tests.cluster.raw import message
from tests.cluster.status.browser import Browser
from tests.cluster.status.document import SIZE_MAX, read
from tests.cluster.suite import test
from tests.cluster.watch import metrics

from tensorflow.python.framework import function

ONE = dict(tfd_only=True, worker=1)
PAIR = dict(tfd_only=True, ps=1, worker=1)
CPU = "/job:%s/replica:0/task:0/device:CPU:0"
WIDE = np.full((1024, 1024), 0.5, np.float32)


def slowest(task, **wanted):
    """Of each part of this task, the slowest first; wanted: of a part."""
    return [part for part in read(task)[0]["parts"]["list"]
            if part["slowest"] and
            all(part[key] == value for key, value in wanted.items())]


def the_one(task, op):
    """The part whose slowest op is of this type."""
    (part,) = [p for p in slowest(task) if p["slowest"][0]["op"] == op]
    return part


def plan_of(task, fetch):
    (plan,) = [p for p in read(task)[0]["plans"]["list"]
               if p["fetches"] == [fetch]]
    return plan


@test(**ONE)
def a_heavy_op_between_light_ones_is_named_first(cluster):
    task = cluster["worker", 0]
    with graph():
        x = tf.placeholder(tf.float32, [1024, 1024])
        light = tf.sqrt(tf.reduce_mean(x), name="before")
        heavy = tf.matmul(x, x, name="heavy")
        out = tf.tanh(light + heavy[0, 0], name="after")
        with tf.Session(cluster.target(), config=plain_config()) as session:
            assert not read(task)[0]["plans"]["list"]
            took = []
            for _ in range(9):
                begun = time.monotonic()
                session.run(out, {x: WIDE})
                took.append(time.monotonic() - begun)
            plan = plan_of(task, "after:0")
            first = plan["slowest"][0]
            assert first["name"] == "heavy" and first["op"] == "MatMul", plan
            assert first["device"] == CPU % "worker", first
            assert first["runs"] == 1 and not first["waits"], first
            assert first["share"] > 0.5, plan
            assert 100 < first["mean_us"] < 1e6 * max(took), (plan, took)
            assert first["mean_us"] <= 3 * plan["mean_us"], plan
            times = [op["mean_us"] for op in plan["slowest"]]
            assert len(times) > 2, plan
            assert times == sorted(times, reverse=True), plan
            part = the_one(task, "MatMul")
            assert part["slowest"] == plan["slowest"], (part, plan)
            # Steps 1, 2, 4 and 8 from 0; what the first one took is dropped.
            assert (part["steps_ended"], part["steps_sampled"]) == (9, 4), part
            assert part["mean_us"] * 1.01 + 1 >= first["mean_us"], part
            text = good("top", "--once", "--target=" + task.address)
            assert "MatMul heavy" in text and "parts: " in text, text
        assert not slowest(task), "its session is closed"


@test(**ONE)
def a_plan_of_one_step_is_told_as_it_was(cluster):
    task = cluster["worker", 0]
    with graph():
        x = tf.placeholder(tf.float32, [1024, 1024])
        out = tf.matmul(x, x, name="only")[0, 0]
        with tf.Session(cluster.target(), config=plain_config()) as session:
            session.run(out, {x: WIDE})
            part = the_one(task, "MatMul")
            assert (part["steps_ended"], part["steps_sampled"]) == (1, 1), part


@test(**ONE)
def ops_in_a_loop_count_all_its_rounds(cluster):
    """As code, and node by node where a loop has a queue."""
    task = cluster["worker", 0]
    for waits in (False, True):
        with graph():
            x = tf.placeholder(tf.float32, [256, 256])
            queue = tf.queue.FIFOQueue(1000, [tf.float32], shapes=[[]])
            fill = queue.enqueue_many([tf.zeros([200])])

            def body(i, y, x=x, queue=queue, waits=waits):
                y = tf.matmul(x, y, name="in_loop")
                if waits:
                    y += queue.dequeue()
                return i + 1, y
            rounds = 200
            _, out = tf.while_loop(lambda i, _: i < rounds, body, [0, x],
                                   parallel_iterations=1)
            out = out[0, 0]
            with tf.Session(cluster.target(), config=plain_config()) as session:
                for _ in range(3):
                    if waits:
                        session.run(fill)
                    session.run(out, {x: WIDE[:256, :256] / 128})
                first = the_one(task, "MatMul")["slowest"][0]
                assert "in_loop" in first["name"], first
                # As code 61 rounds, then one for 61.
                assert abs(first["runs"] - rounds) <= 31 * (not waits), first


@test(**PAIR)
def each_task_tells_its_own_part(cluster):
    ps, worker = cluster["ps", 0], cluster["worker", 0]
    with graph():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:ps"):
            wide = tf.fill([1024, 1024], x)
            there = tf.reduce_sum(tf.matmul(wide, wide, name="there"))
        with tf.device("/job:worker"):
            out = tf.exp(there * 1e-9, name="here")
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(5):
                session.run(out, {x: 1.0})
            part = the_one(ps, "MatMul")
            first = part["slowest"][0]
            assert first["name"] == "there" and first["share"] > 0.5, part
            assert first["device"] == CPU % "ps", first
            assert part["master"] == "/job:worker/replica:0/task:0", part
            plan = plan_of(worker, "here:0")
            assert {op["device"] for op in plan["slowest"]} == \
                {CPU % "worker"}, plan
            # It waits for the ps, which is no op's own time.
            assert plan["slowest"][0]["share"] < 0.5, plan
            assert not {op["op"] for op in plan["slowest"]} & {
                "_Recv", "_Send", "_HostRecv", "_HostSend"}, plan
            session_of = plan["session"]
            assert [p["session"] for p in slowest(ps)] == [session_of]


@test(**ONE)
def an_op_that_waits_says_so(cluster):
    task = cluster["worker", 0]
    with graph():
        queue = tf.queue.FIFOQueue(10, [tf.float32], shapes=[[]])
        put = queue.enqueue(1.0)
        take = tf.negative(queue.dequeue(), name="taken")
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(3):
                session.run(put)
                session.run(take)
            ops = plan_of(task, "taken:0")["slowest"]
            (dequeue,) = [op for op in ops if "Dequeue" in op["op"]]
            assert dequeue["waits"], dequeue
            assert all(not op["waits"] for op in ops if "Neg" in op["op"])


@test(**ONE)
def functions_are_told_by_the_ops_in_them_or_by_their_call(cluster):
    task = cluster["worker", 0]
    with graph():
        @function.Defun(tf.float32, func_name="squares")
        def squares(x):
            return tf.reduce_sum(tf.matmul(x, x, name="product"))

        @function.Defun(tf.float32, func_name="squares_apart", noinline=True)
        def apart(x):
            return tf.reduce_sum(tf.matmul(x, x, name="product"))
        x = tf.placeholder(tf.float32, [1024, 1024])
        for made in (squares, apart):
            out = tf.identity(made(x), name="of_" + made.name)
            with tf.Session(cluster.target(), config=plain_config()) as session:
                for _ in range(3):
                    session.run(out, {x: WIDE})
                first = plan_of(task, out.name)["slowest"][0]
                assert first["name"].startswith("squares"), first
                assert first["share"] > 0.4, first
                assert "MatMul" in first["op"] or first["waits"], first


@test(**ONE)
def steps_that_fail_count_with_what_they_did(cluster):
    task = cluster["worker", 0]
    with graph():
        x = tf.placeholder(tf.float32, [1024, 1024])
        product = tf.matmul(x, x, name="product")
        out = tf.check_numerics(tf.reduce_sum(product) - np.inf, "it fails",
                                name="checked")
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(3):
                with expect(tf.errors.InvalidArgumentError, "it fails"):
                    session.run(out, {x: WIDE})
            plan = plan_of(task, "checked:0")
            assert plan["steps_ended"] == 0 and plan["mean_us"] is None, plan
            assert plan["slowest"][0]["name"] == "product", plan
            assert the_one(task, "MatMul")["steps_ended"] == 3


@test(**ONE)
def names_are_cut_and_lists_are_bounded(cluster):
    task = cluster["worker", 0]
    with graph():
        x = tf.placeholder(tf.float32, [64])
        long = [tf.cumsum(x, name="n%d_" % i + "a" * 4000)
                for i in range(150)]
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for out in long:
                session.run(out, {x: np.ones(64)})
            document, body = read(task)
            parts = document["parts"]
            assert parts["count"] >= 150, parts["count"]
            assert len(parts["list"]) == 100, len(parts["list"])
            assert parts["more"] == parts["count"] - 100, parts["more"]
            assert len(body) < SIZE_MAX, len(body)
            names = [op["name"] for p in parts["list"] for op in p["slowest"]]
            assert max(map(len, names)) <= 259, max(map(len, names))
            session.run(long[:20], {x: np.ones(64)})
            (part,) = [p for p in slowest(task) if len(p["slowest"]) > 1]
            assert len(part["slowest"]) == 5, part


@test(**PAIR)
def functions_of_a_context_are_told_on_each_of_their_tasks(cluster):
    ps, worker = cluster["ps", 0], cluster["worker", 0]
    with pair(cluster, 4711) as p:
        for number in range(20, 25):
            p.step(number)
        here = [op for part in slowest(worker) for op in part["slowest"]]
        there = [op for part in slowest(ps) for op in part["slowest"]]
        assert {op["device"] for op in here} == {CPU % "worker"}, here
        assert {op["device"] for op in there} == {CPU % "ps"}, there
        assert "AddV2" in {op["op"] for op in here}, here
        assert "AssignAddVariableOp" in {op["op"] for op in there}, there


@test(**ONE)
def a_function_of_a_context_is_told_by_its_ops(cluster):
    made = message("tensorflow.FunctionDef")
    made.signature.name = "products"
    made.signature.input_arg.add(name="x", type=1)
    made.signature.output_arg.add(name="y", type=1)
    node = made.node_def.add(name="product", op="MatMul", input=["x", "x"])
    node.attr["T"].type = 1
    made.ret["y"] = "product:product:0"
    with context(cluster, 1077) as c:
        c.enqueue(register(made), give(1, WIDE))
        for number in range(2, 7):
            c.enqueue(call(number, "products",
                           message("EagerHandle", op_id=1, dtype=1)))
        first = the_one(cluster["worker", 0], "MatMul")["slowest"][0]
        assert first["name"] == "product" and first["share"] > 0.3, first


@test(tfd_only=True)
def a_session_closed_amid_a_sampled_step_leaves_nothing(server):
    with Cluster(server, worker=1) as cluster, graph():
        task = cluster["worker", 0]
        queue = tf.queue.FIFOQueue(1, [tf.float32], shapes=[[]])
        take = queue.dequeue()
        for _ in range(3):
            session = tf.Session(cluster.target(), config=plain_config(
                operation_timeout_in_ms=200))
            with expect(tf.errors.DeadlineExceededError):
                session.run(take)
            session.close()
        assert read(task)[0]["parts"]["list"] == []
        assert metrics(task)["tfd_steps_running"] == 0


@test(limit=60, **ONE)
def the_page_shows_them(cluster):
    with graph(), Browser() as browser:
        x = tf.placeholder(tf.float32, [1024, 1024])
        out = tf.tanh(tf.matmul(x, x, name="heavy")[0, 0])
        with tf.Session(cluster.target(), config=plain_config()) as session:
            for _ in range(3):
                session.run(out, {x: WIDE})
            browser.open("http://" + cluster["worker", 0].address + "/")
            for table in ("plans", "parts"):
                text = browser.until(
                    "[...document.querySelectorAll('#%s tbody tr')].map(r =>"
                    " r.textContent).find(t => t.includes('MatMul heavy '))"
                    % table)
                assert re.search(r"MatMul heavy [0-9.]+ ms \([0-9]+ %\), ",
                                 text), text
            browser.value("document.getElementById('plans').scrollIntoView()")
            browser.picture("page-slow-ops")
