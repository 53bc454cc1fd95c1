"""What a server says of itself, and what the kernel says of it."""
from tests.cluster.cluster import wait_until
from tests.cluster.faults import wire


def metrics(task):
    """{sample: value} of a task's /metrics."""
    lines = wire.get(task.port, "/metrics")[2].decode().splitlines()
    return {name: float(value) for name, _, value in (
        line.rpartition(" ") for line in lines if not line.startswith("#"))}


def metric(task, name):
    return metrics(task).get(name, 0.0)


def wait_metric(task, name, value, seconds):
    """Until a sample has this value."""
    wait_until(lambda: metric(task, name) == value, seconds,
               "%s of %s being %g" % (name, task.name, value))


def resident(task):
    """Bytes of memory that the process has in use."""
    with open("/proc/%d/statm" % task.process.pid) as statm:
        return int(statm.read().split()[1]) * 4096
