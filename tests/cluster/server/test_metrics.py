"""What Prometheus reads, judged by promtool and by a Prometheus that scrapes."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile

from tests.cluster.client import expect, failing_op, graph, kept_session, tf
from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.faults import wire
from tests.cluster.server.prometheus import GRAFANA, SOON, Prometheus, tool
from tests.cluster.suite import test
from tests.cluster.watch import metrics, wait_metric

# tfd has them only with a GPU.
OF_GPUS = re.compile("tfd_gpu_")


def check_metrics(task):
    """promtool's opinion of a task's page, which it must not have any of."""
    page = wire.get(task.port, "/metrics")[2]
    done = subprocess.run([tool("promtool"), "check", "metrics"], input=page,
                          capture_output=True, timeout=SOON, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0 and not said, said
    return page.decode()


class Work:
    """Steps of a session that stays open: the first of all kinds, variables, a
    queue with two elements, a checkpoint."""

    def __init__(self, cluster, folder):
        with graph():
            with tf.device("/job:ps/task:0"):
                step = tf.Variable(41, dtype=tf.int64, name="global_step")
                weights = tf.Variable(tf.zeros([1000]), name="weights")
                queue = tf.FIFOQueue(10, tf.float32, shared_name="inputs")
            self.step = tf.assign_add(step, 1)
            self.put, self.take = queue.enqueue(1.0), queue.dequeue()
            self.used = tf.reduce_sum(weights)
            self.broken = failing_op()
            saver = tf.train.Saver()
            self.session = kept_session(cluster.target("worker"))
            self.session.run(tf.global_variables_initializer())
            self.more()
            self.more()
            self.stumble()
            self.session.run(self.put)
            self.session.run(self.put)
            saver.save(self.session, os.path.join(folder, "model"),
                       write_meta_graph=False)

    def more(self):
        """A step that ends well."""
        return self.session.run([self.put, self.used, self.take, self.step])

    def stumble(self):
        """One that fails, and one that times out when the queue is empty."""
        with expect(tf.errors.NotFoundError):
            self.session.run(self.broken)
        with expect(tf.errors.DeadlineExceededError):
            for _ in range(10):
                self.session.run(self.take,
                                 options=tf.RunOptions(timeout_in_ms=50))


@test(limit=60, tfd_only=True)
def metrics_pass_promtool(server):
    tool("promtool")
    with Cluster(server, ps=1, worker=1) as cluster, \
            tempfile.TemporaryDirectory() as folder:
        ps, worker = cluster["ps", 0], cluster["worker", 0]
        Work(cluster, folder)
        page = check_metrics(worker)
        check_metrics(ps)
        said = metrics(worker)
        count = said["tfd_step_duration_seconds_count"]
        assert count == said["tfd_steps_total"] >= 8, count
        assert said['tfd_step_duration_seconds_bucket{le="+Inf"}'] == count
        assert said["tfd_steps_failed_total"] == 2, page
        assert said["tfd_steps_timed_out_total"] == 1, page
        run = '{method="tensorflow.MasterService/RunStep"}'
        assert said["tfd_rpc_duration_seconds_count" + run] == count, page
        peer = '{peer="/job:ps/replica:0/task:0"%s}'
        assert said["tfd_peer_up" + peer % ""] == 1, page
        for way in ("sent", "received"):
            assert said["tfd_peer_bytes_total" + peer
                        % (',direction="%s"' % way)] > 1000, page
        # The connection of the question is one of them, for a while.
        assert abs(said["process_open_fds"] - len(
            os.listdir("/proc/%d/fd" % worker.process.pid))) <= 2
        assert said["process_start_time_seconds"] > 1.6e9


@test(limit=60, tfd_only=True)
def metrics_tell_of_what_a_ps_holds(server):
    with Cluster(server, ps=1, worker=1) as cluster, \
            tempfile.TemporaryDirectory() as folder:
        ps = cluster["ps", 0]
        Work(cluster, folder)
        said = metrics(ps)
        assert said['tfd_global_step{container="ps"}'] == 43, said
        assert said["tfd_variables"] == 2, said
        assert said["tfd_variable_bytes"] == 8 + 4000, said
        assert said['tfd_memory_bytes{kind="variables"}'] == 8 + 4000, said
        queue = ('tfd_queue_elements{device="/job:ps/replica:0/task:0/'
                 'device:CPU:0",container="ps",queue="inputs"}')
        assert said[queue] == 2, said
        writes = sum(metrics(task)["tfd_checkpoint_write_bytes_total"]
                     for task in cluster.tasks.values())
        assert writes == 8 + 4000, writes
        wrote = [metrics(task) for task in cluster.tasks.values()
                 if metrics(task)["tfd_checkpoint_writes_total"]]
        assert all(0 <= one["tfd_checkpoint_age_seconds"] < SOON
                   and 0 < one["tfd_checkpoint_duration_seconds"] < SOON
                   for one in wrote), wrote
        cluster["worker", 0].kill()
        assert "tfd_global_step" in wire.get(ps.port, "/metrics")[2].decode()


@test(limit=60, tfd_only=True)
def a_lost_peer_is_down(server):
    with Cluster(server, ps=1, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        with tf.device("/job:ps"):
            one = tf.constant(1.0) + 1
        session = kept_session(worker.target)
        session.run(one)
        up = 'tfd_peer_up{peer="/job:ps/replica:0/task:0"}'
        assert metrics(worker)[up] == 1
        cluster["ps", 0].kill()
        wait_metric(worker, up, 0, SOON)


@test(limit=60, tfd_only=True)
def hostile_names_are_no_samples(server):
    """Names of queues that would break a line, and more than there may be."""
    hostile = ['a"} 1\nprocess_open_fds 7\n', "b\\", "\t{},=#", "\u00e9\u20ac",
               b"\xff\xfe", b"nul\0a", b"nul\0b", "x" * 300]
    with Cluster(server, worker=1) as cluster, graph():
        worker = cluster["worker", 0]
        with tf.Session(worker.target) as session:
            made = [tf.raw_ops.QueueSizeV2(handle=tf.raw_ops.FIFOQueueV2(
                component_types=[tf.float32], shared_name=name))
                    for name in hostile]
            session.run(made)
            page = check_metrics(worker) if shutil.which("promtool") else (
                wire.get(worker.port, "/metrics")[2].decode())
            told = [line for line in page.splitlines()
                    if line.startswith("tfd_queue_elements{")]
            assert len(told) == 5, told
            for name in ('a\\"} 1\\nprocess_open_fds 7\\n', "b\\\\", "\t{},=#",
                         "\u00e9\u20ac", "nul"):
                assert any(line.endswith('queue="%s"} 0' % name)
                           for line in told), (name, told)
            assert "process_open_fds 7\n" not in page
            assert metrics(worker)["tfd_metric_samples_left_out"] == 3
            many = [tf.raw_ops.QueueSizeV2(handle=tf.raw_ops.FIFOQueueV2(
                component_types=[tf.float32], shared_name="many%d" % i))
                    for i in range(200)]
            session.run(many)
            said = metrics(worker)
            told = [one for one in said if one.startswith("tfd_queue_elements")]
            assert 90 < len(told) <= 100, len(told)
            assert (len(told) + said["tfd_metric_samples_left_out"]
                    == len(hostile) + len(many)), said


# ---- Prometheus -------------------------------------------------------------

# The interval is also the time within which a task has to answer.
@contextlib.contextmanager
def after_stumbling(cluster, folder):
    """(Work, a Prometheus): the steps that fail come before the first scrape,
    or their increase would be an alert."""
    work = Work(cluster, folder)
    with Prometheus(folder, list(cluster.tasks.values())) as prometheus:
        yield work, prometheus


def board_queries():
    """The queries of the board's panels, with its variables filled in."""
    with open(os.path.join(GRAFANA, "tfd.json")) as file:
        board = json.load(file)
    queries = [target["expr"] for panel in board["panels"]
               for target in panel.get("targets", ())]
    assert len(queries) >= 30, queries
    return [query.replace("$__rate_interval", "1m").replace("$job", "tfd")
            .replace("$instance", ".*") for query in queries]


