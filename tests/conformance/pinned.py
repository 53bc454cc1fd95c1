"""The verdict on a scenario, on each device of a server.

A scenario is a program, and what its steps share must be in one place, so it
runs unplaced: the server puts its ops where it will.  Where all of its ops have
a kernel of a GPU it runs twice more, with soft placement off: pinned to GPU:0,
but for what has no kernel there of its type, and must end as TensorFlow says;
and pinned to CPU:0, if that has all of it, where it must end as on the GPU.
"""
from tests.cluster.client import tf
from tests.conformance import devices
from tests.conformance.compare import difference
from tests.conformance.scenarios import Side

HANDLES = (tf.resource, tf.variant)


def places_of(ops, kernels):
    """Best place -> the ops of a scenario that have it; what has no kernel
    here has none."""
    found = {}
    for op in filter(kernels.ops.get, ops):
        places = {place for place, _, _ in kernels.ops[op]}
        best = next((p for p in devices.PLACES if p in places), "cpu")
        found.setdefault(best, []).append(op)
    return found


def can_be_pinned(ops, kernels):
    return "cpu" not in places_of(ops, kernels)


def column_text_of(ops, kernels):
    """What a report says of a scenario."""
    how = "pinned too" if can_be_pinned(ops, kernels) else "unplaced"
    return "%s: %s" % (how, devices.column_text(places_of(ops, kernels)))


def to_gpu(kernels):
    """pin(op): of an operation that is made just now."""
    def pin(op):
        if op.device:
            return op.device
        handles = [x.op for x in op.inputs if x.dtype.base_dtype in HANDLES]
        if any(made.device == devices.CPU for made in handles):
            return devices.CPU  # what they stand for is there
        place, _ = kernels.place(op.node_def)
        return devices.CPU if place == "cpu" else devices.GPU
    return pin


def to_cpu(op):
    return op.device or devices.CPU


def answers_to(scenario):
    """What TensorFlow says, by the names of its values."""
    return scenario.function(Side(""))


class Verdict:
    """Of the values that a scenario returns: each is a case."""

    def __init__(self, scenario, target):
        self.scenario, self.target = scenario, target
        self.failures, self.failed = [], set()

    def run(self, kernels, want):
        """(passed, failures); kernels: of a server that has a GPU; want: of
        answers_to()."""
        self._judge("", None, want)
        if kernels and can_be_pinned(self.scenario.ops, kernels):
            right = self._judge(devices.GPU, to_gpu(kernels), want)
            if self.scenario.on != "gpu":
                self._judge(devices.CPU, to_cpu, {**want, **right})
        return len(want.keys() - self.failed), self.failures

    def _judge(self, device, pin, want):
        """The values that are right."""
        right = {}
        try:
            got = self.scenario.function(Side(self.target, device, pin))
        except tf.errors.OpError as error:
            self._fail(device, "all", error.message)
            self.failed.update(want)
            return right
        for key, value in want.items():
            text = difference(got.get(key, "nothing"), value,
                              self.scenario.tol)
            if text:
                self._fail(device, key, text)
            else:
                right[key] = got[key]
        return right

    def _fail(self, device, key, text):
        self.failed.add(key)
        self.failures.append("%s%s: %s" % (device and device + ": ", key,
                                           text))
