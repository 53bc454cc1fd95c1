"""Collectives among three workers: tfds alone, a TensorFlow server as the group
leader, and a tfd as the leader of TensorFlow servers."""
import itertools

from tests.cluster.client import graph, np, plain_config, tf
from tests.cluster.cluster import Cluster, tensorflow_server
from tests.cluster.suite import test

SIZE = 3
raw = tf.raw_ops
KEYS = itertools.count(1)
# Which workers a real server runs; worker 0 leads groups and is the target.
MIXES = {"tfd": (), "real_leader": (0,), "tfd_leader": (1, 2)}


def on_every_mix(limit=120):
    def register(body):
        for name, real in MIXES.items():
            def one(server, real=real):
                others = {("worker", i): tensorflow_server(server.slow)
                          for i in real}
                with Cluster(server, others=others, worker=SIZE) as cluster:
                    body(cluster)
            one.__name__ = "%s__%s" % (body.__name__, name)
            one.__module__ = body.__module__
            test(limit=limit, tfd_only=True)(one)
        return body
    return register


def value(rank, shape=(5, 7), dtype=np.float32):
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) % 7 + rank + 1).astype(dtype)


def each(make):
    """One node on each worker, made by make(rank)."""
    nodes = []
    for rank in range(SIZE):
        with tf.device("/job:worker/task:%d" % rank):
            nodes.append(make(rank))
    return nodes


def keys(**more):
    return dict(group_size=SIZE, group_key=1, instance_key=next(KEYS), **more)


def run(cluster, nodes, times=1):
    """What the members get; their steps have a number that no others had."""
    options = tf.RunOptions(timeout_in_ms=60000)
    options.experimental.collective_graph_key = next(KEYS)
    with tf.Session(cluster.target(), config=plain_config()) as session:
        for _ in range(times):
            got = session.run(nodes, options=options)
    return got


def check(cluster, make, want, times=1):
    """want(rank): what that member gets."""
    with graph():
        got = run(cluster, each(make), times)
    for rank, result in enumerate(got):
        np.testing.assert_array_equal(result, want(rank), strict=True)


NUMPY = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum,
         "Min": np.minimum}


def combined(merge, final, values):
    whole = values[0]
    for one in values[1:]:
        whole = NUMPY[merge](whole, one).astype(one.dtype)
    if final == "Id":
        return whole
    return (whole / SIZE).astype(whole.dtype)


def reduced(shape, dtype, merge, final, version, **options):
    fixed = keys(merge_op=merge, final_op=final, **options)

    def make(rank):
        node = tf.constant(value(rank, shape, dtype))
        if version == 1:
            return raw.CollectiveReduce(
                input=node, subdiv_offsets=[0], **fixed)
        return raw.CollectiveReduceV2(input=node, ordering_token=[], **fixed)
    return make


@on_every_mix()
def reductions(cluster):
    for shape, dtype, merge, final, version in (
            ((5, 7), np.float32, "Add", "Id", 1),
            ((5, 7), np.float32, "Mul", "Id", 1),
            ((5, 7), np.int32, "Max", "Id", 1),
            ((5, 7), np.float64, "Min", "Id", 2),
            ((), np.float32, "Add", "Id", 1),
            ((1000, 33), np.int64, "Add", "Id", 2),
            ((40,), tf.bfloat16.as_numpy_dtype, "Add", "Id", 2),
            ((5, 9), np.float16, "Max", "Div", 2)):
        values = [value(rank, shape, dtype) for rank in range(SIZE)]
        check(cluster, reduced(shape, dtype, merge, final, version),
              lambda rank: combined(merge, final, values), times=2)


@on_every_mix()
def a_large_value_in_several_rings(cluster):
    fixed = keys(merge_op="Add", final_op="Div", max_subdivs_per_device=2)

    def make(rank):
        return tf.reduce_mean(tf.reshape(raw.CollectiveReduceV2(
            input=tf.tile(tf.constant(value(rank, (7,))), [600000]),
            ordering_token=[], **fixed), [-1, 7]), axis=0)
    check(cluster, make, lambda rank: value(1, (7,)))


@on_every_mix()
def gathers(cluster):
    for make, dtype in ((raw.CollectiveGather, np.float32),
                        (raw.CollectiveGatherV2, np.int64)):
        fixed = keys()
        fixed.update({"shape": [3, 2]} if make is raw.CollectiveGather
                     else {"ordering_token": []})
        check(cluster,
              lambda rank: make(input=tf.constant(
                  value(rank, (3, 2), dtype)), **fixed),
              lambda rank: np.concatenate(
                  [value(i, (3, 2), dtype) for i in range(SIZE)]), times=2)


@on_every_mix()
def broadcasts_from_everyone(cluster):
    for source in range(SIZE):
        first, second = keys(), keys()

        def make1(rank):
            if rank == source:
                return raw.CollectiveBcastSend(
                    input=tf.constant(value(rank)), shape=[5, 7], **first)
            return raw.CollectiveBcastRecv(
                T=tf.float32, shape=[5, 7], **first)

        def make2(rank):
            if rank == source:
                return raw.CollectiveBcastSendV2(
                    input=tf.constant(value(rank) > 4), **second)
            return raw.CollectiveBcastRecvV2(
                T=tf.bool, shape=tf.constant([5, 7]), **second)
        check(cluster, make1, lambda rank: value(source), times=2)
        check(cluster, make2, lambda rank: value(source) > 4)


