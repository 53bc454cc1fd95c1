"""How long a server goes on with a step that nobody waits for."""
import os
import time

from tests.cluster.client import expect, graph, plain_config, tf
from tests.cluster.cluster import wait_until

WORK_SECONDS = 1.5
RESTS_SECONDS = 0.3  # without a tick of the processor: it rests


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def work_after_the_deadline(cluster, make):
    """Processor seconds of a step that the client gives 0.1 s, until the
    server rests."""
    pid = cluster["worker", 0].process.pid
    with graph(), tf.Session(cluster.target(), config=plain_config()) as s:
        op = make().op
        s.run(tf.no_op())
        before = cpu_seconds(pid)
        with expect(tf.errors.DeadlineExceededError):
            s.run(op, options=tf.RunOptions(timeout_in_ms=100))
        seen, since = before, time.monotonic()

        def rests():  # the clock of processes ticks every 10 ms
            nonlocal seen, since
            now = cpu_seconds(pid)
            if now != seen:
                seen, since = now, time.monotonic()
            return (seen - before > WORK_SECONDS or
                    time.monotonic() - since > RESTS_SECONDS)

        wait_until(rests, 30, "the server to rest")
        return seen - before


def side(elements):
    return int(elements ** 0.5)
