"""Collectives of a group of one, with keys as attributes and as inputs: what
each op does to its input, and what it refuses.  Groups of several members are
in tests/cluster/mixed/test_collectives.py."""
import itertools

from tests.cluster.client import tf
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
KEYS = itertools.count(1)
REDUCED = [tf.bfloat16, tf.float32, tf.float16, tf.float64, tf.int32, tf.int64]
GATHERED = REDUCED[1:]
SENT = [tf.bool] + GATHERED
MERGES = ("Min", "Max", "Mul", "Add")


def key():
    return next(KEYS)


def alone(side, fetches, feeds=None):
    """In a session of its own: TensorFlow's runs no collective after one of
    them has failed.  Its communicators end the process without a key."""
    options = tf.RunOptions()
    options.experimental.collective_graph_key = key()
    with side.session() as session:
        return told(Keyed(session, options), fetches, feeds)


class Keyed:
    def __init__(self, session, options):
        self.session, self.options = session, options

    def run(self, fetches, feeds):
        return self.session.run(fetches, feeds, options=self.options)


def reduced(value, **options):
    options = dict(dict(group_size=1, group_key=key(), instance_key=key(),
                        merge_op="Add", final_op="Id", subdiv_offsets=[0]),
                   **options)
    return raw.CollectiveReduce(input=value, **options)


def reduced2(value, **options):
    options = dict(dict(group_size=1, group_key=key(), instance_key=key(),
                        ordering_token=[], merge_op="Add", final_op="Id"),
                   **options)
    return raw.CollectiveReduceV2(input=value, **options)


def keys2(**options):
    return dict(dict(group_size=1, group_key=key(), instance_key=key()),
                **options)


@scenario("CollectiveReduce CollectiveReduceV2", tol=0)
@fresh_graph
def reductions_of_one(side):
    found = {}
    for dtype in REDUCED:
        value = tf.constant(sample(dtype))
        for merge, final in itertools.product(MERGES, ("Id", "Div")):
            name = "%s %s %s" % (dtype.name, merge, final)
            found[name] = reduced(value, merge_op=merge, final_op=final)
            found[name + " 2"] = reduced2(value, merge_op=merge,
                                          final_op=final)
    found["scalar"] = reduced(tf.constant(3.5))
    found["subdivisions"] = reduced(tf.ones([7, 3]), subdiv_offsets=[0, 1])
    found["many subdivisions"] = reduced2(
        tf.ones([70, 3]), max_subdivs_per_device=4)
    return alone(side, found)


@scenario("CollectiveGather CollectiveGatherV2", tol=0)
@fresh_graph
def gathers_of_one(side):
    found = {}
    for dtype in GATHERED:
        value = tf.constant(sample(dtype))
        found[dtype.name] = raw.CollectiveGather(
            input=value, shape=[2, 3], **keys2())
        found[dtype.name + " 2"] = raw.CollectiveGatherV2(
            input=value, ordering_token=[], **keys2())
    found = alone(side, found)
    found["scalar"] = alone(side, raw.CollectiveGather(
        input=hidden(1.5), shape=[], **keys2()))
    return found


@scenario("CollectiveBcastSend CollectiveBcastSendV2", tol=0)
@fresh_graph
def broadcasts_to_oneself(side):
    found = {}
    for dtype in SENT:
        value = tf.constant(sample(dtype))
        found[dtype.name] = raw.CollectiveBcastSend(
            input=value, shape=[2, 3], **keys2())
        found[dtype.name + " 2"] = raw.CollectiveBcastSendV2(
            input=value, **keys2())
    found = alone(side, found)
    found["another shape"] = alone(side, raw.CollectiveBcastSend(
        input=hidden([1.5, 2.5]), shape=[3], **keys2()))
    return found


@scenario("CollectiveBcastRecv CollectiveBcastRecvV2", tol=0)
@fresh_graph
def broadcasts_without_a_source(side):
    return {
        "attributes": alone(side, raw.CollectiveBcastRecv(
            T=tf.float32, shape=[2], group_size=1, group_key=90,
            instance_key=91)),
        "inputs": alone(side, raw.CollectiveBcastRecvV2(
            T=tf.float32, shape=[2], group_size=1, group_key=92,
            instance_key=93)),
        "negative": alone(side, raw.CollectiveBcastRecvV2(
            T=tf.float32, shape=hidden([-2]), group_size=1, group_key=94,
            instance_key=95)),
    }


@scenario("CollectiveAllToAllV2 CollectiveReduceScatterV2", tol=0)
@fresh_graph
def rows_of_one(side):
    found = {dtype.name: raw.CollectiveAllToAllV2(
        input=tf.constant(sample(dtype, (1, 3))), ordering_token=[], **keys2())
        for dtype in REDUCED}
    found = alone(side, found)
    found["two rows"] = alone(side, raw.CollectiveAllToAllV2(
        input=hidden([[1.5], [2.5]]), ordering_token=[], **keys2()))
    found["scatter"] = alone(side, raw.CollectiveReduceScatterV2(
        input=[[1.5], [2.5]], ordering_token=[], merge_op="Add", final_op="Id",
        **keys2()))
    return found


@scenario("CollectiveReduce CollectiveReduceV2 CollectiveGatherV2 "
          "CollectiveBcastSendV2 CollectiveAllToAllV2", tol=0)
@fresh_graph
def bad_keys(side):
    made = {
        "size 0": lambda: reduced2([1.5], group_size=hidden(0)),
        "size -1": lambda: reduced2([1.5], group_size=hidden(-1)),
        "sizes": lambda: reduced2([1.5], group_size=hidden([1])),
        "group keys": lambda: reduced2([1.5], group_key=hidden([[1, 2]])),
        "instance keys": lambda: reduced2([1.5], instance_key=hidden([3])),
        "gather 0": lambda: raw.CollectiveGatherV2(
            input=[1.5], ordering_token=[], **keys2(group_size=hidden(0))),
        "send 0": lambda: raw.CollectiveBcastSendV2(
            input=[1.5], **keys2(group_size=hidden(0))),
        "all to all 0": lambda: raw.CollectiveAllToAllV2(
            input=[1.5], ordering_token=[], **keys2(group_size=hidden(0))),
        "attribute 0": lambda: reduced([1.5], group_size=0),
        "late": lambda: reduced([1.5], group_size=2, timeout_seconds=0.1),
    }
    return {name: alone(side, make()) for name, make in made.items()}
