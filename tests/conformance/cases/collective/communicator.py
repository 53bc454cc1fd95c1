"""Communicators, and the collectives that use one, of a group of one."""
from tests.cluster.client import tf
from tests.conformance.cases.collective.collective import REDUCED, alone, key
from tests.conformance.scenarios import fresh_graph, hidden, sample
from tests.conformance.table import scenario

raw = tf.raw_ops


def communicator(**options):
    return raw.CollectiveInitializeCommunicator(**dict(
        dict(group_key=1000 + key(), rank=0, group_size=1), **options))


def no_groups():
    return tf.zeros([0, 0], tf.int32)


@scenario("CollectiveInitializeCommunicator CollectiveReduceV3 "
          "CollectiveAllToAllV3", tol=0)
@fresh_graph
def collectives_of_one(side):
    found = {}
    for dtype in REDUCED:
        by = communicator()
        for merge in ("Min", "Max", "Mul", "Add"):
            found["%s %s" % (dtype.name, merge)] = raw.CollectiveReduceV3(
                input=tf.constant(sample(dtype)), communicator=by,
                group_assignment=no_groups(), reduction=merge)
        found[dtype.name] = raw.CollectiveAllToAllV3(
            input=tf.constant(sample(dtype, (1, 3))), communicator=by,
            group_assignment=no_groups())
    return alone(side, found)


@scenario("CollectiveInitializeCommunicator CollectiveReduceV3 "
          "CollectiveAllToAllV3", tol=0)
@fresh_graph
def bad_communicators(side):
    def reduced(by, groups=None):
        return raw.CollectiveReduceV3(
            input=[1.5], communicator=by, reduction="Add",
            group_assignment=no_groups() if groups is None else groups)

    made = {
        "size 0": lambda: reduced(communicator(group_size=hidden(0))),
        "rank -1": lambda: reduced(communicator(rank=hidden(-1))),
        "rank 1": lambda: reduced(communicator(rank=hidden(1))),
        "sizes": lambda: reduced(communicator(group_size=hidden([1]))),
        "ranks": lambda: reduced(communicator(rank=hidden([0]))),
        "keys": lambda: reduced(communicator(group_key=hidden([[7]]))),
        "groups": lambda: reduced(communicator(), [[0]]),
        "all to all": lambda: raw.CollectiveAllToAllV3(
            input=hidden([1.5, 2.5]), communicator=communicator(),
            group_assignment=no_groups()),
    }
    return {name: alone(side, make()) for name, make in made.items()}