@on_every_mix()
def rows_for_each_other(cluster):
    fixed = keys(ordering_token=[])
    check(cluster,
          lambda rank: raw.CollectiveAllToAllV2(
              input=tf.constant(value(rank, (SIZE, 4))), **fixed),
          lambda rank: np.stack([value(i, (SIZE, 4))[rank]
                                 for i in range(SIZE)]), times=2)


@on_every_mix()
def values_in_a_loop(cluster):
    """Each iteration is a collective of its own."""
    fixed = keys(merge_op="Add", final_op="Id", ordering_token=[])

    def once(i, *values):
        return (i + 1, *each(lambda rank: raw.CollectiveReduceV2(
            input=values[rank], **fixed)))
    with graph():
        got = run(cluster, tf.while_loop(
            lambda i, *_: i < 3, once,
            [0, *each(lambda rank: tf.constant(value(rank)))])[1:])
    for result in got:
        np.testing.assert_array_equal(
            result, 9 * sum(value(i) for i in range(SIZE)))


@test(limit=120, tfd_only=True)
def collectives_by_communicators(server):
    with Cluster(server, worker=SIZE) as cluster:
        def make(rank):
            by = raw.CollectiveInitializeCommunicator(
                group_key=77, rank=rank, group_size=SIZE)
            none = tf.zeros([0, 0], tf.int32)
            total = raw.CollectiveReduceV3(
                input=tf.constant(value(rank, (SIZE, 2))), communicator=by,
                group_assignment=none, reduction="Add")
            return raw.CollectiveAllToAllV3(
                input=total, communicator=by, group_assignment=none)
        total = sum(value(i, (SIZE, 2)) for i in range(SIZE))
        check(cluster, make, lambda rank: np.stack([total[rank]] * SIZE))


def fails(cluster, make, what, times=1):
    with graph():
        nodes = each(make)
        for _ in range(times):
            try:
                run(cluster, nodes)
            except tf.errors.OpError as error:
                assert what in error.message, error.message
            else:
                raise AssertionError("no error that says %r" % what)


def sum_of(node, **changes):
    fixed = dict(dict(merge_op="Add", final_op="Id", ordering_token=[],
                      group_size=SIZE, group_key=1, instance_key=next(KEYS)),
                 **changes)
    return lambda rank: raw.CollectiveReduceV2(input=node(rank), **fixed)


@test(limit=120, tfd_only=True)
def what_cannot_meet(server):
    """Each fails for all members, twice, and the next one works."""
    with Cluster(server, worker=SIZE) as cluster:
        sizes = keys()
        fails(cluster, sum_of(lambda rank: tf.zeros([4 + rank * 64])),
              "where to_tensor expected", times=2)
        fails(cluster, sum_of(lambda rank: tf.zeros([4]), group_key=2,
                              group_size=SIZE + 1, timeout_seconds=0.3),
              "timed out waiting for other workers", times=2)
        fails(cluster, lambda rank: raw.CollectiveReduceV2(
            input=tf.zeros([4]), merge_op="Add", final_op="Id",
            ordering_token=[], group_key=1, group_size=SIZE + rank % 2,
            instance_key=sizes["instance_key"]),
            "but that group has size")
        fails(cluster, lambda rank: raw.CollectiveBcastRecvV2(
            T=tf.float32, shape=[2], **sizes), "found no source for broadcast")
        both = keys()
        fails(cluster, lambda rank: raw.CollectiveBcastSendV2(
            input=tf.zeros([2]), **both), "already has source")
        check(cluster, reduced((4,), np.float32, "Add", "Id", 2),
              lambda rank: sum(value(i, (4,)) for i in range(SIZE)))


@test(limit=120, tfd_only=True)
def a_member_that_fails_ends_the_others(server):
    """They wait for its chunks; another step works."""
    with Cluster(server, worker=SIZE) as cluster:
        fixed = keys(merge_op="Add", final_op="Id", ordering_token=[])

        def make(rank):
            node = tf.constant(value(rank))
            if rank == 2:
                with tf.control_dependencies([tf.debugging.Assert(
                        tf.constant(False), ["a member fails"])]):
                    node = tf.identity(node)
            return raw.CollectiveReduceV2(input=node, **fixed)
        fails(cluster, make, "a member fails", times=2)
        check(cluster, reduced((4,), np.float32, "Add", "Id", 2),
              lambda rank: sum(value(i, (4,)) for i in range(SIZE)))


def goes_on(cluster, make, want):
    """Those who know a member that is gone fail once or twice."""
    for attempt in range(4):
        try:
            check(cluster, make, want)
            return
        except tf.errors.OpError:
            if attempt == 3:
                raise


@test(limit=120, tfd_only=True)
def members_that_are_restarted(server):
    """The leader too; and broadcasts know their source again."""
    with Cluster(server, worker=SIZE) as cluster:
        make = reduced((4,), np.float32, "Add", "Id", 2)
        fixed = keys()

        def sends(rank):
            if rank == 1:
                return raw.CollectiveBcastSendV2(
                    input=tf.constant(value(rank)), **fixed)
            return raw.CollectiveBcastRecvV2(
                T=tf.float32, shape=tf.constant([5, 7]), **fixed)
        total = sum(value(i, (4,)) for i in range(SIZE))
        for index in (None, 2, 1, 0):
            if index is not None:
                cluster["worker", index].kill()
                cluster.start("worker", index)
            goes_on(cluster, make, lambda rank: total)
            goes_on(cluster, sends, lambda rank: value(1))
