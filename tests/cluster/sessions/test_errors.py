"""What clients see of failures: class, text, and that life goes on."""
import re
import threading
import time

from tests.cluster.client import (expect, failing_op, graph, np,
                                  plain_config, run, tf)
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.raw import Raw, code_of, graph_of, node
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
TASKS = ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0",
         "/job:worker/replica:0/task:1"]


def endless(device=""):
    """A loop that never ends by itself."""
    tf.disable_control_flow_v2()
    with tf.device(device):
        return tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])


def started(session, fetch):
    """Runs fetch in a thread; returns (thread, list that gets the error)."""
    errors = []

    def work():
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, errors


@test(tfd_only=True, **PAIR)
def one_error_names_all_unknown_ops(cluster):
    """TensorFlow's own text is the beginning; it names the first only."""
    raw = Raw(cluster["worker", 0].address)
    nodes = [node("a"), node("b", "Nope"), node("c", "Nada"),
             node("d", "Nope")]
    body = tf.GraphDef()
    function = body.library.function.add()
    function.signature.name = "F"
    function.node_def.add(name="x", op="Nix")
    whole = graph_of(*nodes)
    whole.library.CopyFrom(body.library)
    session = raw.create(graph_of(node("z")))
    calls = ((raw.create, (whole,), {}),
             (raw.master, ("ExtendSession",), dict(
                 session_handle=session, graph_def=whole)))
    for call, arguments, fields in calls:
        code, text = code_of(call, *arguments, **fields)
        assert code == "NOT_FOUND", text
        assert text.startswith("Op type not registered 'Nope' in binary "
                               "running on "), text
        assert "3 ops of this graph: Nope, Nada, Nix." in text, text
    raw.step(session, target=["z"])


@test(**PAIR)
def an_error_names_task_and_node(cluster):
    for task in TASKS:
        with graph(), tf.device(task):
            op = failing_op("reads_nothing")
            with expect(tf.errors.NotFoundError, "From %s:\n" % task,
                        "/no/such/file; No such file or directory",
                        "[[{{node reads_nothing}}]]"):
                run(cluster.target(), op)


@test(**PAIR)
def a_kernels_error_keeps_class_and_text(cluster):
    for task in TASKS:
        with graph():
            p = tf.placeholder(tf.float32)
            with tf.device(task):
                product = tf.raw_ops.MatMul(a=p, b=p, name="product")
            with expect(tf.errors.InvalidArgumentError,
                        "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
                        "{{node product}}"):
                run(cluster.target(), product, {p: np.ones((2, 3))})


@test(**PAIR)
def an_error_reaches_who_waits_on_other_tasks(cluster):
    """The failing op feeds both other tasks, which must not hang."""
    with graph():
        with tf.device("/job:ps"):
            contents = failing_op().outputs[0]
        with tf.device("/job:worker/task:1"):
            there = tf.strings.join([contents, "a"])
        joined = tf.strings.join([there, contents])
        with expect(tf.errors.NotFoundError, "/no/such/file"):
            run(cluster.target(), joined)


@test(**PAIR)
def the_cause_wins_over_what_follows_from_it(cluster):
    """One task fails while another loops for ever: the loop is cancelled."""
    for failing, looping in (("/job:ps", "/job:worker/task:1"),
                             ("/job:worker/task:0", "/job:ps"),
                             ("/job:ps", "/job:worker/task:0")):
        with graph():
            with tf.device(failing):
                op = failing_op()
            loop = endless(looping)
            with expect(tf.errors.NotFoundError, "/no/such/file"):
                run(cluster.target(), [loop, op])


@test(**PAIR)
def steps_after_a_failed_one_work(cluster):
    with graph(), tf.Session(cluster.target()) as session:
        with tf.device("/job:ps"):
            op, fine = failing_op(), tf.constant(1.0) + 1
        for _ in range(20):
            with expect(tf.errors.NotFoundError):
                session.run(op)
            assert session.run(fine) == 2.0


