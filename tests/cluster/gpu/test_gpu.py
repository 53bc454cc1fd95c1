"""What only a card shows; skipped, with the server's reason, without one."""
import re
import threading
import urllib.request

from tests.cluster.client import (equal, expect, graph, np, plain_config,
                                  tf)
from tests.cluster.cluster import Cluster
from tests.cluster.programs.play import play
from tests.cluster.raw import Raw
from tests.cluster.suite import Skip, test
from tests.cluster.training.test_nets import check_losses, check_residual_net
from tests.cluster.programs.test_programs import path_of

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


@test(limit=60, tfd_only=True, worker=1, flags=LIMITED)
def clients_see_the_card_and_what_is_taken_of_it(cluster):
    need_a_card(cluster)
    task = cluster["worker", 0]
    device = "/job:worker/replica:0/task:0/device:GPU:0"
    config = tf.ConfigProto(log_device_placement=True)
    with graph(), tf.Session(task.target, config=config) as session:
        listed = {d.name: d for d in session.list_devices()}
        assert listed[device].device_type == "GPU"
        assert listed[device].memory_limit_bytes == 1024 * MIB
        session.run(tf.multiply(tf.fill([2], 2.0), 3.0, name="seen_op"))
    found = [d for d in Raw(task.address).worker("GetStatus").device_attributes
             if d.device_type == "GPU"]
    assert [d.name for d in found] == [device], found
    assert found[0].memory_limit == 1024 * MIB
    card = re.fullmatch(
        r"device: 0, name: (.+), pci bus id: [0-9a-fA-F]{4,8}(?::[0-9a-fA-F]"
        r"{2}){2}\.\d, compute capability: \d+\.\d+",
        found[0].physical_device_desc)
    assert card, found[0].physical_device_desc
    text = task.log_text()
    said = re.findall(r"[ >]gpus (count=.*)", text)
    assert len(said) == 1 and said[0].startswith("count=1 of="), said
    assert "GPU:0 (%s, 1024 MiB)" % card.group(1) in said[0], said
    assert 'memory="as configured"' in said[0], said
    assert "seen_op: (Mul): " + device in text, text


# ---- TF_DETERMINISTIC_OPS ----------------------------------------------------


def repeat(server, make, feeds):
    """What make() makes of the feeds on the GPU is equal to the bit in five
    steps, of two sessions, and near to what it makes on the CPU."""
    with Cluster(server, worker=1, flags=LIMITED,
                 env={"TF_DETERMINISTIC_OPS": "1"}) as cluster:
        need_a_card(cluster)
        with graph():
            inputs = {name: tf.placeholder(tf.as_dtype(value.dtype),
                                           value.shape, name=name)
                      for name, value in feeds.items()}
            fed = {inputs[name]: value for name, value in feeds.items()}
            with tf.device("/cpu:0"), tf.variable_scope("near"):
                near = make(**inputs)
            with tf.device("/gpu:0"), tf.variable_scope("far"):
                made = make(**inputs)
            got = []
            for steps in (3, 2):
                with tf.Session(cluster.target(),
                                config=plain_config()) as session:
                    got += [session.run(made, fed) for _ in range(steps)]
                    want = session.run(near, fed)
    for name, value in want.items():
        assert np.any(value), name
        np.testing.assert_allclose(got[0][name], value, rtol=1e-2, atol=1e-3,
                                   err_msg=name)
        bits = {run[name].tobytes() for run in got}
        assert len(bits) == 1, "%s: %d results" % (name, len(bits))


def random(*shape):
    return np.random.RandomState(len(shape)).randn(*shape).astype(np.float32)


def scatters(x, where, dense):
    """Each row of the result is a sum of hundreds of rows of x."""
    count = 7
    made = {"segments": tf.unsorted_segment_sum(x, where, count),
            "scatter_nd": tf.scatter_nd(where[:, None], x,
                                        [count, x.shape[1]])}
    for kind in (False, True):
        v = tf.get_variable("v%d" % kind, initializer=tf.zeros_initializer,
                            shape=[count, x.shape[1]], use_resource=kind)
        with tf.control_dependencies([v.initializer]):
            made["variable%d" % kind] = tf.identity(
                v.scatter_add(tf.IndexedSlices(x, where)) if kind else
                tf.scatter_add(v, where, x))
    sums = tf.sparse_segment_sum(dense, where, tf.range(tf.size(where)) // 2)
    made["sparse_segment_sum"], = tf.gradients(sums, dense, x[::2])
    return made


@test(limit=120, tfd_only=True)
def scatters_are_deterministic_where_it_is_wanted(server):
    where = np.random.RandomState(7).randint(0, 7, 2000).astype(np.int32)
    repeat(server, scatters,
           {"x": random(2000, 5), "where": where, "dense": random(7, 5)})


def gradients(x, kernel, dy):
    channels = kernel.shape[3]
    conv = tf.nn.conv2d(x, kernel, strides=1, padding="SAME")
    scale = tf.fill([channels], 2.0)
    bias = tf.zeros([channels])
    y, mean, variance = tf.nn.fused_batch_norm(dy, scale, bias,
                                               is_training=True)
    made = {"y": y, "mean": mean, "variance": variance}
    made["filter"], = tf.gradients(conv, kernel, dy)
    made["bias"], = tf.gradients(tf.nn.bias_add(dy, bias), bias, dy)
    made["norm_x"], made["norm_scale"], made["norm_bias"] = tf.gradients(
        y, [dy, scale, bias], dy * dy)
    return made


@test(limit=120, tfd_only=True)
def gradients_are_deterministic_where_it_is_wanted(server):
    repeat(server, gradients, {"x": random(8, 12, 12, 3),
                               "kernel": random(3, 3, 3, 8),
                               "dy": random(8, 12, 12, 8)})
