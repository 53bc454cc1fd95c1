"""Functions that are called so often that a call costs what its body does: a
server may run them where they are called, and their values and errors are what
they are elsewhere."""
import threading

from tests.cluster.client import equal, expect, graph, np, tf
from tests.cluster.suite import test
from tests.cluster.graphs.test_functions import v2_graph, without_lowering

CALLS = 200
STEPS = 40


def chain_of_branches():
    """x goes CALLS times through one branch or the other, a node each."""
    with v2_graph() as g:
        x = tf.placeholder(tf.float32, [2], name="x")
        up = tf.placeholder(tf.bool, [], name="up")
        y = x

        def more():
            return tf.debugging.check_numerics(y, "no number") + 1.0

        for _ in range(CALLS):
            y = tf.cond(up, more, lambda: y * 1.0)
        tf.identity(y, name="y")
    return without_lowering(g)


def run_steps(session, start):
    for k in range(STEPS):
        up = k % 3 != 0
        got = session.run("y:0", {"x:0": [start, k], "up:0": up})
        equal(got, np.float32([start, k]) + (CALLS if up else 0))


@test(limit=60, ps=1, worker=1)
def branches_that_run_often(cluster):
    with graph():
        tf.import_graph_def(chain_of_branches(), name="")
        with tf.Session(cluster.target()) as session:
            run_steps(session, 3)


@test(limit=60, ps=1, worker=1)
def branches_that_run_often_fail_as_others_do(cluster):
    with graph():
        tf.import_graph_def(chain_of_branches(), name="")
        with tf.Session(cluster.target()) as session:
            for _ in range(3):
                run_steps(session, 5)
                with expect(tf.errors.InvalidArgumentError, "no number"):
                    session.run("y:0", {"x:0": [1, np.nan], "up:0": True})
                got = session.run("y:0", {"x:0": [1, np.nan], "up:0": False})
                equal(got, np.float32([1, np.nan]))


@test(limit=60, ps=1, worker=1)
def branches_that_run_often_in_steps_side_by_side(cluster):
    wrong = []
    with graph():
        tf.import_graph_def(chain_of_branches(), name="")
        with tf.Session(cluster.target()) as session:

            def one(start):
                try:
                    run_steps(session, start)
                except Exception as error:  # told by the thread that tests
                    wrong.append(error)

            threads = [threading.Thread(target=one, args=(k,))
                       for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
    assert not wrong, wrong