@test(**PAIR)
def failures_and_successes_side_by_side(cluster):
    with graph() as g:
        with tf.device("/job:ps"):
            op, fine = failing_op(), tf.constant(1.0) + 1
        session = tf.Session(cluster.target(), graph=g)
        wrong = []

        def work(failing):
            for _ in range(30):
                try:
                    if session.run(op if failing else fine) != 2.0:
                        wrong.append("value")
                except tf.errors.NotFoundError:
                    if not failing:
                        wrong.append("error")

        threads = [threading.Thread(target=work, args=[i % 2 == 1])
                   for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong


@test(**PAIR)
def an_unfed_placeholder_is_named(cluster):
    for shape, text in (([None, 3], " and shape [?,3]"), (None, "")):
        with graph():
            y = tf.placeholder(tf.float32, shape, name="y") + 1
            with expect(tf.errors.InvalidArgumentError,
                        "You must feed a value for placeholder tensor 'y' "
                        "with dtype float" + text + "\n\t [[{{node y}}]]"):
                run(cluster.target(), y)


@test(**PAIR)
def an_uninitialised_reference_variable_is_named(cluster):
    with graph():
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=False, name="not_yet")
        with expect(tf.errors.FailedPreconditionError,
                    "Attempting to use uninitialized value not_yet",
                    "From /job:ps/replica:0/task:0:"):
            run(cluster.target(), v + 1)


@test(**PAIR)
def an_uninitialised_resource_variable_is_named(cluster):
    with graph():
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, use_resource=True, name="not_yet_either")
        with expect(tf.errors.FailedPreconditionError,
                    "Could not find variable not_yet_either. ",
                    "Debug info: container=ps"):
            run(cluster.target(), v.read_value() + 1)


@test(**PAIR)
def a_dead_tensor_cannot_be_fetched(cluster):
    """As INTERNAL over the wire, though INVALID_ARGUMENT in process."""
    for device in ("/job:ps", "/job:worker/task:0"):
        with graph(), tf.device(device):
            off, on = tf.raw_ops.Switch(
                data=1.0, pred=tf.placeholder_with_default(True, None))
            dead = tf.identity(off, name="dead")
            with expect(tf.errors.InternalError, "dead:0", "was not valid"):
                run(cluster.target(), dead)
            assert run(cluster.target(), on) == 1.0


@test(**PAIR)
def a_step_ends_at_its_timeout(cluster):
    for task in TASKS:
        with graph():
            loop = endless(task)
            with tf.Session(cluster.target()) as session:
                session.run(tf.constant(0))
                start = time.monotonic()
                with expect(tf.errors.DeadlineExceededError):
                    session.run(loop, options=tf.RunOptions(timeout_in_ms=300))
                assert time.monotonic() - start < 5
                assert session.run(tf.constant(3)) == 3


@test(**PAIR)
def a_session_has_a_timeout_for_all_steps(cluster):
    with graph():
        loop = endless("/job:ps")
        config = tf.ConfigProto(operation_timeout_in_ms=500)
        with expect(tf.errors.DeadlineExceededError):
            run(cluster.target(), loop, config=config)


def closed_in_mid_step(cluster, task):
    """What the step says."""
    with graph():
        loop = endless(task)
        session = tf.Session(cluster.target())
        session.run(tf.constant(0))
        thread, errors = started(session, loop)
        # A second step, so that the first has most probably begun.
        with tf.device(task):
            session.run(tf.constant(1) + 1)
        session.close()
        thread.join()
        return errors[0]


@test(**PAIR)
def closing_a_session_cancels_its_steps(cluster):
    for task in TASKS:
        error = closed_in_mid_step(cluster, task)
        # The client itself refuses a step that comes after the close.
        while "session is not created yet" in str(error):
            error = closed_in_mid_step(cluster, task)
        assert isinstance(error, tf.errors.CancelledError), error


