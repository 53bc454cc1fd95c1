"""What only a card shows; skipped, with the server's reason, without one."""
import re
import threading
import urllib.request

from tests.cluster.client import equal, expect, graph, np, tf
from tests.cluster.cluster import Cluster
from tests.cluster.programs.play import play
from tests.cluster.suite import Skip, test
from tests.cluster.test_nets import check_losses, check_residual_net
from tests.cluster.test_programs import path_of

MIB = 1 << 20
GPU = "/job:worker/task:%d/gpu:0"
# All of a cluster share one card.
LIMITED = ["--gpu_memory_limit=1G", "--gpu_visible=0"]
PS_TOO = LIMITED + ["--device_count=CPU:1,GPU:1"]
PROGRAMS = ("a01_const", "a02_mlp_ps", "a03_saver")


def need_a_card(cluster, task=("worker", 0)):
    with tf.Session(cluster.target()) as session:
        names = [d.name for d in session.list_devices()]
    if not any("/job:%s/replica:0/task:%d/device:GPU:0" % task in name
               for name in names):
        why = re.search(r'no_gpu why="(.*)"', cluster[task].log_text())
        raise Skip("no GPU: %s" % (why.group(1) if why else names))


def metric(task, name):
    page = urllib.request.urlopen("http://%s/metrics" % task.address)
    text = page.read().decode()
    found = re.search(r'^%s\{device="GPU:0"\} (\d+)$' % name, text, re.M)
    assert found, (name, text)
    return int(found.group(1))


def play_programs(cluster):
    for name in PROGRAMS:
        play(path_of(name), cluster.target(), 1)
    assert metric(cluster["worker", 0], "tfd_gpu_allocs_total") > 0


@test(limit=600, ps=1, worker=2, flags=LIMITED)
def programs_with_the_ps_on_the_cpu(cluster):
    need_a_card(cluster)
    play_programs(cluster)


@test(limit=600, ps=1, worker=2, flags=PS_TOO)
def programs_with_the_ps_on_the_gpu(cluster):
    need_a_card(cluster, ("ps", 0))
    play_programs(cluster)
    assert metric(cluster["ps", 0], "tfd_gpu_allocs_total") > 0


@test(limit=600, tfd_only=True)
def networks_train_as_in_tensorflow(server):
    """With products of whole floats, as TensorFlow's on the CPU are."""
    with Cluster(server, worker=1, flags=LIMITED,
                 env={"NVIDIA_TF32_OVERRIDE": "0"}) as cluster:
        need_a_card(cluster)
        for dtype in ("float", "bfloat16"):
            check_losses(cluster.target(), "mlp", dtype)
            check_losses(cluster.target(), "cnn", dtype)
        check_residual_net(cluster.target(), "float", side=32)
        assert metric(cluster["worker", 0], "tfd_gpu_allocs_total") > 0


def products(cluster, worker, steps, wrong):
    """Products of matrices of ones: each element is their size."""
    with tf.Graph().as_default(), tf.device(GPU % worker):
        size = 512 + 512 * worker
        ones = tf.fill([size, size], 1.0)
        far = tf.reduce_max(tf.abs(tf.matmul(ones, ones) - float(size)))
        with tf.Session(cluster.target("worker", worker)) as session:
            wrong.extend(x for x in (session.run(far) for _ in range(steps))
                         if x != 0)