# The values of some of the board's queries, by their beginning.
VALUES = {
    "sum(up{": lambda values: values == [2],
    "count(up{": lambda values: values == [2],
    "max(tfd_global_step{": lambda values: values[0] > 43,
    "sum by (instance) (1 - tfd_peer_up{": lambda values: set(values) == {0},
    "histogram_quantile(0.5, sum by (le) (": lambda values: (
        0 < values[0] < 1),
    "tfd_queue_elements{": lambda values: values == [2],
    "tfd_variable_bytes{": lambda values: sorted(values) == [0, 4008],
    "tfd_checkpoint_age_seconds{": lambda values: 0 <= max(values) < 120,
    "process_open_fds{": lambda values: min(values) > 3,
}


def assert_board(prometheus):
    """Each query of the board has an answer, and those that are known are as
    they should be."""
    checked = set()
    for query in board_queries():
        if OF_GPUS.search(query):
            assert prometheus.query(query) == [], query
            continue
        values = [value for _, value in prometheus.wait(query)]
        for beginning, good in VALUES.items():
            if query.startswith(beginning):
                assert good(values), (query, values)
                checked.add(beginning)
    assert checked == set(VALUES), set(VALUES) - checked


def check_alerts():
    done = subprocess.run([tool("promtool"), "check", "rules",
                           os.path.join(GRAFANA, "alerts.yml")],
                          capture_output=True, timeout=SOON, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@test(limit=120, tfd_only=True)
def prometheus_answers_the_board_and_the_alerts(server):
    tool("prometheus")
    check_alerts()
    with Cluster(server, ps=1, worker=1) as cluster, \
            tempfile.TemporaryDirectory() as folder, \
            after_stumbling(cluster, folder) as (work, prometheus):
        prometheus.wait('up{job="tfd"} == 1', lambda said: len(said) == 2)
        # Until the increase of counters can be worked out.
        wait_until(lambda: work.more() and prometheus.query(
            'sum(rate(tfd_steps_total{job="tfd"}[1m])) > 0 and '
            'sum(delta(tfd_global_step[1m])) > 0'), SOON, "rates")
        prometheus.wait_for_news()
        rules = prometheus.rules()
        assert len(rules) >= 10, rules
        firing = {name: said for name, said in (
            (name, prometheus.query(query)) for name, query in rules.items())
                  if said}
        assert not firing, firing
        assert_board(prometheus)
        work.stumble()
        assert prometheus.wait(rules["TfdStepsTimeOut"])[0][1] >= 1
        # As many as make one in twenty of those before.
        wait_until(lambda: work.stumble() or prometheus.query(
            rules["TfdStepsFail"]), SOON, "steps that fail")
        instance = "127.0.0.1:%d" % cluster["ps", 0].port
        cluster["ps", 0].kill()
        down = prometheus.wait(rules["TfdTaskDown"])
        assert [labels["instance"] for labels, _ in down] == [instance], down
        lost = prometheus.wait(rules["TfdPeerDown"])
        assert lost[0][0]["peer"] == "/job:ps/replica:0/task:0", lost
        assert prometheus.query('sum(up{job="tfd"})')[0][1] == 1