@test(**PAIR)
def reset_cancels_the_steps_of_other_clients(cluster):
    with graph():
        loop = endless("/job:ps")
        session = tf.Session(cluster.target())
        session.run(tf.constant(0))
        thread, errors = started(session, loop)
        session.run(tf.constant(1) + 1)
        tf.Session.reset(cluster.target())
        thread.join()
        assert isinstance(errors[0], (tf.errors.CancelledError,
                                      tf.errors.AbortedError)), errors[0]


@test(**PAIR)
def an_assertion_fails_with_its_data(cluster):
    with graph():
        x = tf.placeholder(tf.int32, [2])
        with tf.device("/job:ps"):
            check = tf.Assert(tf.reduce_all(x > 0), ["not positive:", x])
        run(cluster.target(), check, {x: [1, 2]})
        with expect(tf.errors.InvalidArgumentError, "assertion failed:",
                    "[not positive:] [1 -2]"):
            run(cluster.target(), check, {x: [1, -2]})


@test(**PAIR)
def a_step_says_that_its_session_was_closed(cluster):
    for task in TASKS:
        with graph():
            loop = endless(task)
            session = tf.Session(cluster.target())
            session.run(tf.constant(0))
            thread, errors = started(session, loop)
            with tf.device(task):
                session.run(tf.constant(1) + 1)
            tf.Session.reset(cluster.target())
            thread.join()
            assert "Step was cancelled by an explicit call to " \
                "`Session::Close()`." in errors[0].message, errors[0]
            handle = "[0-9a-f]{16}"
            for call, code, text in (
                    (lambda: session.run(loop), tf.errors.AbortedError,
                     "Session %s is not found.$" % handle),
                    (session.list_devices, tf.errors.InvalidArgumentError,
                     "Session %s is not found. Possibly, this master has "
                     "restarted." % handle),
                    (session.close, tf.errors.AbortedError,
                     "Session %s is not found. Possibly, this master has "
                     "restarted." % handle)):
                try:
                    call()
                    raise AssertionError("no error")
                except code as error:
                    assert re.search(text, error.message), error.message


# ---- Several tasks fail ------------------------------------------------------

# Not on the master's own task, which is done before others can answer.
FAR = ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1",
       "/job:worker/replica:0/task:2"]
FOUR = dict(ps=1, worker=3)
RULE = "====================="
FAILED = r"From (/job:\S+):\n"


def failing_ops(tasks, names):
    """Each fails on its task, for a reason of its own."""
    def unset(name):
        v = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[],
                                   shared_name="nothing")
        return tf.raw_ops.ReadVariableOp(resource=v, dtype=tf.float32,
                                         name=name).op

    def misshapen(name):
        p = tf.placeholder_with_default([1.0], None)
        return tf.raw_ops.MatMul(a=p, b=p, name=name).op

    made = []
    for task, name, make in zip(tasks, names,
                                (failing_op, misshapen, unset)):
        with tf.device(task):
            made.append(make(name))
    return made


def parts_of(text):
    """What tasks say in one message: their sorted "CODE: From TASK:\\n..."
    texts, without the code where there is but one."""
    text = text[re.search(RULE + "|From /job:", text).start():]
    if not text.startswith(RULE):
        return [text]
    head, body, tail = text.split(RULE)
    assert not head and not tail, text
    return sorted(re.split(r"\n(?=[A-Z_]+: From )", body.strip("\n")))


def merged_error(target, names, also=()):
    """The class and the parts of the first of many steps in which all of the
    ops failed before one could end the others."""
    with graph():
        ops = failing_ops(FAR, names)
        ops += [endless(task) for task in also]
        with tf.Session(target, config=plain_config()) as session:
            for _ in range(1500):
                try:
                    session.run(ops)
                except tf.errors.OpError as error:
                    if len(set(re.findall(FAILED, error.message))) == len(
                            names):
                        return error
    raise AssertionError("never %d at once" % len(names))