@test(limit=120, tfd_only=True, ps=1, worker=2, flags=LIMITED)
def two_workers_share_a_card_within_their_limits(cluster):
    need_a_card(cluster)
    need_a_card(cluster, ("worker", 1))
    wrong = []
    threads = [threading.Thread(target=products,
                                args=(cluster, worker, 50, wrong))
               for worker in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    for worker in (0, 1):
        task = cluster["worker", worker]
        assert metric(task, "tfd_gpu_memory_limit_bytes") == 1024 * MIB
        assert metric(task, "tfd_gpu_memory_reserved_bytes") <= 1024 * MIB
        assert metric(task, "tfd_gpu_memory_peak_bytes") > 0


@test(limit=120, tfd_only=True, ps=1, worker=2, flags=LIMITED)
def running_out_of_memory_is_survived(cluster):
    need_a_card(cluster)
    with graph(), tf.device(GPU % 0):
        rows = tf.placeholder(tf.int32, [])
        x = tf.fill(tf.stack([rows, 1024]), 2.0)
        total = tf.reduce_sum(x * x)
        with tf.Session(cluster.target()) as session:
            for _ in range(3):
                with expect(tf.errors.ResourceExhaustedError, "GPU:0"):
                    session.run(total, {rows: 1 << 20})
                assert session.run(total, {rows: 4}) == 4 * 1024 * 4.0
    assert metric(cluster["worker", 0], "tfd_gpu_oom_total") >= 3


def train(cluster, steps):
    """Losses of a small training; each sixth step has a smaller batch."""
    rng = np.random.RandomState(1)
    data, labels = rng.rand(32, 10).astype(np.float32), rng.randint(0, 4, 32)
    with graph(), tf.device(tf.train.replica_device_setter(
            cluster=cluster.spec)):
        images = tf.placeholder(tf.float32, [None, 10])
        wanted = tf.placeholder(tf.int32, [None])
        hidden = images
        for i, width in enumerate((16, 8, 4)):
            start = rng.rand(int(hidden.shape[1]), width) - 0.5
            weights = tf.Variable(start.astype(np.float32), name="w%d" % i)
            hidden = tf.tanh(tf.matmul(hidden, weights))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=wanted, logits=hidden))
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        losses = []
        with tf.Session(cluster.target()) as session:
            session.run(tf.global_variables_initializer())
            for i in range(steps):
                count = 20 if i % 6 == 5 else 32
                losses.append(session.run([loss, step], {
                    images: data[:count], wanted: labels[:count]})[0])
    return losses


@test(limit=300, tfd_only=True)
def repeated_steps_are_cuda_graphs(server):
    """The same losses to the bit, and most steps are launches of graphs."""
    losses = {}
    for how in ("off", "on"):
        with Cluster(server, ps=1, worker=1,
                     flags=LIMITED + ["--gpu_graphs=" + how]) as cluster:
            need_a_card(cluster)
            losses[how] = train(cluster, 40)
            task = cluster["worker", 0]
            launches = metric(task, "tfd_gpu_graph_launches_total")
            assert (launches >= 30) == (how == "on"), launches
            assert metric(task, "tfd_gpu_graphs_total") <= 10
    assert losses["on"] == losses["off"], losses
    assert losses["on"][-1] < losses["on"][0], losses


@test(limit=120, tfd_only=True)
def two_cards_in_one_task(server):
    """Each op runs on the card that it names, values go from card to card."""
    with Cluster(server, worker=1,
                 env={"CUDA_VISIBLE_DEVICES": "1,0"}) as cluster:
        need_a_card(cluster)
        with graph(), tf.Session(cluster.target()) as session:
            if sum(d.device_type == "GPU" for d in session.list_devices()) < 2:
                raise Skip("one GPU")
            x = tf.placeholder(tf.float32, [None, 3])
            for step in range(4):
                with tf.device("/gpu:%d" % (step % 2)):
                    x = tf.nn.relu(tf.matmul(x, 2 * tf.eye(3)) - 1)
            with tf.device("/gpu:1"):
                where = tf.where(x > 5)
                v = tf.Variable(tf.zeros([3]))
                add = v.assign_add(tf.reduce_sum(x, 0))
            session.run(v.initializer)
            fed = np.float32([[1, 2, 0], [0, 0, 3]])
            got = session.run([x, where, add], {"Placeholder:0": fed})
    want = fed
    for _ in range(4):
        want = np.maximum(want * 2 - 1, 0)
    for ours, theirs in zip(got, [want, np.argwhere(want > 5), want.sum(0)]):
        equal(ours, theirs)


@test(limit=120, tfd_only=True)
def a_card_is_hidden_and_chosen(server):
    """What CUDA_VISIBLE_DEVICES leaves; garbage leaves nothing."""
    with Cluster(server, worker=1) as cluster:
        need_a_card(cluster)
    for shown in ("", "-1", "garbage"):
        with Cluster(server, worker=1,
                     env={"CUDA_VISIBLE_DEVICES": shown}) as cluster:
            with graph(), tf.Session(cluster.target()) as session:
                assert len(session.list_devices()) == 1
    with Cluster(server, worker=1,
                 env={"CUDA_VISIBLE_DEVICES": "0"}) as cluster:
        with graph(), tf.Session(cluster.target()) as session:
            found = [d for d in session.list_devices()
                     if d.device_type == "GPU"]
            assert len(found) == 1 and found[0].memory_limit_bytes > 0
            with tf.device("/gpu:0"):
                twice = tf.constant(np.float32([1, 2])) * 2
            assert list(session.run(twice)) == [2, 4]
