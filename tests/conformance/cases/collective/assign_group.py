"""CollectiveAssignGroupV2: the group of a device among several."""
from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import scenario

GROUPS = [[0, 3], [1, 2]]


def assigned(groups, device, base):
    return tf.raw_ops.CollectiveAssignGroupV2(
        group_assignment=hidden(tf.constant(groups, tf.int32)), device_index=hidden(device),
        base_key=hidden(base))


@scenario("CollectiveAssignGroupV2", tol=0)
@fresh_graph
def groups_of_devices(side):
    with side.session() as session:
        found = {str(device): told(session, assigned(GROUPS, device, 5))
                 for device in range(4)}
        for name, case in {
                "nobody": (GROUPS, 4, 5), "negative": (GROUPS, -1, 5),
                "reserved": (GROUPS, 1, -1), "reserved at once": (GROUPS, 0, 0),
                "too large": ([[0, 4], [1, 2]], 2, 5),
                "below": ([[-1, 3], [1, 2]], 3, 5),
                "vector": ([0, 3], 0, 5), "devices": (GROUPS, [0], 5),
                "bases": (GROUPS, 0, [5]),
                "none": ([[], []], 0, 5)}.items():
            found[name] = attempt(session, assigned(*case))
        found["around"] = told(session, assigned(GROUPS, 1, 2 ** 31 - 1))
        return found