def check_merged(error, count, want):
    """want: what each of the failing tasks says, by the class it comes with."""
    parts = parts_of(error.message)
    assert parts == sorted("%s: %s" % said for said in want), parts
    # The class is that of the failure that came first, and was put first.
    first = error.message.split(RULE + "\n")[1]
    assert first.startswith({
        tf.errors.NotFoundError: "NOT_FOUND",
        tf.errors.InvalidArgumentError: "INVALID_ARGUMENT",
        tf.errors.FailedPreconditionError: "FAILED_PRECONDITION",
    }[type(error)] + ": "), error.message
    for name in ("missing", "product", "unset")[:count]:
        assert "Node: '%s'" % name in str(error), error


def said_alone(target, names):
    """What each op's task says where no other fails, as (code, text)."""
    codes = {5: "NOT_FOUND", 3: "INVALID_ARGUMENT", 9: "FAILED_PRECONDITION"}
    with graph(), tf.Session(target, config=plain_config()) as session:
        for op in failing_ops(FAR, names):
            try:
                session.run(op)
                raise AssertionError("no error")
            except tf.errors.OpError as error:
                yield codes[error.error_code], parts_of(error.message)[0]


@test(limit=90, **FOUR)
def failures_of_several_tasks_are_told_together(cluster):
    """Two tasks, three, and two beside one that is only cancelled: its
    CANCELLED is left out."""
    three = ("missing", "product", "unset")
    for names, also in ((three[:2], ()), (three, ()), (three[:2], FAR[2:])):
        want = list(said_alone(cluster.target(), names))
        assert [code for code, _ in want] == [
            "NOT_FOUND", "INVALID_ARGUMENT", "FAILED_PRECONDITION"][
                :len(names)], want
        error = merged_error(cluster.target(), names, also)
        check_merged(error, len(names), want)


@test(limit=150, tfd_only=True, **FOUR)
def failures_of_several_tasks_are_told_in_tensorflows_words(cluster):
    """The classes and the text between the rules, in any order: the same graph
    on a real cluster.  What the text says of the variable's container is the
    kernel's, and compared too."""
    three = ("missing", "product", "unset")
    with Cluster(tensorflow_server(cluster.server.slow), **FOUR) as real:
        for names in (three[:2], three):
            got, want = (parts_of(merged_error(target, names).message)
                         for target in (cluster.target(), real.target()))
            assert got == want, (got, want)


@test(**PAIR)
def several_failing_tasks_are_one_error_of_their_class(cluster):
    """Whoever fails first ends the others; two at once are told together."""
    for _ in range(10):
        with graph():
            ops = []
            for index, task in enumerate(TASKS):
                with tf.device(task):
                    ops.append(failing_op("fails_%d" % index))
            try:
                run(cluster.target(), ops)
                raise AssertionError("no error")
            except tf.errors.NotFoundError as error:
                text = error.message
            found = set(re.findall(r"From (/job:\S+):\n/no/such/file", text))
            assert found and found <= set(TASKS), text
            ruled = text.count("=====================\n")
            ruled += text.endswith("=====================")
            assert ruled == (2 if len(found) > 1 else 0), text
            for unwanted in ("CANCELLED", "ABORTED", "Derived"):
                assert unwanted not in text, text


@test(**PAIR)
def failures_of_two_classes_come_with_the_first_ones(cluster):
    for _ in range(6):
        with graph():
            with tf.device("/job:ps"):
                missing = failing_op()
            with tf.device("/job:worker/task:1"):
                p = tf.placeholder_with_default([1.0], None)
                product = tf.raw_ops.MatMul(a=p, b=p, name="product").op
            try:
                run(cluster.target(), [missing, product])
                raise AssertionError("no error")
            except (tf.errors.NotFoundError,
                    tf.errors.InvalidArgumentError) as error:
                first = ("NOT_FOUND" if isinstance(
                    error, tf.errors.NotFoundError) else "INVALID_ARGUMENT")
                rule = "=====================\n"
                if rule in error.message:
                    assert error.message.partition(rule)[2].startswith(
                        first), error.message
